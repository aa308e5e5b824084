// Lessons in the window: what the player's steps put on the desk, what is hidden while a question is open, and the way in and
// out.
#include "app/canvas/qt/save_whole.h"
#include "app/lessons/handout.h"
#include "app/lessons/lesson_panel.h"
#include "app/lessons/lesson_talk.h"
#include "app/lessons/record_window.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/ops/ops_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/presentation/presentation.h"
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/problem_page.h"
#include "app/views/storage/storage_view.h"
#include "sim/lesson/results.h"
#include "sim/scenario/json_text.h"

#include <QAction>
#include <QCoreApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QStatusBar>
#include <QStyle>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace app {
namespace {

constexpr int kTellPreparingMs = 4000, kTellLeftMs = 8000;
constexpr double kLessonGib = 1024.0 * 1024 * 1024;

/// As it is opened.
sim::ScenarioDocument sceneDocument(const LessonScene& scene)
{
    sim::ScenarioDocument document = *scene.shown;
    if (!scene.view.is_null())
        document.set("/view", scene.view.dump());
    if (!scene.shownName.isEmpty())
        document.set("/name", sim::LessonValue(scene.shownName.toStdString()).dump());
    document.erase("/description"); // it may be of other settings, or tell what is still to be asked: here the lesson speaks
    document.setFileName({});
    return document;
}

/// The one of the course that comes after it; none after the last, and after a lesson that is of no course.
std::optional<sim::Lesson> followingLesson(const sim::Lesson& done, const sim::Catalogue& catalogue)
{
    std::optional<sim::Lesson> next;
    std::vector<sim::Problem> unread; // the gallery tells them
    for (sim::Lesson& lesson : sim::readLessons(sim::lessonFolder(catalogue), catalogue, unread))
        if (done.number > 0 && lesson.number > done.number && (!next || lesson.number < next->number))
            next = std::move(lesson);
    return next;
}

} // namespace

void MainWindow::buildLesson()
{
    m_lessonProgress = std::make_unique<LessonProgress>(m_options.reproducible ? QString() : LessonProgress::usualPath(),
                                                        sim::lessonFolder(m_session.catalogue()));
    m_lesson = new LessonPanel(m_desk, *m_lessonProgress);
    m_lesson->setMinimumWidth(m_details->minimumWidth());
    m_lessonDock = new QDockWidget(tr("LESSON"), this);
    m_lessonDock->setObjectName(QStringLiteral("lesson"));
    m_lessonDock->setWidget(m_lesson);
    m_lessonDock->setFeatures(QDockWidget::NoDockWidgetFeatures); // left by its own button
    m_lessonDock->hide();
    addDockWidget(Qt::RightDockWidgetArea, m_lessonDock);
    connect(m_lesson, &LessonPanel::started, this, &MainWindow::updateActions);
    connect(m_lesson, &LessonPanel::started, this, [this] { maskNumbers(m_lesson->hidesNumbers()); });
    connect(m_lesson, &LessonPanel::sceneChanged, this, &MainWindow::showScene);
    connect(m_lesson, &LessonPanel::sceneExpected, this, &MainWindow::expectScene);
    connect(m_lesson, &LessonPanel::maskChanged, this, &MainWindow::maskNumbers);
    connect(m_lesson, &LessonPanel::left, this, [this] {
        leaveLesson();
        forgetGalleryEntries();
        showGallery();
    });
    connect(m_lesson, &LessonPanel::termRequested, this, &MainWindow::showHelp);
    connect(m_lesson, &LessonPanel::limitChanged, this, &MainWindow::limitForm);
    connect(m_lesson, &LessonPanel::settingRequested, this, [this](const QString& pointer) {
        m_formDock->show();
        bringForward(*m_formDock);
        m_form->lead(pointer.toStdString());
    });
    connect(m_lesson, &LessonPanel::anewRequested, this, [this] {
        const sim::Lesson played = m_lesson->play()->lesson();
        if (!mayLoseChanges())
            return;
        m_lessonProgress->forget(played);
        startLesson(QString::fromStdString(played.fileName), false);
    });
    m_lesson->setFollowing([this](const sim::Lesson& done) {
        const auto next = followingLesson(done, m_session.catalogue());
        return next ? QString::fromStdString(next->title) : QString();
    });
    connect(m_lesson, &LessonPanel::followingRequested, this, [this] {
        if (const auto next = followingLesson(m_lesson->play()->lesson(), m_session.catalogue()))
            openLesson(QString::fromStdString(next->fileName));
    });
    connect(m_lesson, &LessonPanel::finished, this, [this] {
        maskNumbers(m_lesson->hidesNumbers());
        forgetGalleryEntries();
    });
    connect(m_lesson, &LessonPanel::solutionRequested, this,
            [this](sim::ScenarioDocument solved) { // it is the same job, with other settings
                if (const auto name = m_session.document().get("/name"))
                    solved.set("/name", *name);
                solved.erase("/description");
                m_session.replaceContent(solved, tr("the lesson's solution"));
            });
}

