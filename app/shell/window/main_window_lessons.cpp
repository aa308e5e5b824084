// Lessons in the window: what the player's steps put on the desk, what is hidden while a question is open, and the way in and
// out.
#include "app/lessons/lesson_panel.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/problem_page.h"

#include <QAction>
#include <QDockWidget>
#include <QFileInfo>
#include <QStatusBar>

namespace app {
namespace {

constexpr int kTellPreparingMs = 4000;

} // namespace

void MainWindow::buildLesson()
{
    m_lessonProgress = std::make_unique<LessonProgress>(m_options.reproducible ? QString() : LessonProgress::usualPath());
    m_lesson = new LessonPanel(m_desk, *m_lessonProgress);
    m_lesson->setMinimumWidth(m_details->minimumWidth());
    m_lessonDock = new QDockWidget(tr("LESSON"), this);
    m_lessonDock->setObjectName(QStringLiteral("lesson"));
    m_lessonDock->setWidget(m_lesson);
    m_lessonDock->setFeatures(QDockWidget::NoDockWidgetFeatures); // left by its own button
    m_lessonDock->hide();
    addDockWidget(Qt::RightDockWidgetArea, m_lessonDock);
    connect(m_lesson, &LessonPanel::sceneChanged, this, &MainWindow::showScene);
    connect(m_lesson, &LessonPanel::maskChanged, this, &MainWindow::maskNumbers);
    connect(m_lesson, &LessonPanel::left, this, [this] {
        leaveLesson();
        m_gallery->setEntries({}, {}); // read anew, with how far one has come
        showGallery();
    });
    connect(m_lesson, &LessonPanel::anewRequested, this, [this] {
        m_lessonProgress->forget(m_lesson->play()->lesson().id);
        openLesson(QString::fromStdString(m_lesson->play()->lesson().fileName));
    });
    connect(m_lesson, &LessonPanel::finished, this, [this] { m_gallery->setEntries({}, {}); }); // read anew when it is shown
    connect(m_lesson, &LessonPanel::solutionRequested, this,
            [this](const sim::ScenarioDocument& solved) { m_session.replaceContent(solved, tr("the lesson's solution")); });
}

bool MainWindow::isLessonFile(const QString& path)
{
    QFile file(path);
    constexpr qint64 kBeginning = 4096;
    return QFileInfo(path).isFile() && file.open(QIODevice::ReadOnly) && file.read(kBeginning).contains("\"rankscope-lesson\"");
}

QString MainWindow::lessonPath(const QString& idOrPath) const
{
    if (QFileInfo::exists(idOrPath))
        return idOrPath;
    return QString::fromStdString((sim::lessonFolder(m_session.catalogue()) / (idOrPath.toStdString() + ".json")).string());
}

Problems MainWindow::openLesson(const QString& idOrPath)
{
    if (!mayLoseChanges())
        return {};
    const QString path = lessonPath(idOrPath);
    std::optional<sim::Lesson> lesson;
    Problems problems = problemsOf(path, [&]() -> Problems {
        lesson = sim::readLesson(path.toStdString(), m_session.catalogue());
        return {};
    });
    if (!problems.empty()) {
        if (m_session.isOpen()) {
            m_banner->tell(tr("%1 cannot be opened").arg(QFileInfo(path).fileName()), problems);
        } else {
            m_problemPage->setProblems(path, problems, {});
            showPage(m_problemPage);
        }
        return problems;
    }
    m_banner->dismiss();
    const auto due = m_lessonProgress->due(*lesson, QDateTime::currentDateTime());
    const bool onlyRemember = !due.empty();
    if (onlyRemember) {
        lesson->steps.clear();
        for (const sim::Question& question : lesson->remember)
            if (std::find(due.begin(), due.end(), question.id) != due.end()) {
                sim::LessonStep step;
                step.pointer = question.pointer;
                step.predict = question;
                lesson->steps.push_back(std::move(step));
            }
    }
    const QString title = QString::fromStdString(lesson->title);
    const std::uint64_t seed =
        onlyRemember ? static_cast<std::uint64_t>(QDateTime::currentMSecsSinceEpoch()) : m_lessonProgress->seed(lesson->id);
    leaveLesson();
    m_isInLesson = true;
    m_lesson->showPreparing(title);
    statusBar()->showMessage(tr("The engine works out the answers of “%1”…").arg(title), kTellPreparingMs);
    m_lessonWorker.ask(
        0,
        [lesson = std::move(*lesson), seed, catalogue = m_session.catalogue()] {
            return std::make_shared<sim::LessonPlay>(lesson, seed, catalogue);
        },
        [this, onlyRemember](const std::shared_ptr<sim::LessonPlay>& play) {
            m_lesson->start(play, onlyRemember);
            if (!m_session.isOpen()) // nothing to show yet: the words alone
                showLessonDock();
        },
        [this, path](const QString& why) {
            leaveLesson();
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

/// In front of the numbers, beside the pictures.
void MainWindow::showLessonDock()
{
    if (!m_lessonDock->isFloating() && !m_unfolded && !m_detailsDock->isFloating()) {
        tabifyDockWidget(m_detailsDock, m_lessonDock);
        resizeDocks({m_lessonDock}, {kLessonWidth}, Qt::Horizontal);
    }
    m_lessonDock->show();
    tidyDockTabs(*this);
    m_lessonDock->raise();
}

void MainWindow::leaveLesson()
{
    if (!m_isInLesson)
        return;
    m_lessonWorker.dropAll();
    m_isInLesson = m_showsScene = false;
    m_lesson->stop();
    maskNumbers(false);
    m_lessonDock->hide();
    if (m_baseline.isPinned() && m_lessonPinned)
        m_baseline.unpin();
    m_lessonPinned = false;
}

void MainWindow::showScene(const LessonScene& scene)
{
    // What is on screen may be somebody's own: opened before the lesson was ready, or saved in the middle of it.
    const bool isOwn = !m_showsScene || !m_session.path().isEmpty();
    if (scene.shown != nullptr && isOwn && !mayLoseChanges())
        return;
    if (m_baseline.isPinned() && (m_lessonPinned || scene.compared != nullptr || scene.shown != nullptr)) {
        m_baseline.unpin();
        m_lessonPinned = false;
    }
    if (scene.shown != nullptr) {
        sim::ScenarioDocument document = *scene.shown;
        if (!scene.view.is_null())
            document.set("/view", scene.view.dump());
        document.setFileName({});
        m_showsScene = true;
        m_opensScene = true;
        m_session.show(document);
        m_opensScene = false;
        showWorkspace();
        m_showsViewNext = true;
        m_playsNext = scene.play && !m_options.reproducible && !m_settings.reduceMotion;
    }
    showLessonDock();
    if (scene.compared != nullptr) {
        const auto name = scene.compared->get("/name");
        const auto problems = m_baseline.compareWith(name ? QString::fromStdString(unquoted(*name)) : tr("before"),
                                                     *scene.compared, m_session.catalogue());
        m_lessonPinned = problems.empty();
        if (!problems.empty())
            m_banner->tell(tr("There is nothing to compare with"), problems);
    }
}

/// What tells numbers of the step says nothing while one of them is asked for.
void MainWindow::maskNumbers(bool masked)
{
    m_details->setMasked(masked);
    m_findings->setMasked(masked);
    m_header->setVisible(!masked);
    m_form->setEnabled(!masked); // settings would show in the pictures what is asked
    m_masksNumbers = masked;
    showStatus();
}

} // namespace app
