#include "app/shell/window/main_window.h"

#include "app/lessons/lesson_panel.h"
#include "app/lessons/record_window.h"
#include "app/session/gallery.h"
#include "app/session/settings.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/ops/ops_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/presentation/presentation.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/focus_habit.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/layout_habit.h"
#include "app/shell/widgets/mnemonic_habit.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/window/problem_page.h"

#include <QAction>
#include <QCloseEvent>
#include <QDockWidget>
#include <QLayout>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStatusBar>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kBusyAfterMs = 150;

std::vector<PrepareFunction> prepareFunctions()
{
    std::vector<PrepareFunction> out;
    for (const PictureInfo& info : pictures())
        out.emplace_back(info.prepare ? PrepareFunction(info.prepare) : PrepareFunction());
    return out;
}

} // namespace

MainWindow::MainWindow(sim::Catalogue catalogue, const WindowOptions& options)
    : m_options(options), m_desk(std::move(catalogue), options.reproducible ? QString() : autosaveFolder(), prepareFunctions()),
      m_session(m_desk.session()), m_baseline(m_desk.baseline())
{
    new FocusHabit(this);
    new LayoutHabit(this);
    new MnemonicHabit(this);
    // Before the widgets: they measure themselves with its fonts, and none has to be styled twice.
    applyStyle(themeFor(startTheme()), assetsPath());
    setAcceptDrops(true);
    setWindowIcon(QIcon(assetsPath() + QStringLiteral("/icons/rankscope.svg")));
    buildPages();
    buildActions();
    buildMenus();
    buildToolBar();
    buildStatusBar();
    connectParts();
    readHelp();
    readSettings();
    updateTitle();
    updateActions();
}

MainWindow::~MainWindow()
{
    m_textSize.set(kSmallestSizePercent); // while there is a window to be laid out anew
    // Parts go before what they refer to, and nobody tells anybody about it.
    m_lessonWorker.stop();
    if (m_presentation)
        m_presentation->disconnect(m_lesson);
    delete m_presentation;
    m_run.reset();
    m_session.undoStack().disconnect(this);
    m_session.disconnect(this);
    m_baseline.disconnect(this);
    m_desk.disconnect(this);
    m_workspace->disconnect(this);
    for (QDockWidget* dock : {m_formDock, m_detailsDock, m_findingsDock, m_lessonDock, m_opsDock, m_planDock}) {
        dock->disconnect(this);
        delete dock;
    }
    delete takeCentralWidget();
}

QString MainWindow::assetsPath() const
{
    return QString::fromStdString(m_session.catalogue().assets().string());
}

void MainWindow::buildPages()
{
    // From the outside in: a widget that moves into another has all that is in it styled again.
    auto* middle = new QWidget(this);
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    setCentralWidget(middle);
    m_banner = new ProblemBanner(middle);
    connect(m_banner, &ProblemBanner::openRequested, this, [this](const QString& path) { openFile(path); });
    column->addWidget(m_banner);
    m_pages = new QStackedWidget(middle);
    m_pages->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored); // no page keeps the window large: pages fold or scroll
    column->addWidget(m_pages, 1);
    const auto addLate = [this](auto& page, auto build) {
        auto* area = new LateArea([this, build](QWidget* parent) { return (this->*build)(parent); }, m_pages);
        setRole(area, "clear");
        m_pages->addWidget(area);
        page.setArea(area);
    };
    addLate(m_gallery, &MainWindow::buildGallery);
    auto* workPage = new QWidget(m_pages);
    auto* workColumn = new QVBoxLayout(workPage);
    workColumn->setContentsMargins(0, 0, 0, 0);
    workColumn->setSpacing(0);
    m_header = new ScenarioHeader(m_session, workPage);
    workColumn->addWidget(m_header);
    m_workspace = new Workspace(m_desk, m_options.renderer, workPage);
    workColumn->addWidget(m_workspace, 1);
    m_pages->addWidget(workPage);
    addLate(m_live, &MainWindow::buildLive);
    addLate(m_recorded, &MainWindow::buildRecorded);
    addLate(m_compare, &MainWindow::buildCompare);
    addLate(m_problemPage, &MainWindow::buildProblemPage);

    const auto dock = [this](const QString& title, const char* name) {
        auto* out = new QDockWidget(title, this);
        out->setObjectName(QLatin1String(name));
        out->hide();
        return out;
    };
    m_formDock = dock(tr("SCENARIO"), "form");
    m_form = new ScenarioForm(m_session, m_formDock);
    m_form->setMinimumWidth(kNarrowestDock);
    setContents(*m_formDock, *m_form);
    addDockWidget(Qt::LeftDockWidgetArea, m_formDock);
    m_detailsDock = dock(tr("DETAILS"), "details");
    m_details = new DetailsPanel(m_detailsDock);
    m_details->setMinimumWidth(kNarrowestDock);
    m_detailsDock->setWidget(m_details);
    addDockWidget(Qt::RightDockWidgetArea, m_detailsDock);
    buildFindings();
    buildLesson();
    addDocksBelow();
    resizeDocks({m_formDock, m_detailsDock}, {kFormWidth, kDetailsWidth}, Qt::Horizontal);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setDockOptions(QMainWindow::AllowTabbedDocks); // not animated: every size on the way would arrange the pictures anew
}