/// To what the challenge lets the learner change.
void MainWindow::limitForm()
{
    const sim::Challenge* goal = m_lesson->isSuspended() ? nullptr : m_lesson->challenge();
    const QString why = goal != nullptr ? limitText(m_lesson->allowed()) : QString();
    m_form->limitTo(why.isEmpty()
                        ? FormLimit{}
                        : FormLimit{[goal = *goal](const std::string& pointer) { return sim::mayChange(goal, pointer); }, why});
}

bool MainWindow::isLessonFile(const QString& path)
{
    constexpr qint64 kMost = 16 << 20; // far more than a lesson may have
    constexpr QByteArrayView kKey("\"format\""), kFormat("\"rankscope-lesson\"");
    QFile file(path);
    if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly))
        return false;
    const QByteArray text = file.read(kMost);
    for (qsizetype at = text.indexOf(kFormat); at >= 0; at = text.indexOf(kFormat, at + 1)) {
        const QByteArrayView before = QByteArrayView(text).first(at).trimmed();
        if (before.endsWith(':') && before.chopped(1).trimmed().endsWith(kKey))
            return true;
    }
    return false;
}

QString MainWindow::lessonPath(const QString& idOrPath, const sim::Catalogue& catalogue)
{
    if (QFileInfo(idOrPath).isFile()) // a folder of that name is none
        return idOrPath;
    return QString::fromStdString((sim::lessonFolder(catalogue) / (idOrPath.toStdString() + ".json")).string());
}

Problems MainWindow::openLesson(const QString& idOrPath)
{
    return startLesson(idOrPath, true);
}

