#include "app/shell/window/application.h"

#include "app/lessons/handout.h"
#include "app/lessons/lesson_panel.h"
#include "app/session/scenario_name.h"

#include "app/canvas/qt/figure.h"
#include "app/canvas/qt/save_whole.h"
#include "app/session/failure.h"
#include "app/session/scenario_link.h"
#include "app/session/settings.h"
#include "app/session/settings_import.h"
#include "app/session/trace_file.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/film/film_dialog.h"
#include "app/shell/film/step_film.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/presentation/presentation.h"
#include "app/shell/recorded/recorded_film.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/share/page.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/translations.h"
#include "app/shell/window/argument_bytes.h"
#include "app/shell/window/command_line.h"
#include "app/shell/window/display.h"
#include "app/shell/window/end_signals.h"
#include "app/shell/window/guarded_application.h"
#include "app/shell/window/main_window.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/pictures.h"
#include "live/stream/keys.h"
#include "sim/lesson/play.h"
#include "sim/scenario/named_files.h"
#include "sim/text/quoted.h"

#include <QApplication>
#include <QBuffer>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QPixmap>
#include <QTimer>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace app {
namespace {

constexpr int kBadInput = 1, kCalledWrongly = 2;
constexpr const char* kPlatform = "QT_QPA_PLATFORM";

void tell(const QString& message)
{
    std::fputs(message.endsWith(QLatin1Char('\n')) ? qPrintable(message) : qPrintable(message + QLatin1Char('\n')), stderr);
}

void tell(const Problems& problems)
{
    for (const sim::Problem& problem : problems)
        tell(QString::fromStdString(problem.text()));
}

/// Platforms without a display talk about what they lack; a picture's standard error is for what went wrong.
void leaveOutChatter(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    if (type == QtCriticalMsg || type == QtFatalMsg)
        tell(message);
}

CommandLine readCommandLine(int argc, char** argv, const QString& version)
{
    if (const QString why = whyNoArguments(std::span(argv, static_cast<std::size_t>(argc))); !why.isEmpty())
        return {.options = {}, .exitCode = kCalledWrongly, .output = why};
    const QCoreApplication core(argc, argv); // for the arguments; the window's application needs a platform first
    return parseCommandLine(QCoreApplication::arguments().mid(1), version);
}

ThemeChoice themeChoice(const QString& name)
{
    return themeNamed(name).value_or(ThemeChoice::light);
}

/// What is written takes the place of nothing that was read. Throws sim::Error.
void keepRead(const std::vector<std::filesystem::path>& read, const StartOptions& options)
{
    for (const QString& out : {options.screenshot, options.figureFile, options.page, options.film, options.handout})
        sim::keepInputs(read, out.toStdString());
}

/// The files that the command line names; links and ids are none.
void keepNamedFiles(const StartOptions& options)
{
    std::vector<std::filesystem::path> read;
    for (const QString& file :
         QStringList{options.file, options.lesson, options.key, options.serverKey} + options.moreFiles + options.compare)
        read.emplace_back(file.toStdString());
    keepRead(read, options);
}

void waitUntilSettled(MainWindow& window)
{
    QEventLoop loop;
    QObject::connect(&window.desk(), &Desk::settled, &loop, &QEventLoop::quit);
    QObject::connect(&window.lesson(), &LessonPanel::started, &loop, &QEventLoop::quit);
    QTimer looks; // what a recorded run tells comes before its worker rests, and what is made at last need not be the desk's
    constexpr int kLooksMs = 20;
    QObject::connect(&looks, &QTimer::timeout, &loop, [&] {
        if (window.isRecordedShown() || window.isSettled())
            loop.quit();
    });
    looks.start(kLooksMs);
    QObject::connect(&window.planner(), &PlanPanel::ready, &loop, &QEventLoop::quit, Qt::QueuedConnection);
    while (!window.isSettled())
        loop.exec();
}

/// The lesson, or the step: whatever else the window still works at, the class does not wait for it.
void waitForWhatIsPresented(MainWindow& window, const StartOptions& options)
{
    constexpr int kLooksMs = 20;
    const auto isThere = [&] {
        return options.lesson.isEmpty() ? window.isEnabled(CommandId::present) : window.lesson().isPlaying();
    };
    while (!isThere() && !window.isSettled() && window.isVisible()) {
        QEventLoop loop;
        QTimer::singleShot(kLooksMs, &loop, &QEventLoop::quit);
        loop.exec();
    }
}

/// Throws sim::Error if the keys are unusable.
void startLive(MainWindow& window, const StartOptions& options)
{
    if (options.live) {
        window.train(window.desk().simulation()->scenario());
        return;
    }
    std::optional<live::ViewerKeys> keys;
    if (!options.key.isEmpty())
        keys =
            live::ViewerKeys{live::readPublicKey(options.serverKey.toStdString()), live::readKeyPair(options.key.toStdString())};
    window.attach(options.attach, keys);
}

/// Until some steps are there to be seen, or the run is over, or nobody answers.
void waitForSteps(MainWindow& window)
{
    constexpr std::size_t kSteps = 12;
    constexpr int kMostMs = 60'000, kNobodyMs = 5'000, kTickMs = 20;
    QElapsedTimer waited;
    waited.start();
    QEventLoop loop;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, &loop, [&] {
        const LivePanel& live = window.live();
        const LivePhase phase = live.status().phase;
        const bool enough = live.isComplete() && (live.steps().size() >= kSteps || hasEnded(phase));
        const bool hopeless =
            (hasEnded(phase) && isWorse(phase)) || (phase == LivePhase::starting && waited.hasExpired(kNobodyMs));
        if (enough || hopeless || waited.hasExpired(kMostMs))
            loop.quit();
    });
    timer.start(kTickMs);
    loop.exec();
}