GalleryPage* MainWindow::buildGallery(QWidget* parent)
{
    auto* out = new GalleryPage(parent);
    out->setTheme(themeFor(m_settings.theme));
    out->setReducedMotion(m_settings.reduceMotion);
    connect(out, &GalleryPage::openRequested, this, [this](const QString& path) {
        // What is read and what is shown are turns of their own: together they hold the window longer than one should.
        m_showsWorkspaceNext = true;
        const bool isGood = openFile(path).empty();
        // Nothing plays of what was not opened after all: the question about changes may have been answered with Cancel.
        m_playsNext = isGood && m_session.path() == path && !m_options.reproducible && !m_settings.reduceMotion;
        m_showsWorkspaceNext = false;
    });
    connect(out, &GalleryPage::demoRequested, this, &MainWindow::startDemo);
    connect(out, &GalleryPage::openOtherRequested, this, &MainWindow::chooseFile);
    connect(out, &GalleryPage::recoverRequested, this, &MainWindow::recover);
    connect(out, &GalleryPage::discardRequested, this, &MainWindow::discard);
    return out;
}

ProblemPage* MainWindow::buildProblemPage(QWidget* parent)
{
    auto* out = new ProblemPage(parent);
    connect(out, &ProblemPage::openRequested, this, [this](const QString& path) { openFile(path); });
    connect(out, &ProblemPage::openOtherRequested, this, &MainWindow::chooseFile);
    connect(out, &ProblemPage::galleryRequested, this, &MainWindow::showGallery);
    return out;
}