/// Unless it asks, what is on screen may go.
Problems MainWindow::startLesson(const QString& idOrPath, bool asks)
{
    const QString path = lessonPath(idOrPath, m_session.catalogue());
    std::optional<sim::Lesson> lesson;
    Problems problems = problemsOf(path, [&]() -> Problems {
        if (!QFileInfo::exists(path))
            return {{idOrPath.toStdString(),
                     {},
                     "is neither the id of a lesson nor a file; the gallery has all lessons",
                     sim::Severity::error}};
        lesson = sim::readLesson(path.toStdString(), m_session.catalogue());
        return {};
    });
    if (!problems.empty()) {
        tellUnopened(path, problems, {});
        return problems;
    }
    if (asks && !mayLoseChanges())
        return {};
    m_banner->dismiss();
    const auto due = m_lessonProgress->due(*lesson, QDateTime::currentDateTime());
    const bool onlyRemember = !due.empty();
    if (onlyRemember) {
        lesson->steps.clear();
        for (const sim::Question& question : lesson->remember)
            if (std::find(due.begin(), due.end(), question.id) != due.end()) {
                sim::LessonStep step;
                step.pointer = question.pointer;
                step.predict = m_lessonProgress->withOtherNumbers(*lesson, question);
                lesson->steps.push_back(std::move(step));
            }
    }
    const QString title = QString::fromStdString(lesson->title);
    const std::uint64_t seed =
        onlyRemember ? static_cast<std::uint64_t>(QDateTime::currentMSecsSinceEpoch()) : m_lessonProgress->seed(*lesson);
    takeHintBack(); // what was shown for its sake is nobody's to come back to
    leaveLesson();
    m_isInLesson = true;
    m_kernelsBeforeLesson = m_desk.wantsKernels();
    m_givenUp = m_session.isOpen() ? std::optional(m_session.document().text()) : std::nullopt;
    m_workspace->setLayoutAside();
    m_lesson->showPreparing(title);
    if (isVisible()) // before, the bar would write it over its own words
        statusBar()->showMessage(tr("The engine works out the answers of “%1”…").arg(title), kTellPreparingMs);
    m_lessonWorker.ask(
        0,
        [lesson = std::move(*lesson), seed, catalogue = m_session.catalogue()] {
            return std::make_shared<sim::LessonPlay>(lesson, seed, catalogue);
        },
        [this, onlyRemember](const std::shared_ptr<sim::LessonPlay>& play) {
            statusBar()->clearMessage();
            m_lesson->start(play, onlyRemember);
            if (!m_session.isOpen()) // nothing to show yet: the words alone
                showLessonDock();
            if (isGalleryShown()) // at the start of the program nobody has filled it
                refreshGallery();
        },
        [this, path](const QString& why) {
            leaveLesson();
            if (isGalleryShown())
                refreshGallery();
            m_banner->tell(tr("%1 cannot be played").arg(QFileInfo(path).fileName()),
                           {{path.toStdString(), {}, why.toStdString(), sim::Severity::error}});
            Q_EMIT m_lesson->started(); // whoever waits for it need not any more
        });
    if (m_session.isOpen()) {
        showWorkspace();
        showLessonDock();
    }
    return {};
}

/// In front of the numbers, beside the pictures. In a narrow window the form lies behind it, too, and the pictures keep half of
/// the width; its tab is the first, as the others would push it out.
void MainWindow::showLessonDock()
{
    if (QDockWidget* const host = m_unfolded ? m_formDock : m_detailsDock; !m_widthBeforeLesson && !host->isHidden())
        m_widthBeforeLesson = {host, host->width()};
    if (m_unfolded) {
        if (dockWidgetArea(m_lessonDock) != Qt::LeftDockWidgetArea ||
            (!m_formDock->isHidden() && !m_formDock->isFloating() && !tabifiedDockWidgets(m_lessonDock).contains(m_formDock))) {
            std::vector<QDockWidget*> behind;
            for (QDockWidget* dock : {m_formDock, m_detailsDock, m_findingsDock})
                if (!dock->isFloating() && !dock->isHidden())
                    behind.push_back(dock);
            removeDockWidget(m_lessonDock); // splitting what is a tab leaves it one
            addDockWidget(Qt::LeftDockWidgetArea, m_lessonDock);
            m_lessonDock->show();
            for (QDockWidget* dock : behind)
                tabifyDockWidget(m_lessonDock, dock);
        }
        m_lessonDock->show();
        const int separator = 2 * style()->pixelMetric(QStyle::PM_DockWidgetSeparatorExtent, nullptr, this);
        resizeDocks({m_lessonDock}, {std::clamp((width() - separator) / 2, kNarrowestDock, kLessonWidth)}, Qt::Horizontal);
    } else if (!m_detailsDock->isFloating()) {
        placeFindings();
        tabifyDockWidget(m_detailsDock, m_lessonDock);
        resizeDocks({m_lessonDock}, {kLessonWidth}, Qt::Horizontal);
    }
    m_lessonDock->show();
    tidyDockTabs(*this);
    bringForward(*m_lessonDock);
}

/// The lesson is wider than what lies behind it, which comes to the front: docks are resized by the one that is there.
void MainWindow::giveWidthBack()
{
    const auto before = std::exchange(m_widthBeforeLesson, std::nullopt);
    if (!before || !isWorkspaceShown() || (before->first == m_formDock) != m_unfolded.has_value())
        return;
    bringForward(*before->first);
    resizeDocks({before->first}, {before->second}, Qt::Horizontal);
}