/// The window as it looks once the first result is in.
int saveScreenshot(MainWindow& window, const StartOptions& options)
{
    QString failure;
    const auto remember = [&](const QString& message) { failure = message; };
    QObject::connect(&window.desk(), &Desk::stepFailed, &window, remember);
    QObject::connect(&window.desk().baseline(), &Baseline::failed, &window, remember);
    window.setFixedSize(options.size);
    window.show();
    waitUntilSettled(window);
    if (failure.isEmpty() && !options.lesson.isEmpty() && !window.lesson().isPlaying())
        failure = QStringLiteral("%1: the lesson cannot be played; rankscope-sim lesson check says why").arg(options.lesson);
    if (failure.isEmpty() && window.isRecordedShown())
        failure = window.recorded().problem();
    if (!failure.isEmpty()) {
        tell(failure);
        return kBadInput;
    }
    if (options.isLive()) {
        startLive(window, options);
        waitForSteps(window);
        if (const LiveStatus& status = window.live().status(); isWorse(status.phase) || status.phase == LivePhase::starting)
            failure = status.headline + (status.detail.isEmpty() ? QString() : QStringLiteral(": ") + status.detail);
    }
    if (QWidget* focused = QApplication::focusWidget())
        focused->clearFocus();         // no blinking cursor in a picture
    constexpr int kNestedLayouts = 10; // a change of size goes up one of them a round
    for (int round = 0; round < kNestedLayouts; ++round)
        QCoreApplication::processEvents();
    QWidget* shown = &window;
    if (options.present) {
        window.present(true);
        shown = window.presentation();
        shown->showNormal(); // as large as was asked for, whatever the screen
        shown->setFixedSize(options.size);
        for (int round = 0; round < kNestedLayouts; ++round) {
            QCoreApplication::processEvents();
            shown->resize(options.size); // that it filled the screen may be told only now
        }
    }
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    shown->grab().save(&buffer, "PNG");
    if (const Session& session = window.session(); session.isOpen())
        keepRead(sim::filesOf(session.document(), session.catalogue()), options);
    saveWhole(options.screenshot, png);
    if (failure.isEmpty())
        return 0;
    tell(failure);
    return kBadInput;
}

/// The comparison as a file, without a window.
int saveComparison(const sim::Catalogue& catalogue, const StartOptions& options, const SimulationPtr& simulation,
                   const QString& name)
{
    Selection selection;
    CompareView view(selection, themeFor(themeChoice(options.theme)));
    const auto side = [](const SimulationPtr& of, const QString& called) {
        return CompareView::Side{.simulation = of,
                                 .actions = std::make_shared<const sim::Trace>(of->trace(sim::TraceDetail::actions)),
                                 .name = called.toStdString(),
                                 .message = {}};
    };
    std::vector<CompareView::Side> others;
    for (const QString& path : options.compare) {
        const sim::ScenarioDocument document =
            isScenarioLink(path) ? readDocument(path) : sim::readDocument(path.toStdString(), catalogue, {});
        keepRead(sim::filesOf(document, catalogue), options);
        const SimulationPtr other = sim::simulate(sim::resolvedScenario(document, catalogue));
        others.push_back(side(other, nameOf(other->scenario())));
    }
    const ShownStep first{others.front().simulation, others.front().actions};
    view.setSides(others.front(), side(simulation, name));
    std::vector<CompareView::Further> further;
    for (std::size_t i = 1; i < others.size(); ++i)
        further.push_back(CompareView::prepareFurther(first, others[i]));
    view.setFurther(std::move(further));
    QSize size = options.size;
    if (!options.sizeGiven)
        size.setHeight(static_cast<int>(view.suitableHeight(static_cast<float>(size.height()))));
    saveFigure(view, options.figureFile, size);
    return 0;
}