void MainWindow::connectParts()
{
    connectDesk();
    connectComparison();
    connect(&m_workspace->editor(), &OrderEditorPanel::saved, this, &MainWindow::saveOrder);
    connect(&m_workspace->editor(), &OrderEditorPanel::cancelled, this, &MainWindow::giveUpOrder);
    connect(&m_workspace->editor(), &OrderEditorPanel::moved, this, &MainWindow::updateActions);
    connect(m_header, &ScenarioHeader::renameRequested, this, [this] { run(CommandId::nameScenario); });
    connect(m_form, &ScenarioForm::planRequested, this, [this](const QString& pointer, bool frees) {
        m_planDock->show();
        m_planDock->raise();
        frees ? m_plan->planAlone(pointer.toStdString()) : m_plan->planAround(pointer.toStdString());
        updateActions();
    });
    connect(m_form, &ScenarioForm::chooseScheduleRequested, this, [this] { run(CommandId::chooseSchedule); });

    m_busyTimer.setSingleShot(true);
    m_busyTimer.setInterval(kBusyAfterMs);
    connect(&m_busyTimer, &QTimer::timeout, this, &MainWindow::showStatus);
    constexpr int kGatherMs = 150;
    m_textSizeTimer.setSingleShot(true);
    m_textSizeTimer.setInterval(kGatherMs);
    connect(&m_textSizeTimer, &QTimer::timeout, this, &MainWindow::takeTextSize);
    m_pointedTimer.setSingleShot(true); // many pointer moves, one update of labels
    m_pointedTimer.setInterval(0);
    connect(&m_pointedTimer, &QTimer::timeout, this, &MainWindow::showPointed);
    connect(m_workspace, &Workspace::picturesChanged, this, &MainWindow::updateActions);
    connect(m_workspace, &Workspace::steppingLeft, this, [this] {
        m_workspace->setStepping(false);
        updateActions();
    });

    connect(&m_fileExport, &FileExport::finished, this, [this](const QString& path, const QString& failure) {
        failure.isEmpty() ? tellSaved(path) : tellNotSaved(path, failure);
        updateActions();
    });
    for (const auto& [dock, id] : {std::pair{m_formDock, CommandId::showForm},
                                   {m_detailsDock, CommandId::showDetails},
                                   {m_findingsDock, CommandId::showFindings},
                                   {m_opsDock, CommandId::showOps},
                                   {m_planDock, CommandId::showPlan}}) {
        connect(dock, &QDockWidget::visibilityChanged, this, [this, dock = dock, id = id] {
            if (isWorkspaceShown())
                action(id)->setChecked(!dock->isHidden());
        });
    }
}

void MainWindow::connectDesk()
{
    m_form->follow(m_desk);
    m_details->follow(m_desk);
    m_findings->follow(m_desk);
    connect(&m_desk, &Desk::opened, this, &MainWindow::deskOpened);
    connect(&m_desk, &Desk::stepChanged, this, &MainWindow::stepChanged);
    const auto showPointedSoon = [this] { m_pointedTimer.start(); };
    for (const auto changed : {&Desk::opened, &Desk::stepChanged, &Desk::detailChanged})
        connect(&m_desk, changed, this, showPointedSoon);
    connect(&m_desk, &Desk::selectionChanged, this, [showPointedSoon](bool onlyCursor) {
        if (!onlyCursor)
            showPointedSoon();
    });
    connect(&m_desk, &Desk::comparedToChanged, this, &MainWindow::updateActions);
    connect(&m_desk, &Desk::waits, this, [this] {
        if (!m_desk.isSimulating())
            m_busyTimer.stop();
        else if (!m_busyTimer.isActive())
            m_busyTimer.start();
        showStatus();
    });
    connect(&m_desk, &Desk::stepFailed, this, [this](const QString& message) {
        m_bannerTellsFailure = true;
        m_banner->tell(m_desk.simulation() ? tr("This step cannot be simulated; numbers and pictures are of the one before")
                                           : tr("This step cannot be simulated"),
                       {{{}, {}, message.toStdString(), sim::Severity::error}});
    });
    connect(&m_desk, &Desk::kernelsFailed, this, [this](const QString& why) {
        m_banner->tell(tr("The kernels of this step cannot be shown"), {{{}, {}, why.toStdString(), sim::Severity::error}});
    });
    connect(&m_session, &Session::changed, this, [this] {
        if (!m_isInLesson)
            m_showsScene = false; // somebody goes on with what a lesson left
        updateTitle();
        updateActions();
        showStatus();
    });
    connect(&m_session, &Session::fileChanged, this, &MainWindow::updateTitle);
    connect(&m_session, &Session::notKeptSafe, this, [this] {
        m_banner->tell(tr("Unsaved work is not kept safe"),
                       {{{},
                         {},
                         tr("%1 cannot be written: should the program end, changes since the last save are lost")
                             .arg(QDir::toNativeSeparators(autosaveFolder()))
                             .toStdString(),
                         sim::Severity::warning}});
    });
    connect(&m_session.undoStack(), &QUndoStack::indexChanged, this, &MainWindow::updateActions);
}

GalleryPage& MainWindow::gallery()
{
    return *m_gallery;
}