void MainWindow::leaveLesson()
{
    if (!m_isInLesson)
        return;
    m_lessonWorker.dropAll();
    m_isInLesson = false; // its case stays on screen, and is nobody's work until somebody goes on with it
    m_lesson->stop();
    m_desk.expect({});
    m_frontNext.clear();
    m_workspace->takeLayoutBack();
    takeHintBack();
    setKernels(m_kernelsBeforeLesson);
    m_workspace->setNote({});
    m_workspace->setLeastMemory(0);
    if (auto* storage = dynamic_cast<StorageView*>(&m_workspace->view(Picture::storage)))
        storage->pointAt({});
    maskNumbers(false);
    m_lessonDock->hide();
    giveWidthBack();
    m_givenUp.reset();
    placeFindings();
    if (m_baseline.isPinned() && m_lessonPinned)
        m_baseline.unpin();
    m_lessonPinned = false;
}

void MainWindow::showScene(const LessonScene& scene)
{
    m_workspace->setNote(scene.note);
    if (m_masksNumbers)
        m_workspace->setOnly(m_lesson->pictures(), whyHidden());
    m_desk.askForSlice(scene.asksForSlice);
    if (scene.asksForRanks && scene.shown == nullptr && scene.ranks.empty()) { // those of the answer before are none to this one
        m_desk.selection().selectRank(std::nullopt);
        m_desk.selection().ranks.clear();
        m_desk.selectionMayHaveChanged();
    }
    m_desk.askForRanks(scene.asksForRanks);
    if (auto* storage = dynamic_cast<StorageView*>(&m_workspace->view(Picture::storage)))
        storage->pointAt(scene.tensor.toStdString());
    if (!scene.ranks.empty() && scene.shown == nullptr) {
        m_desk.selection().selectRanks(scene.ranks, scene.ranks.front());
        m_desk.selectionMayHaveChanged();
    }
    if (scene.shown == nullptr && scene.compared == nullptr) {
        if (m_lessonPinned && !scene.keepsComparison) { // the step speaks of what is shown alone
            m_baseline.unpin();
            m_lessonPinned = false;
            m_workspace->setLeastMemory(0);
        }
        m_workspace->bringToFront(scene.front);
        return m_lesson->takeFocus();
    }
    // What is on screen may be somebody's own: opened before the lesson was ready, or saved in the middle of it.
    const bool isOwn = !m_showsScene || !m_session.path().isEmpty();
    const bool isGivenUp = m_givenUp && *m_givenUp == m_session.document().text();
    if (scene.shown != nullptr && isOwn && !isGivenUp && !mayLoseChanges()) {
        if (m_presentation)
            return;
        // Beside what stays on screen it would speak of something else.
        QMetaObject::invokeMethod(this, &MainWindow::leaveLesson, Qt::QueuedConnection);
        statusBar()->showMessage(tr("The lesson is left, as its case cannot be shown. The gallery goes on with it."),
                                 kTellLeftMs);
        return;
    }
    if (m_baseline.isPinned() && (m_lessonPinned || scene.compared != nullptr || scene.shown != nullptr)) {
        m_baseline.unpin();
        m_lessonPinned = false;
    }
    if (scene.shown != nullptr) {
        m_givenUp.reset();
        m_showsScene = true;
        m_opensScene = true;
        m_session.show(sceneDocument(scene));
        m_opensScene = false;
        showWorkspace();
        m_showsViewNext = true;
        m_playsNext = scene.play && !m_options.reproducible && !m_settings.reduceMotion;
        m_frontNext = scene.front.empty() ? picturesInFrontOf(scene) : scene.front;
    } else {
        m_workspace->bringToFront(scene.front);
    }
    m_workspace->setLeastMemory(std::llround(scene.comparedPeakGib * kLessonGib));
    showLessonDock();
    m_lesson->takeFocus();
    if (scene.compared != nullptr) {
        const auto name = scene.compared->get("/name");
        const QString title = !scene.comparedName.isEmpty() ? scene.comparedName
                              : name                        ? QString::fromStdString(unquoted(*name))
                                                            : tr("before");
        const std::optional<ShownStep> made = m_desk.expectedStep(*scene.compared);
        Problems problems;
        if (made)
            m_baseline.pin(title, *scene.compared, *made);
        else
            problems = m_baseline.compareWith(title, *scene.compared, m_session.catalogue());
        m_lessonPinned = problems.empty();
        if (!problems.empty())
            m_banner->tell(tr("There is nothing to compare with"), problems);
    }
}