/// FILE's text; of a lesson that of the first case it shows, which is what its thumbnail is of.
sim::ScenarioDocument fileOf(const sim::Catalogue& catalogue, const StartOptions& options)
{
    if (isScenarioLink(options.file))
        return readDocument(options.file);
    const std::string path = options.file.toStdString();
    if (!MainWindow::isLessonFile(options.file))
        return sim::readDocument(path, catalogue, {}); // perhaps a pipe
    const sim::LessonPlay play(sim::readLesson(path, catalogue), options.seed, catalogue);
    for (std::size_t step = 0; step < play.steps(); ++step)
        if (const sim::ScenarioDocument* shown = play.shown(step))
            return *shown;
    throw sim::ScenarioError({{path, {}, "the lesson shows no scenario", sim::Severity::error}});
}

/// FILE with what --set changes.
struct StartScenario {
    sim::ScenarioDocument document;
    sim::Scenario scenario;
    QString name; ///< as a window shows it
};

StartScenario scenarioOf(const sim::Catalogue& catalogue, const StartOptions& options)
{
    const sim::ScenarioDocument file = fileOf(catalogue, options);
    sim::ScenarioDocument document = file;
    for (const QString& assignment : options.overrides)
        try {
            document.applyOverride(assignment.toStdString(), catalogue);
        } catch (const sim::Error& error) {
            throw sim::ScenarioError({{file.fileName(),
                                       {},
                                       "--set " + sim::shownText(assignment.toStdString()) + ": " + error.what(),
                                       sim::Severity::error}});
        }
    keepRead(sim::filesOf(document, catalogue), options);
    sim::Scenario scenario = sim::resolvedScenario(document, catalogue);
    const auto before =
        options.overrides.isEmpty() || isScenarioLink(options.file) ? std::nullopt : file.resolve(catalogue).scenario;
    const QString name = before ? shownName({document, scenario}, {file, *before}) : nameOf(scenario);
    return {std::move(document), std::move(scenario), name};
}

int savePage(const sim::Catalogue& catalogue, const StartOptions& options)
{
    const StartScenario of = scenarioOf(catalogue, options);
    saveWhole(options.page, pageOf(of.document, of.name, catalogue, themeFor(themeChoice(options.theme)),
                                   QCoreApplication::applicationVersion()));
    return 0;
}

/// A lesson on paper, without a window.
int saveHandoutOf(const sim::Catalogue& catalogue, const StartOptions& options)
{
    const std::string path = MainWindow::lessonPath(options.lesson, catalogue).toStdString();
    const sim::LessonPlay play(sim::readLesson(path, catalogue), options.seed, catalogue);
    saveWhole(options.handout, handoutPdf(play, options.seed, QCoreApplication::applicationVersion()));
    return 0;
}

/// Where no size was asked for, no higher than what is drawn can use. `rows`: of the timeline.
int savePicture(StepView& view, Picture picture, std::size_t rows, const StartOptions& options)
{
    QSize size = options.size;
    if (!options.sizeGiven && picture == Picture::timeline)
        size.setHeight(std::min(size.height(), static_cast<int>(suitableTimelineHeight(rows))));
    if (const auto all = view.contentHeight(static_cast<float>(size.width())); !options.sizeGiven && all)
        size.setHeight(static_cast<int>(*all));
    saveFigure(view, options.figureFile, size);
    return 0;
}