ProblemPage& MainWindow::problemPage()
{
    return *m_problemPage;
}

OpsPanel& MainWindow::ops()
{
    return *m_ops;
}

PlanPanel& MainWindow::planner()
{
    return *m_plan;
}

LivePanel& MainWindow::live()
{
    return *m_live;
}

RecordedPanel& MainWindow::recorded()
{
    return *m_recorded;
}

ComparePage& MainWindow::comparePage()
{
    return *m_compare;
}

bool MainWindow::isShown(const LateArea* page) const
{
    return m_pages->currentWidget() == page;
}

bool MainWindow::isGalleryShown() const
{
    return isShown(m_gallery.area());
}

bool MainWindow::isProblemPageShown() const
{
    return isShown(m_problemPage.area());
}

bool MainWindow::isLiveShown() const
{
    return isShown(m_live.area());
}

void MainWindow::leaveWorkspace()
{
    if (!isWorkspaceShown())
        return;
    m_belowShown = {!m_opsDock->isHidden(), !m_planDock->isHidden()};
    m_dockState = dockState();
    m_unfolded.reset();
}

void MainWindow::showGallery()
{
    refreshGallery();
    showPage(*m_gallery.area());
    if (!m_options.reproducible)
        m_gallery->focusSearch();
}

/// A page that has the width of the docks too.
void MainWindow::showPage(LateArea& page)
{
    leaveWorkspace();
    page.place(); // before it is seen, to have the focus then
    m_pages->setCurrentWidget(&page);
    m_formDock->hide();
    m_detailsDock->hide();
    m_findingsDock->hide();
    m_lessonDock->hide();
    m_opsDock->hide();
    m_planDock->hide();
    updateActions();
    updateTitle();
    showStatus();
}

void MainWindow::showLive()
{
    m_live->setKernels(m_desk.wantsKernels());
    showPage(*m_live.area());
    if (m_isInLesson) { // which says what to compare, and goes on
        m_lessonDock->show();
        resizeDocks({m_lessonDock}, {kLessonWidth}, Qt::Horizontal);
    }
    m_live->canvas(LivePicture::timelines).setFocus();
}

void MainWindow::leavePage()
{
    if (!m_session.isOpen())
        return showGallery();
    showWorkspace();
    m_workspace->canvas(m_workspace->lastUsedPicture()).setFocus(); // not a button of the bar, which Space would press
}

void MainWindow::showWorkspace()
{
    if (isWorkspaceShown())
        return;
    m_workspace->hide();         // until it has its room: pictures are arranged for the room there is, and it is another before
    layout()->setEnabled(false); // each dock would lay out the others anew
    m_pages->setCurrentIndex(1);
    m_formDock->show();
    m_detailsDock->show();
    m_findingsDock->show();
    layout()->setEnabled(true);
    layout()->activate();
    m_workspace->show();
    if (!m_dockState.isEmpty() && restoreDocks(m_dockState)) {
        m_findingsAreTab = tabifiedDockWidgets(m_detailsDock).contains(m_findingsDock);
        m_belowAreTabs = false;
    }
    if (m_belowShown) { // a narrow window's state is that of a wide one, which may not have had them
        m_opsDock->setVisible(m_belowShown->at(0));
        m_planDock->setVisible(m_belowShown->at(1));
    }
    m_lessonDock->setVisible(m_isInLesson);
    m_unfolded.reset();
    foldDocks();
    if (m_unfolded && !m_dockState.isEmpty())
        m_unfolded = m_dockState; // not what a narrow window made of it
    placeFindings();
    action(CommandId::showForm)->setChecked(!m_formDock->isHidden());
    action(CommandId::showDetails)->setChecked(!m_detailsDock->isHidden());
    action(CommandId::showFindings)->setChecked(!m_findingsDock->isHidden());
    action(CommandId::showOps)->setChecked(!m_opsDock->isHidden());
    action(CommandId::showPlan)->setChecked(!m_planDock->isHidden());
    m_workspace->canvas(Picture::timeline).setFocus();
    updateActions();
    updateTitle();
    m_pointedTimer.start();
    showStatus();
    QTimer::singleShot(0, this, &MainWindow::foldDocks); // as narrow as they can be only where they have been laid out
}