/// Of those that a scene has, the ones that are looked at: another case does not turn them over.
std::vector<Picture> MainWindow::picturesInFrontOf(const LessonScene& scene) const
{
    std::vector<Picture> front = m_workspace->inFront();
    const sim::LessonValue* names = scene.view.is_object() ? sim::memberOf(scene.view, "pictures") : nullptr;
    const auto shown = names != nullptr ? sim::valueAs<std::vector<std::string>>(*names).value_or(std::vector<std::string>())
                                        : std::vector<std::string>();
    std::erase_if(front, [&](Picture picture) { return std::ranges::find(shown, pictureInfo(picture).name) == shown.end(); });
    return front;
}

void MainWindow::expectScene(const LessonScene& scene)
{
    std::vector<sim::ScenarioDocument> documents;
    if (scene.shown != nullptr)
        documents.push_back(sceneDocument(scene));
    if (scene.compared != nullptr)
        documents.push_back(*scene.compared);
    m_desk.expect(documents);
}

/// The lesson that is played, before a class, from the step where the player is.
std::unique_ptr<Talk> MainWindow::talkOfLesson()
{
    const std::size_t at = m_lesson->at();
    m_lesson->setSuspended(true);
    auto talk = std::make_unique<LessonTalk>(
        m_lesson->sharedPlay(), m_lesson->play()->seed(), [this](const LessonScene& scene) { showScene(scene); },
        [this](const LessonScene& scene) { expectScene(scene); });
    m_lessonTalkStart = talk->firstOf(at);
    return talk;
}

namespace {

/// A question of one line, as all dialogs here look: a verb, a field that is seen as one, room for the title.
bool isAnswered(QInputDialog& dialog, const QString& title, const QString& verb)
{
    constexpr int kWide = 420;
    dialog.setWindowTitle(title);
    dialog.setOkButtonText(verb);
    dialog.setCancelButtonText(QObject::tr("Cancel"));
    dialog.setMinimumWidth(kWide); // its children are there from now on
    dialog.ensurePolished();
    for (QLabel* label : dialog.findChildren<QLabel*>())
        label->setWordWrap(true);
    for (QPushButton* button : dialog.findChildren<QPushButton*>()) {
        button->setIcon({});
        if (button->text() == verb)
            setRole(button, "primary");
    }
    if (auto* number = dialog.findChild<QSpinBox*>()) {
        setRole(number, "field");
        number->setProperty("arrows", true);
    }
    return dialog.exec() == QDialog::Accepted;
}

} // namespace

