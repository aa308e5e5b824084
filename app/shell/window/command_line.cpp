#include "app/shell/window/command_line.h"

#include "app/canvas/qt/film_file.h"
#include "app/session/trace_file.h"
#include "app/shell/plan/plan_part.h"
#include "app/shell/widgets/format.h"
#include "app/views/pictures.h"

#include "live/stream/keys.h"
#include "sim/error.h"
#include "sim/text/nearest.h"

#include <QCommandLineParser>
#include <QFileInfo>
#include <QUrl>

#include <initializer_list>
#include <string>
#include <vector>

namespace app {
namespace {

constexpr int kWrongCall = 2;
constexpr double kShortestFilm = 0.1, kLongestFilm = 600; ///< seconds
constexpr quint64 kLargestSeed = 9'007'199'254'740'992;   ///< what any JSON reader keeps
constexpr qsizetype kMostCompared = 5;                    ///< with FILE six
constexpr int kSmallestSide = 320, kLargestSide = 16384;
constexpr QSize kMostOfPicture{8192, 8192}, kMostOfFilm{7680, 4320}; ///< pixels in all: beyond, memory and encoders give up
const QChar kBetween = QChar(0x1F); ///< joins the two values of --figure for the parser, which knows only options with one

CommandLine wrong(const QString& message)
{
    return {{}, kWrongCall, message + QStringLiteral("\nTry rankscope --help\n")};
}

bool oneOf(const QString& word, std::initializer_list<const char*> words)
{
    for (const char* w : words) {
        if (word == QLatin1String(w))
            return true;
    }
    return false;
}

QStringList pictureNames()
{
    QStringList names;
    for (const PictureInfo& picture : pictures())
        names << QLatin1String(picture.name);
    return names;
}

QStringList planPages()
{
    QStringList names;
    for (const auto& [name, part] : kPlanPages)
        names << QLatin1String(name.data(), static_cast<qsizetype>(name.size()));
    return names;
}

QStringList themeNames()
{
    return {QStringLiteral("light"), QStringLiteral("dark"), QStringLiteral("high-contrast")};
}

/// "grid, timeline"
QString listed(const QStringList& words)
{
    return words.join(QStringLiteral(", "));
}

/// An option's word that is none of those it takes; the nearest of them, where one is near.
CommandLine unknownWord(const char* option, const QString& word, const char* what, const QStringList& words)
{
    std::vector<std::string> known;
    for (const QString& each : words)
        known.push_back(each.toStdString());
    const std::string near = sim::nearestWords(word.toStdString(), known);
    return wrong(QStringLiteral("--%1 %2: there is no such %3; there are %4%5")
                     .arg(QLatin1String(option), word, QLatin1String(what), listed(words),
                          near.starts_with("; nearest") ? QString::fromStdString(near) : QString()));
}

} // namespace

CommandLine parseCommandLine(const QStringList& arguments, const QString& version)
{
    QStringList joined{QStringLiteral("rankscope")};
    for (qsizetype i = 0; i < arguments.size(); ++i) {
        if (arguments[i] != QLatin1String("--figure")) {
            joined << arguments[i];
            continue;
        }
        if (i + 2 >= arguments.size())
            return wrong(QStringLiteral("--figure takes a view (%1) and a file (.svg, .pdf, .png)").arg(listed(pictureNames())));
        joined << QStringLiteral("--figure=") + arguments[i + 1] + kBetween + arguments[i + 2];
        i += 2;
    }

    QCommandLineParser parser;
    parser.setApplicationDescription(QStringLiteral("See, ask and run hybrid-parallel training."));
    parser.addPositionalArgument(QStringLiteral("FILE"),
                                 QStringLiteral("Scenario to open, or rankscope: link, or the traces of a recorded run or their "
                                                "folder; the gallery without one."),
                                 QStringLiteral("[FILE…]"));
    const QCommandLineOption help({QStringLiteral("h"), QStringLiteral("help")}, QStringLiteral("Show this help."));
    const QCommandLineOption versionOption({QStringLiteral("v"), QStringLiteral("version")}, QStringLiteral("Show the version."));
    const QCommandLineOption view(
        QStringLiteral("view"),
        QStringLiteral("Open with this view in front; in a picture, only this one: %1.").arg(listed(pictureNames())),
        QStringLiteral("NAME"));
    const QCommandLineOption plan(QStringLiteral("plan"),
                                  QStringLiteral("Open FILE with the Plan view, and plan: the best layout of its GPUs."));
    const QCommandLineOption planPage(QStringLiteral("plan-page"),
                                      QStringLiteral("The same with this page beside its map: %1.").arg(listed(planPages())),
                                      QStringLiteral("NAME"));
    const QCommandLineOption lesson(QStringLiteral("lesson"), QStringLiteral("Play a lesson: its id, one-f-one-b, or its file."),
                                    QStringLiteral("ID"));
    const QCommandLineOption handout(QStringLiteral("handout"),
                                     QStringLiteral("Save the --lesson on paper, questions and key, and exit; needs no display."),
                                     QStringLiteral("OUT.pdf"));
    const QCommandLineOption seed(QStringLiteral("seed"),
                                  QStringLiteral("Numbers of questions that vary: the same seed, the same paper; 1 by default."),
                                  QStringLiteral("N"));
    const QCommandLineOption compare(
        QStringLiteral("compare"),
        QStringLiteral("Compare FILE with OTHER, the baseline; repeatable, up to five on one axis with FILE. "
                       "--figure then also knows “compare”."),
        QStringLiteral("OTHER"));
    const QCommandLineOption present(
        QStringLiteral("present"),
        QStringLiteral("Show FILE, or the --lesson, before an audience: large text, steered by a clicker."));
    const QCommandLineOption live(QStringLiteral("live"), QStringLiteral("Really train FILE on this machine, and watch."));
    const QCommandLineOption attach(QStringLiteral("attach"),
                                    QStringLiteral("Watch a training that listens there, as in tcp://127.0.0.1:5555."),
                                    QStringLiteral("ENDPOINT"));
    const QCommandLineOption key(QStringLiteral("key"),
                                 QStringLiteral("Key file of this viewer, for a run that listens beyond its machine."),
                                 QStringLiteral("FILE"));
    const QCommandLineOption serverKey(QStringLiteral("server-key"),
                                       QStringLiteral("Public key of that run: its .pub file, or the 40 characters."),
                                       QStringLiteral("KEY"));
    const QCommandLineOption screenshot(QStringLiteral("screenshot"),
                                        QStringLiteral("Save a picture of the whole window and exit; needs no display."),
                                        QStringLiteral("OUT.png"));
    const QCommandLineOption page(QStringLiteral("page"),
                                  QStringLiteral("Save FILE with its numbers and pictures as a page that any browser opens, and "
                                                 "exit; needs no display."),
                                  QStringLiteral("OUT.html"));
    const QCommandLineOption size(QStringLiteral("size"), QStringLiteral("Size of that picture, 1600x900 by default."),
                                  QStringLiteral("WxH"));
    const QCommandLineOption figure(
        QStringLiteral("figure"),
        QStringLiteral("--figure VIEW OUT: save a view (%1) as .svg, .pdf or .png and exit; needs no display.")
            .arg(listed(pictureNames())),
        QStringLiteral("VIEW OUT"));
    const QCommandLineOption film(
        QStringLiteral("film"),
        QStringLiteral(
            "Save the step as it plays (grid and timeline, or --view) as .mp4, .webm, .gif or numbered .svg, and exit; "
            "needs no display. --size is in pixels then, 1920x1080 by default."),
        QStringLiteral("OUT"));
    const QCommandLineOption seconds(QStringLiteral("seconds"), QStringLiteral("Length of the film, 10 by default."),
                                     QStringLiteral("N"));
    const QCommandLineOption fps(QStringLiteral("fps"), QStringLiteral("Frames a second of the film, 30 by default."),
                                 QStringLiteral("N"));
    const QCommandLineOption set(QStringLiteral("set"), QStringLiteral("Override a key of the file, layout.tp=4; repeatable."),
                                 QStringLiteral("POINTER=VALUE"));
    const QCommandLineOption theme(QStringLiteral("theme"),
                                   QStringLiteral("light, dark or high-contrast; as in the settings by default."),
                                   QStringLiteral("NAME"));
    parser.addOptions({help,      versionOption, view, plan, planPage, lesson, handout, seed, present, live,  attach, key,
                       serverKey, screenshot,    page, size, figure,   film,   seconds, fps,  set,     theme, compare});

    if (!parser.parse(joined))
        return wrong(parser.errorText());
    if (parser.isSet(help))
        return {{}, 0, parser.helpText()};
    if (parser.isSet(versionOption))
        return {{}, 0, QStringLiteral("rankscope ") + version + QLatin1Char('\n')};

    for (const QCommandLineOption& once : {view, planPage, lesson, handout, seed, attach, key, serverKey, screenshot, page, size,
                                           figure, film, seconds, fps, theme})
        if (QStringList values = parser.values(once); values.size() > 1)
            return wrong(QStringLiteral("--%1 is given %2 (%3); once is enough")
                             .arg(once.names().constFirst(),
                                  values.size() == 2 ? QStringLiteral("twice") : QStringLiteral("%1 times").arg(values.size()),
                                  listed(values.replaceInStrings(QString(kBetween), QStringLiteral(" ")))));

    StartOptions options;
    const QStringList files = parser.positionalArguments();
    const auto local = [](const QString& file) { // as desktops call
        return file.startsWith(QLatin1String("file:")) ? QUrl(file).toLocalFile() : file;
    };
    for (const QString& file : files)
        if (files.size() > 1 && !isTrace(local(file)))
            return wrong(
                QStringLiteral("one FILE at a time, not %1: %2; only traces of one run are opened together, and %3 is none")
                    .arg(files.size())
                    .arg(files.join(QStringLiteral(", ")), file));
    if (files.contains(QString()))
        return wrong(QStringLiteral("FILE: nothing is given; leave it out to see the gallery"));
    options.file = local(files.value(0));
    for (const QString& file : files.mid(1))
        options.moreFiles << local(file);
    options.overrides = parser.values(set);
    options.screenshot = parser.value(screenshot);
    options.page = parser.value(page);
    options.view = parser.value(view);
    options.lesson = local(parser.value(lesson));
    if (parser.isSet(lesson) && (options.lesson.isEmpty() || !files.isEmpty()))
        return wrong(QStringLiteral("--lesson plays one lesson, by its id or file, and takes no other FILE"));
    if (parser.isSet(handout)) {
        options.handout = parser.value(handout);
        if (options.lesson.isEmpty())
            return wrong(QStringLiteral("--handout is about a --lesson, and none was given"));
        if (QFileInfo(options.handout).suffix().toLower() != QLatin1String("pdf"))
            return wrong(QStringLiteral("--handout %1: the file must end in .pdf").arg(options.handout));
    }
    if (parser.isSet(seed)) {
        bool isNumber = false;
        options.seed = parser.value(seed).toULongLong(&isNumber);
        if (options.handout.isEmpty())
            return wrong(QStringLiteral("--seed is about --handout, and none was asked for"));
        if (!isNumber || options.seed > kLargestSeed)
            return wrong(
                QStringLiteral("--seed %1: a whole number from 0 to %2 is needed").arg(parser.value(seed)).arg(kLargestSeed));
    }
    options.theme = parser.value(theme);
    options.planPage = parser.value(planPage);
    if (parser.isSet(planPage) && !planPages().contains(options.planPage))
        return unknownWord("plan-page", options.planPage, "page", planPages());
    options.plan = parser.isSet(plan) || parser.isSet(planPage);
    if (options.plan && options.file.isEmpty())
        return wrong(QStringLiteral("--plan plans FILE, and no FILE was given"));
    options.present = parser.isSet(present);
    options.live = parser.isSet(live);
    options.attach = parser.value(attach);
    options.key = parser.value(key);
    options.serverKey = parser.value(serverKey);
    for (const QString& file : parser.values(compare))
        options.compare << local(file);
    if (parser.isSet(compare) && (options.file.isEmpty() || options.compare.contains(QString())))
        return wrong(QStringLiteral("--compare compares FILE with another, and %1 was given")
                         .arg(options.file.isEmpty() ? QStringLiteral("no FILE") : QStringLiteral("no other file")));
    if (options.compare.size() > kMostCompared)
        return wrong(
            QStringLiteral("--compare takes up to %1 files beside FILE, not %2").arg(kMostCompared).arg(options.compare.size()));
    if (options.present && options.file.isEmpty() && options.lesson.isEmpty())
        return wrong(QStringLiteral("--present shows FILE or a --lesson, and no FILE was given"));
    if (options.live && options.file.isEmpty())
        return wrong(QStringLiteral("--live trains FILE, and no FILE was given"));
    if (options.live && parser.isSet(attach))
        return wrong(QStringLiteral("--live starts a training and --attach watches another: one of them"));
    if (parser.isSet(attach) && options.attach.isEmpty())
        return wrong(QStringLiteral("--attach takes the address of a run, as in tcp://127.0.0.1:5555"));
    try {
        if (parser.isSet(attach))
            live::checkEndpoint(options.attach.toStdString());
    } catch (const sim::Error& error) {
        return wrong(QStringLiteral("--attach: ") + QString::fromUtf8(error.what()));
    }
    if ((parser.isSet(key) && options.key.isEmpty()) || (parser.isSet(serverKey) && options.serverKey.isEmpty()))
        return wrong(QStringLiteral("--key and --server-key take keys, and nothing is given"));
    if (parser.isSet(key) != parser.isSet(serverKey) || (parser.isSet(key) && !parser.isSet(attach)))
        return wrong(QStringLiteral("--key and --server-key go together, with --attach"));
    if (parser.isSet(view) && !findPicture(options.view.toStdString()))
        return unknownWord("view", options.view, "view", pictureNames());
    if (parser.isSet(theme) && !themeNames().contains(options.theme))
        return unknownWord("theme", options.theme, "theme", themeNames());
    if (!options.overrides.isEmpty() && options.file.isEmpty())
        return wrong(QStringLiteral("--set changes a key of FILE, and no FILE was given"));
    for (const QString& assignment : options.overrides) {
        if (assignment.indexOf(QLatin1Char('=')) < 1)
            return wrong(QStringLiteral("--set %1: POINTER=VALUE is needed, as in --set layout.tp=4").arg(assignment));
    }
    if (parser.isSet(screenshot) && QFileInfo(options.screenshot).suffix().toLower() != QLatin1String("png"))
        return wrong(QStringLiteral("--screenshot %1: the file must end in .png").arg(options.screenshot));
    if (parser.isSet(page)) {
        if (QFileInfo(options.page).suffix().toLower() != QLatin1String("html"))
            return wrong(QStringLiteral("--page %1: the file must end in .html").arg(options.page));
        if (options.file.isEmpty())
            return wrong(QStringLiteral("--page shows a FILE, and none was given"));
    }
    if (parser.isSet(size)) {
        options.sizeGiven = true;
        const QStringList sides = parser.value(size).split(QLatin1Char('x'));
        bool widthOk = false, heightOk = false;
        options.size = {sides.value(0).toInt(&widthOk), sides.value(1).toInt(&heightOk)};
        const auto fits = [](int side) { return side >= kSmallestSide && side <= kLargestSide; };
        if (sides.size() != 2 || !widthOk || !heightOk || !fits(options.size.width()) || !fits(options.size.height()))
            return wrong(QStringLiteral("--size %1: WxH is needed, each side %2 to %3, as in 1600x900")
                             .arg(parser.value(size))
                             .arg(kSmallestSide)
                             .arg(kLargestSide));
    }
    const auto pixels = [](QSize of) { return qint64{of.width()} * of.height(); };
    if (const QSize most = parser.isSet(film) ? kMostOfFilm : kMostOfPicture; pixels(options.size) > pixels(most))
        return wrong(QStringLiteral("--size %1: %2 pixels, where %3 has at most those of %4x%5")
                         .arg(parser.value(size), separated(pixels(options.size)),
                              parser.isSet(film) ? QStringLiteral("a film") : QStringLiteral("a picture"))
                         .arg(most.width())
                         .arg(most.height()));
    if (parser.isSet(figure)) {
        const QStringList parts = parser.value(figure).split(kBetween);
        options.figureView = parts.value(0);
        options.figureFile = parts.value(1);
        const bool isComparison = options.figureView == QLatin1String(kComparisonFigure) && !options.compare.isEmpty();
        if (!isComparison && !findPicture(options.figureView.toStdString()))
            return unknownWord("figure", options.figureView, "view", pictureNames());
        if (!oneOf(QFileInfo(options.figureFile).suffix().toLower(), {"svg", "pdf", "png"}))
            return wrong(QStringLiteral("--figure %1 %2: the file must end in .svg, .pdf or .png")
                             .arg(options.figureView, options.figureFile));
        if (options.file.isEmpty())
            return wrong(QStringLiteral("--figure draws a FILE, and none was given"));
    }
    if (parser.isSet(film)) {
        options.film = parser.value(film);
        if (!oneOf(QFileInfo(options.film).suffix().toLower(), {"mp4", "webm", "gif", "svg"}))
            return wrong(QStringLiteral("--film %1: the file must end in .mp4, .webm, .gif or .svg").arg(options.film));
        if (options.file.isEmpty())
            return wrong(QStringLiteral("--film plays a FILE, and none was given"));
        if (!options.sizeGiven)
            options.size = {1920, 1080};
        if (options.size.width() % 2 != 0 || options.size.height() % 2 != 0)
            return wrong(QStringLiteral("--size %1: the sides of a film are even; nearest: %2x%3")
                             .arg(parser.value(size))
                             .arg(options.size.width() / 2 * 2)
                             .arg(options.size.height() / 2 * 2));
    }
    for (const QCommandLineOption* ofFilm : {&seconds, &fps})
        if (parser.isSet(*ofFilm) && options.film.isEmpty())
            return wrong(QStringLiteral("--%1 is about --film, and no film was asked for").arg(ofFilm->names().front()));
    if (parser.isSet(seconds)) {
        bool isNumber = false;
        options.filmSeconds = parser.value(seconds).toDouble(&isNumber);
        if (!isNumber || !(options.filmSeconds >= kShortestFilm && options.filmSeconds <= kLongestFilm))
            return wrong(QStringLiteral("--seconds %1: a number from %2 to %3 is needed")
                             .arg(parser.value(seconds))
                             .arg(kShortestFilm)
                             .arg(kLongestFilm));
    }
    if (parser.isSet(fps)) {
        options.filmFramesPerSecond = parser.value(fps).toInt();
        if (options.filmFramesPerSecond < 1 || options.filmFramesPerSecond > kMostFramesPerSecond)
            return wrong(QStringLiteral("--fps %1: a whole number from 1 to %2 is needed")
                             .arg(parser.value(fps))
                             .arg(kMostFramesPerSecond));
    }
    const bool makesFileOnly = options.isPicture() && options.screenshot.isEmpty();
    if (makesFileOnly)
        for (const QCommandLineOption* ofWindow : {&plan, &planPage, &present, &live, &attach})
            if (parser.isSet(*ofWindow))
                return wrong(QStringLiteral("--%1 shows in a window, and a figure, page, film or handout is made without one; "
                                            "--screenshot makes a picture of it")
                                 .arg(ofWindow->names().front()));
    if (makesFileOnly && !options.compare.isEmpty() && options.figureView != QLatin1String(kComparisonFigure))
        return wrong(QStringLiteral("--compare compares in a window; as a file there is --figure compare OUT, or --screenshot "
                                    "OUT.png of the window"));
    if (makesFileOnly && parser.isSet(view) && options.film.isEmpty())
        return wrong(QStringLiteral("--view chooses what a window or a film shows; a page has every view, and --figure names its "
                                    "own"));
    if (!options.file.isEmpty() && isTrace(options.file))
        for (const QCommandLineOption* ofScenario : {&set, &compare, &plan, &planPage, &live, &page, &present})
            if (parser.isSet(*ofScenario))
                return wrong(
                    QStringLiteral(
                        "--%1 is about a scenario, and %2 is read as a recorded run (as folders and packed files "
                        "are): open it without, or give --screenshot or --figure for a picture or --film for a film of it")
                        .arg(ofScenario->names().front(), options.file));
    if (!options.figureFile.isEmpty() && isTrace(options.file) && !oneOf(options.figureView, {"grid", "timeline"}))
        return wrong(QStringLiteral("--figure %1: of a recorded run the grid or the timeline is drawn").arg(options.figureView));
    if (!options.film.isEmpty() && isTrace(options.file) && !oneOf(options.view, {"", "grid", "timeline"}))
        return wrong(QStringLiteral("--view %1: of a recorded run the grid or the timeline is filmed, or without --view both")
                         .arg(options.view));
    return {options, -1, {}};
}

} // namespace app