void MainWindow::refreshGallery()
{
    if (m_gallery->isEmpty()) {
        auto entries = readGallery(m_session.catalogue().scenarios(), m_session.catalogue());
        auto sections = sectionsOf(entries, m_session.catalogue().assets());
        addLessons(entries, sections, m_session.catalogue(), *m_lessonProgress);
        m_gallery->setEntries(std::move(entries), std::move(sections));
    }
    if (m_options.reproducible)
        return;
    m_gallery->setRecentFiles(recentFiles());
    m_recoveries = Autosave::recoverable(autosaveFolder());
    m_gallery->setRecoveries(m_recoveries);
}

/// They are read anew when it is shown, with how far one has come in the lessons; at once where it is in front.
void MainWindow::forgetGalleryEntries()
{
    if (GalleryPage* page = m_gallery.ifPlaced())
        page->setEntries({}, {});
    if (isGalleryShown())
        refreshGallery();
}

void MainWindow::recover(int index)
{
    const Recovery recovery = m_recoveries.at(static_cast<std::size_t>(index));
    if (!mayLoseChanges())
        return;
    if (const Problems problems = m_session.recover(recovery); !problems.empty())
        m_banner->tell(tr("The unsaved work cannot be read"), problems);
}

void MainWindow::discard(int index)
{
    Autosave::discard(m_recoveries.at(static_cast<std::size_t>(index)).autosaveFile);
    refreshGallery();
}

void MainWindow::deskOpened()
{
    m_showsViewNext = true;
    giveUpOrder();
    if (!m_opensScene) { // somebody opened something else
        m_showsScene = false;
        leaveLesson();
    }
    if (m_baseline.isPinned() && m_session.isOpen() && !m_options.reproducible) // what it asks about is seen behind the question
        QMetaObject::invokeMethod(this, &MainWindow::partFromBaseline, Qt::QueuedConnection);
    else
        partFromBaseline();
    if (m_session.isOpen() && !isCompareShown()) {
        if (m_showsWorkspaceNext) {
            m_workspace->letBeSeen();
            QMetaObject::invokeMethod(
                this,
                [this] {
                    if (m_session.isOpen() && isGalleryShown())
                        showWorkspace();
                },
                Qt::QueuedConnection);
        } else {
            showWorkspace();
        }
    }
    updateActions();
}

void MainWindow::stepChanged()
{
    if (std::exchange(m_bannerTellsFailure, false))
        m_banner->dismiss();
    followOrder();
    if (std::exchange(m_showsViewNext, false))
        applyViewState();
    m_workspace->bringToFront(std::exchange(m_frontNext, {}));
    if (m_inFrontNext && isWorkspaceShown() && m_workspace->isVisible()) {
        const Picture asked = *std::exchange(m_inFrontNext, std::nullopt);
        m_workspace->setPictureVisible(asked, true);
        if (!m_isInLesson) // there the lesson says who has the keys
            m_workspace->canvas(asked).setFocus();
    }
    if (m_plansNext && isWorkspaceShown() && m_workspace->isVisible()) {
        m_plansNext = false;
        m_planDock->show();
        m_planDock->raise();
        m_plan->start();
    }
    if (std::exchange(m_playsNext, false)) // the first thing to see of a scenario is that it moves
        m_desk.playback().play();
    updateActions();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!mayLoseChanges() || !mayEndRun() || (m_recorder != nullptr && !m_recorder->close())) { // it asks for its steps itself
        event->ignore();
        return;
    }
    m_run.reset();        // no process stays behind
    m_lesson->keepOpen(); // it goes on next time
    giveWidthBack();
    m_workspace->putBack(); // a lesson that goes on next time leaves no picture that was hidden
    writeSettings();
    m_session.disconnect(this);
    m_desk.disconnect(this);
    m_session.close(); // unsaved work was given up: nothing to restore next time
    event->accept();
}

} // namespace app