/// The typical step of a recorded run, as a film has it.
int saveFigureOfRecorded(const sim::Catalogue& catalogue, const StartOptions& options)
{
    const std::unique_ptr<RecordedRun> run = readForFilm(QStringList{options.file} + options.moreFiles, catalogue);
    const StepFilm film = recordedFilm(*run, {});
    const Picture picture = findPicture(options.figureView.toStdString())->picture; // the command line knows no others
    if (std::find(film.offered.begin(), film.offered.end(), picture) == film.offered.end())
        throw sim::Error(run->name().toStdString() +
                         ": how its ranks lie on a grid was not recovered; nearest: --figure timeline");
    Selection selection;
    const auto view = makeFilmedView(film, picture, selection, themeFor(themeChoice(options.theme)), nullptr);
    const auto& trace = film.stepOf(picture).trace;
    return savePicture(*view, picture, trace ? trace->processes.size() : 0, options);
}

/// One view as a file, without a window.
int saveFigureOf(const sim::Catalogue& catalogue, const StartOptions& options)
{
    if (!isScenarioLink(options.file) && isTrace(options.file))
        return saveFigureOfRecorded(catalogue, options);
    const StartScenario of = scenarioOf(catalogue, options);
    const SimulationPtr simulation = sim::simulate(of.scenario);
    if (options.figureView == QLatin1String(kComparisonFigure))
        return saveComparison(catalogue, options, simulation, of.name);
    Selection selection;
    const Theme& theme = themeFor(themeChoice(options.theme));
    const PictureInfo& picture = *findPicture(options.figureView.toStdString()); // the command line knows no others
    const auto view = picture.make(selection, theme, nullptr);
    const auto trace = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions));
    view->setStep({simulation, trace});
    return savePicture(*view, picture.picture, trace->processes.size(), options);
}

int saveFilm(StepFilm film, const StartOptions& options)
{
    if (const PictureInfo* only = findPicture(options.view.toStdString()))
        film.pictures = {only->picture};
    QString failure;
    QEventLoop loop;
    FilmMaker maker;
    const EndSignals ends([&] { maker.cancel(); }); // no piece of a film is left
    QObject::connect(&maker, &FilmMaker::finished, &loop, [&](const QString&, const QString& why) {
        failure = why;
        loop.quit();
    });
    maker.start({.path = options.film,
                 .shape = filmShape(options.size),
                 .span = film.span,
                 .seconds = options.filmSeconds,
                 .framesPerSecond = options.filmFramesPerSecond},
                [&] { return makeScene(film, themeFor(themeChoice(options.theme))); });
    loop.exec();
    if (!failure.isEmpty())
        tell(failure);
    return failure.isEmpty() ? 0 : kBadInput;
}

/// The step in the middle of a recorded run, as it plays.
int saveFilmOfRecorded(const sim::Catalogue& catalogue, const StartOptions& options)
{
    const std::unique_ptr<RecordedRun> run = readForFilm(QStringList{options.file} + options.moreFiles, catalogue);
    StepFilm film = recordedFilm(*run, {});
    film.pictures = film.offered;
    return saveFilm(std::move(film), options);
}

/// The step as it plays, without a window.
int saveFilmOf(const sim::Catalogue& catalogue, const StartOptions& options)
{
    if (!isScenarioLink(options.file) && isTrace(options.file))
        return saveFilmOfRecorded(catalogue, options);
    const StartScenario of = scenarioOf(catalogue, options);
    const SimulationPtr simulation = sim::simulate(of.scenario);
    StepFilm film{.step = {simulation, std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions))},
                  .pictures = {Picture::grid, Picture::timeline},
                  .title = of.name.toStdString(),
                  .caption = {},
                  .span = {},
                  .selection = {}};
    film.span = filmSpan(film.step, film.selection);
    return saveFilm(std::move(film), options);
}