/// For a class, with numbers of its own.
void MainWindow::exportHandout()
{
    QInputDialog asked(this);
    asked.setInputMode(QInputDialog::IntInput);
    asked.setLabelText(tr("Number of the paper (seed)\n\nNumbers that vary, and what an exam draws, are others on each paper; "
                          "the same number gives the same paper again."));
    asked.setIntRange(0, std::numeric_limits<int>::max());
    asked.setIntValue(1);
    if (!isAnswered(asked, tr("Hand-out"), tr("Save PDF…")))
        return;
    const int seed = asked.intValue();
    const QString name = QString::fromStdString(m_lesson->play()->lesson().id) + QStringLiteral(".pdf");
    const QString path = chooseSaveFile(this, tr("Hand-out"), name, tr("PDF (*.pdf)"));
    if (path.isEmpty())
        return;
    statusBar()->showMessage(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    m_fileExport.start(path, [path, file = m_lesson->play()->lesson().fileName, catalogue = m_session.catalogue(),
                              number = static_cast<std::uint64_t>(seed), version = QCoreApplication::applicationVersion()] {
        const sim::LessonPlay play(sim::readLesson(file, catalogue), number, catalogue);
        saveWhole(path, handoutPdf(play, number, version));
    });
    updateActions();
}

void MainWindow::exportResults()
{
    const QString key = QStringLiteral("lessons/learner");
    QInputDialog asked(this);
    asked.setLabelText(tr("Who answered; it may stay empty"));
    asked.setTextValue(userSettings().value(key).toString());
    if (!isAnswered(asked, tr("Lesson Results"), tr("Save Results…")))
        return;
    const QString learner = asked.textValue();
    if (!m_options.reproducible) {
        QSettings settings = userSettings();
        settings.setValue(key, learner);
        tellIfForgotten(isKept(settings));
    }
    const sim::Lesson& lesson = m_lesson->play()->lesson();
    const QString path = chooseSaveFile(this, tr("Lesson Results"), QString::fromStdString(lesson.id) + QStringLiteral(".csv"),
                                        tr("Tables (*.csv)") + QStringLiteral(";;") + tr("To be marked again (*.json)"));
    if (path.isEmpty())
        return;
    sim::LessonValue answers = m_lessonProgress->answers(lesson);
    answers["learner"] = learner.toStdString();
    m_fileExport.start(path, [path, file = lesson.fileName, catalogue = m_session.catalogue(), answers = std::move(answers),
                              seed = m_lessonProgress->seed(lesson), version = QCoreApplication::applicationVersion()] {
        const sim::Paper paper(sim::readLesson(file, catalogue), seed, catalogue);
        const sim::LessonValue results = sim::resultsOf(paper, {{answers, path.toStdString()}}, version.toStdString());
        const bool isTable = path.endsWith(QStringLiteral(".csv"), Qt::CaseInsensitive);
        saveWhole(path, QByteArray::fromStdString(isTable ? sim::resultsCsv({results}) : sim::prettyText(results)));
    });
    updateActions();
}

void MainWindow::recordLesson()
{
    if (!m_recorder) {
        const auto now = [this]() -> std::optional<RecordWindow::Now> {
            if (!m_session.isOpen() || !m_session.isLegal())
                return std::nullopt;
            return RecordWindow::Now{m_session.document(), sim::LessonValue::parse(viewStateJson(viewState()))};
        };
        m_recorder = new RecordWindow(m_session.catalogue(), now, this);
        m_recorder->setAttribute(Qt::WA_DeleteOnClose);
        connect(m_recorder, &RecordWindow::saved, this, [this](const QString& path) { tellSaved(path); });
    }
    m_recorder->show();
    m_recorder->raise();
}

RecordWindow* MainWindow::recorder() const
{
    return m_recorder;
}

/// What stands in place of numbers.
QString MainWindow::whyHidden() const
{
    return m_lesson->masks() ? tr("Hidden until you have answered.")
                             : tr("Hidden: it would tell what the lesson is still to ask.");
}

/// What tells numbers of the step says nothing while one of them is asked for.
void MainWindow::maskNumbers(bool masked)
{
    const QString why = whyHidden();
    m_details->setMasked(masked || m_lesson->tellsAhead(), why);
    // What is to be found would answer what is still to come.
    const bool asks = m_isInLesson && m_lesson->asksSomething();
    m_findings->setMasked(masked || asks, why);
    m_header->setMasked(!masked             ? QString()
                        : m_lesson->masks() ? tr("The name is hidden until you have answered.")
                                            : tr("The name is hidden: it would tell what the lesson is still to ask."),
                        !asks);
    m_workspace->setTimesMasked(masked);
    m_form->setEnabled(!masked); // settings would show in the pictures what is asked
    m_masksNumbers = masked;
    if (!m_lesson->masks()) {
        m_desk.askForSlice(false);
        m_desk.askForRanks(false);
    }
    m_workspace->setMasked(masked && m_lesson->showsWhatIsAsked());
    m_workspace->setOnly(masked ? m_lesson->pictures() : std::vector<Picture>(), why);
    if (OpsPanel* panel = m_ops.ifPlaced())
        panel->setVisible(!masked);
    if (asks) // what it finds would solve what is set, now or later
        m_planDock->hide();
    showStatus();
    showPointed();
    updateActions();
    updateTitle();
}

} // namespace app