int runWindow(const GuardedApplication& application, sim::Catalogue catalogue, const StartOptions& options)
{
    WindowOptions windowOptions;
    windowOptions.reproducible = options.isPicture();
    windowOptions.renderer = options.isPicture() ? Renderer::software : readSettings().renderer;
    if (!options.theme.isEmpty())
        windowOptions.theme = themeChoice(options.theme);
    MainWindow window(std::move(catalogue), windowOptions);
    QObject::connect(&application, &GuardedApplication::failed, &window, [&](const QString& why) {
        tell(why);
        window.banner().tell(MainWindow::tr("Something went wrong and was left undone; what was open still is"),
                             {{{}, {}, why.toStdString(), sim::Severity::error}});
    });
    std::optional<EndSignals> ends; // a picture that is written ends as any program does
    if (!options.isPicture())
        ends.emplace([&] {
            window.session().keepSafe();
            for (FilmDialog* film : window.findChildren<FilmDialog*>())
                film->cancel(); // no piece of it is left
            window.endRun();
        });
    if (const PictureInfo* only = findPicture(options.view.toStdString()))
        options.isPicture() ? window.showOnly(only->picture) : window.showInFront(only->picture);
    if (options.isPicture() && !options.file.isEmpty())
        if (const std::string kind = SettingsImport::kindOf({options.file}); !kind.empty()) {
            tell(MainWindow::tr("%1: is settings of the kind %2, about which there are questions first; make a scenario of them "
                                "with rankscope-sim import")
                     .arg(options.file, QString::fromStdString(kind)));
            return kBadInput;
        }
    if (options.file.isEmpty() && options.lesson.isEmpty()) {
        window.showGallery();
    } else if (const Problems problems = options.lesson.isEmpty()
                                             ? options.moreFiles.isEmpty()
                                                   ? window.openFile(options.file, options.overrides)
                                                   : window.openAll(QStringList(options.file) + options.moreFiles)
                                             : window.openLesson(options.lesson);
               !problems.empty()) {
        tell(problems); // the window shows them too
        if (options.isPicture())
            return kBadInput;
        window.show();
        return QApplication::exec();
    }
    for (const auto& [name, part] : kPlanPages)
        if (options.planPage == QLatin1String(name.data(), static_cast<qsizetype>(name.size())))
            window.planner().showPart(part);
    if (options.plan)
        window.showPlan();
    if (!options.compare.isEmpty())
        if (const Problems problems = window.compareWithAll(options.compare); !problems.empty()) {
            tell(problems);
            if (options.isPicture())
                return kBadInput;
        }
    if (!options.screenshot.isEmpty())
        return saveScreenshot(window, options);
    window.show();
    if (options.present) {
        waitForWhatIsPresented(window, options);
        if (window.isEnabled(CommandId::present))
            window.present(true);
    }
    if (options.isLive()) {
        waitUntilSettled(window);
        if (options.live && !window.desk().simulation())
            return QApplication::exec(); // the banner says why
        startLive(window, options);
    }
    return QApplication::exec();
}

} // namespace

void keepMemory()
{
#if defined(__GLIBC__)
    constexpr int kKeptBytes = 512 << 20;
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    mallopt(M_MMAP_THRESHOLD, kKeptBytes);
#endif
}

int runApplication(int argc, char** argv, const QString& version)
{
    const auto [options, exitCode, output] = readCommandLine(argc, argv, version);
    if (exitCode >= 0) {
        if (exitCode != 0) {
            tell(output);
        } else if (std::fputs(qPrintable(output), stdout) < 0 || std::fflush(stdout) != 0) {
            tell(QStringLiteral("Standard output took only a part of the result\n"));
            return kBadInput;
        }
        return exitCode;
    }
    if (options.isPicture()) {
        qInstallMessageHandler(leaveOutChatter);
        if (!qEnvironmentVariableIsSet(kPlatform))
            qputenv(kPlatform, "offscreen"); // the same picture with and without a display
    }
    if (const QString why = noDisplay(); !why.isEmpty()) {
        tell(why + QStringLiteral("; --screenshot, --figure, --page, --film and --handout need none"));
        return kBadInput;
    }
    const Settings settings = readSettings();
    QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
    GuardedApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("rankscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("Rankscope"));
    QApplication::setApplicationVersion(version);
    QApplication::setDesktopFileName(QStringLiteral("rankscope"));
    try {
        keepNamedFiles(options);
        sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
        if (!options.isPicture())
            installTranslation(application, QString::fromStdString(catalogue.assets().string()), settings.language);
        int code = options.isPicture() && options.screenshot.isEmpty() ? 0 : runWindow(application, catalogue, options);
        using Save = int (*)(const sim::Catalogue&, const StartOptions&);
        for (const auto& [file, save] : {std::pair<QString, Save>{options.figureFile, saveFigureOf},
                                         {options.page, savePage},
                                         {options.film, saveFilmOf},
                                         {options.handout, saveHandoutOf}})
            if (code == 0 && !file.isEmpty())
                code = save(catalogue, options);
        return code;
    } catch (const sim::ScenarioError& error) {
        tell(error.problems());
    } catch (...) {
        tell(QString::fromStdString(failureText()));
    }
    return kBadInput;
}

} // namespace app
