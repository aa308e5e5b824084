#include "app/shell/main_window.h"

#include "app/session/gallery.h"
#include "app/session/settings.h"
#include "app/shell/compare_page.h"
#include "app/shell/details_panel.h"
#include "app/shell/findings_panel.h"
#include "app/shell/format.h"
#include "app/shell/gallery_page.h"
#include "app/shell/live_panel.h"
#include "app/shell/problem_banner.h"
#include "app/shell/problem_page.h"
#include "app/shell/scenario_form.h"
#include "app/shell/scenario_header.h"

#include <QAction>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kBusyAfterMs = 150;
constexpr int kFormWidth = 324, kDetailsWidth = 308, kNarrowestDock = 292;

/// The one scenario file that is being dragged; empty if it is something else.
QString draggedFile(const QMimeData* mime)
{
    const QList<QUrl> urls = mime->urls();
    if (urls.size() != 1 || !urls.front().isLocalFile())
        return {};
    const QString path = urls.front().toLocalFile();
    return QFileInfo(path).suffix().toLower() == QLatin1String("json") ? path : QString();
}

QString countText(const Problems& problems)
{
    const auto errors =
        std::count_if(problems.begin(), problems.end(), [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
    if (errors > 0)
        return errors == 1 ? QObject::tr("1 problem")
                           : QObject::tr("%1 problems").arg(problemCount(static_cast<std::size_t>(errors)));
    const std::size_t warnings = problems.size();
    return warnings == 0   ? QString()
           : warnings == 1 ? QObject::tr("1 warning")
                           : QObject::tr("%1 warnings").arg(problemCount(warnings));
}

} // namespace

MainWindow::MainWindow(sim::Catalogue catalogue, const WindowOptions& options)
    : m_options(options), m_session(std::move(catalogue), options.reproducible ? QString() : autosaveFolder())
{
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
    readSettings();
    updateTitle();
    updateActions();
}

MainWindow::~MainWindow()
{
    // Parts go before what they refer to, and nobody tells anybody about it.
    m_run.reset();
    m_session.undoStack().disconnect(this);
    m_session.disconnect();
    m_simulator.disconnect();
    m_baseline.disconnect();
    for (QDockWidget* dock : {m_formDock, m_detailsDock, m_findingsDock}) {
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
    m_gallery = new GalleryPage;
    m_banner = new ProblemBanner;
    m_header = new ScenarioHeader(m_session);
    m_workspace = new Workspace(m_options.renderer);
    auto* workPage = new QWidget;
    auto* workColumn = new QVBoxLayout(workPage);
    workColumn->setContentsMargins(0, 0, 0, 0);
    workColumn->setSpacing(0);
    workColumn->addWidget(m_header);
    workColumn->addWidget(m_workspace, 1);
    m_pages = new QStackedWidget;
    m_pages->addWidget(m_gallery);
    m_pages->addWidget(workPage);
    m_live = new LivePanel(m_options.renderer);
    constexpr QSize kLeastLive{640, 420}; // it has the width of the docks too
    m_live->setMinimumSize(kLeastLive);
    m_pages->addWidget(m_live);
    m_compare = new ComparePage(m_session, m_baseline, m_options.renderer);
    m_pages->addWidget(m_compare);
    m_problemPage = new ProblemPage;
    m_pages->addWidget(m_problemPage);
    auto* middle = new QWidget;
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_banner);
    column->addWidget(m_pages, 1);
    setCentralWidget(middle);

    m_form = new ScenarioForm(m_session);
    m_form->setMinimumWidth(kNarrowestDock);
    m_details = new DetailsPanel;
    m_details->setMinimumWidth(kNarrowestDock);
    const auto dock = [this](const QString& title, const char* name, QWidget* content, Qt::DockWidgetArea area) {
        auto* out = new QDockWidget(title, this);
        out->setObjectName(QLatin1String(name));
        out->setWidget(content);
        out->hide();
        addDockWidget(area, out);
        return out;
    };
    m_formDock = dock(tr("SCENARIO"), "form", m_form, Qt::LeftDockWidgetArea);
    m_detailsDock = dock(tr("DETAILS"), "details", m_details, Qt::RightDockWidgetArea);
    buildFindings();
    resizeDocks({m_formDock, m_detailsDock}, {kFormWidth, kDetailsWidth}, Qt::Horizontal);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowTabbedDocks);
}

void MainWindow::buildStatusBar()
{
    m_pointedLabel = new QLabel;
    m_pointedLabel->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_problemsLabel = new QLabel;
    m_resultLabel = new QLabel;
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(m_pointedLabel, 1);
    statusBar()->addPermanentWidget(m_problemsLabel);
    statusBar()->addPermanentWidget(m_resultLabel);
}

void MainWindow::connectParts()
{
    connect(&m_session, &Session::opened, this, &MainWindow::sessionOpened);
    connect(&m_session, &Session::changed, this, &MainWindow::sessionChanged);
    connect(&m_session, &Session::fileChanged, this, &MainWindow::updateTitle);
    connect(&m_session.undoStack(), &QUndoStack::indexChanged, this, [this](int index) {
        if (index != m_historyIndex) // moves of one drag merge into one step and keep what they are compared to
            m_comparedTo = m_simulation ? std::optional(m_simulation->metrics()) : std::nullopt;
        m_historyIndex = index;
        updateActions();
    });
    connect(&m_simulator, &Simulator::finished, this, &MainWindow::showResult);
    connect(&m_simulator, &Simulator::kernelsReady, this,
            [this](const SimulationPtr& simulation, const TracePtr& kernels, const InstantsPtr& instants) {
                m_awaitsKernels = false;
                if (simulation == m_simulation && action(CommandId::showKernels)->isChecked())
                    m_workspace->setTrace(kernels, instants);
                showStatus();
                settleIfDone();
            });
    connect(&m_simulator, &Simulator::legalValuesReady, this, [this](const LegalValueTable& values) {
        m_awaitsLegalValues = false;
        m_form->setLegalValues(values);
        settleIfDone();
    });
    connect(&m_simulator, &Simulator::kernelsFailed, this, [this](const SimulationPtr& simulation, const QString& why) {
        m_awaitsKernels = false;
        if (simulation == m_simulation)
            m_banner->tell(tr("The kernels of this step cannot be shown"), {{{}, {}, why.toStdString(), sim::Severity::error}});
        showStatus();
        settleIfDone();
    });
    connect(&m_simulator, &Simulator::legalValuesFailed, this, [this] { // the form then knows no more than it did
        m_awaitsLegalValues = false;
        settleIfDone();
    });
    connect(&m_simulator, &Simulator::failed, this, [this](const QString& message) {
        m_awaitsResult = m_awaitsKernels = m_awaitsLegalValues = m_awaitsFindings = false;
        m_requested.reset();
        m_bannerTellsFailure = true;
        m_banner->tell(tr("This step cannot be simulated"), {{{}, {}, message.toStdString(), sim::Severity::error}});
        sayWhyNoStep(tr("This step cannot be simulated."));
        emit simulationFailed(message);
        settleIfDone();
    });
    connectComparison();
    connect(m_form, &ScenarioForm::layoutRuleChanged, this, &MainWindow::requestLegalValues);
    connect(&m_workspace->editor(), &OrderEditorPanel::saved, this, &MainWindow::saveOrder);
    connect(&m_workspace->editor(), &OrderEditorPanel::cancelled, this, [this] { editOrder(false); });
    connect(m_form, &ScenarioForm::chooseScheduleRequested, this, [this] { run(CommandId::chooseSchedule); });

    m_busyTimer.setSingleShot(true);
    m_busyTimer.setInterval(kBusyAfterMs);
    connect(&m_busyTimer, &QTimer::timeout, this, &MainWindow::showStatus);
    m_selectionTimer.setSingleShot(true); // many pointer moves, one update of labels
    m_selectionTimer.setInterval(0);
    connect(&m_selectionTimer, &QTimer::timeout, this, &MainWindow::showSelection);
    connect(m_workspace, &Workspace::picturesChanged, this, &MainWindow::updatePictureActions);
    connect(m_workspace, &Workspace::selectionChanged, &m_selectionTimer, qOverload<>(&QTimer::start));

    connect(m_gallery, &GalleryPage::openRequested, this, [this](const QString& path) {
        m_playsNext = openFile(path).empty() && !m_options.reproducible && !m_settings.reduceMotion;
    });
    connect(m_problemPage, &ProblemPage::openRequested, this, [this](const QString& path) { openFile(path); });
    connect(m_problemPage, &ProblemPage::openOtherRequested, this, &MainWindow::chooseFile);
    connect(m_problemPage, &ProblemPage::galleryRequested, this, &MainWindow::showGallery);
    connect(m_gallery, &GalleryPage::demoRequested, this, &MainWindow::startDemo);
    connect(m_gallery, &GalleryPage::openOtherRequested, this, &MainWindow::chooseFile);
    connect(m_gallery, &GalleryPage::recoverRequested, this, &MainWindow::recover);
    connect(&m_traceExport, &TraceExport::finished, this, [this](const QString& path, const QString& failure) {
        failure.isEmpty() ? tellSaved(path) : tellNotSaved(path, failure);
        updateActions();
    });
    connect(m_gallery, &GalleryPage::discardRequested, this, &MainWindow::discard);
    for (const auto& [dock, id] : {std::pair{m_formDock, CommandId::showForm},
                                   {m_detailsDock, CommandId::showDetails},
                                   {m_findingsDock, CommandId::showFindings}}) {
        connect(dock, &QDockWidget::visibilityChanged, this, [this, dock = dock, id = id] {
            if (isWorkspaceShown())
                action(id)->setChecked(!dock->isHidden());
        });
    }
}

Problems MainWindow::openFile(const QString& path, const QStringList& overrides)
{
    if (!mayLoseChanges())
        return {};
    Problems problems = m_session.open(path, overrides);
    if (!problems.empty()) {
        if (m_session.isOpen() || isLiveShown()) {
            m_banner->tell(tr("%1 cannot be opened").arg(QFileInfo(path).fileName()), problems);
        } else {
            const QString settings = Session::overridesText(overrides);
            const bool areToBlame = !settings.isEmpty() && QString::fromStdString(problems.front().file).endsWith(settings);
            m_problemPage->setProblems(path, problems, areToBlame ? settings : QString());
            showPage(m_problemPage);
            m_problemPage->setFocus();
        }
        return problems;
    }
    m_banner->dismiss();
    if (!m_options.reproducible)
        addRecentFile(m_session.path());
    return {};
}

bool MainWindow::isGalleryShown() const
{
    return m_pages->currentWidget() == m_gallery;
}

bool MainWindow::isProblemPageShown() const
{
    return m_pages->currentWidget() == m_problemPage;
}

bool MainWindow::isLiveShown() const
{
    return m_pages->currentWidget() == m_live;
}

void MainWindow::leaveWorkspace()
{
    if (!isWorkspaceShown())
        return;
    m_dockState = saveState();
}

void MainWindow::showGallery()
{
    refreshGallery();
    showPage(m_gallery);
    if (!m_options.reproducible)
        m_gallery->focusSearch();
}

/// A page that has the width of the docks too.
void MainWindow::showPage(QWidget* page)
{
    leaveWorkspace();
    m_pages->setCurrentWidget(page);
    m_formDock->hide();
    m_detailsDock->hide();
    m_findingsDock->hide();
    updateActions();
    updateTitle();
    showStatus();
}

void MainWindow::showLive()
{
    showPage(m_live);
    m_live->canvas(LivePicture::timelines).setFocus();
}

void MainWindow::showWorkspace()
{
    if (isWorkspaceShown())
        return;
    m_pages->setCurrentIndex(1);
    m_formDock->show();
    m_detailsDock->show();
    m_findingsDock->show();
    if (!m_dockState.isEmpty())
        restoreState(m_dockState);
    placeFindings();
    action(CommandId::showForm)->setChecked(!m_formDock->isHidden());
    action(CommandId::showDetails)->setChecked(!m_detailsDock->isHidden());
    action(CommandId::showFindings)->setChecked(!m_findingsDock->isHidden());
    m_workspace->canvas(Picture::timeline).setFocus();
    updateActions();
    updateTitle();
    showStatus();
}

void MainWindow::refreshGallery()
{
    if (m_gallery->isEmpty()) {
        auto entries = readGallery(findScenarios(m_session.catalogue()), m_session.catalogue());
        auto sections = sectionsOf(entries, m_session.catalogue().assets());
        m_gallery->setEntries(std::move(entries), std::move(sections));
    }
    if (m_options.reproducible)
        return;
    m_gallery->setRecentFiles(recentFiles());
    m_recoveries = Autosave::recoverable(autosaveFolder());
    m_gallery->setRecoveries(m_recoveries);
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
    Autosave::discard(m_recoveries.at(static_cast<std::size_t>(index)));
    refreshGallery();
}

void MainWindow::sessionOpened()
{
    m_simulation.reset();
    m_actionTrace.reset();
    m_actionInstants.reset();
    m_requested.reset();
    m_comparedTo.reset();
    m_showsViewNext = true;
    editOrder(false);
    m_workspace->startAnew();
    m_details->setSimulation(nullptr, std::nullopt);
    m_findings->clear();
    titleFindings({});
    sayWhyNoStep(tr("The scenario has problems; its form says which."));
    if (m_session.isOpen() && !isCompareShown())
        showWorkspace();
    updateActions();
}

void MainWindow::sessionChanged()
{
    updateTitle();
    updateActions();
    if (m_session.isLegal() && m_requested != *m_session.scenario()) {
        m_requested = *m_session.scenario();
        simulate();
    }
    requestLegalValues();
    showStatus();
    settleIfDone();
}

/// What pictures say in place of a step.
void MainWindow::sayWhyNoStep(const QString& why)
{
    if (m_simulation)
        return;
    m_workspace->setHint(why);
    m_compare->setCurrent(nullptr, nullptr, why);
}

void MainWindow::simulate()
{
    m_awaitsResult = true;
    sayWhyNoStep(tr("Simulating…"));
    m_awaitsKernels = m_awaitsFindings = false;
    m_busyTimer.start();
    m_simulator.request(*m_requested, action(CommandId::showEveryRank)->isChecked() && canShowEveryRank());
}

/// Beyond that, a row a rank is neither seen nor waited for.
bool MainWindow::canShowEveryRank() const
{
    constexpr int kMostRows = 512;
    return m_session.scenario() && m_session.scenario()->layout.worldSize() <= kMostRows;
}

void MainWindow::requestLegalValues()
{
    if (!m_session.isOpen() || !m_session.scenario())
        return;
    m_awaitsLegalValues = true;
    m_simulator.requestLegalValues(m_session.document(), m_session.catalogue(), *m_session.scenario(), m_form->layoutRule());
}

void MainWindow::showResult(const SimulationPtr& simulation, const TracePtr& actions, const InstantsPtr& instants)
{
    m_awaitsResult = false;
    m_busyTimer.stop();
    if (std::exchange(m_bannerTellsFailure, false))
        m_banner->dismiss();
    m_simulation = simulation;
    m_actionTrace = actions;
    m_actionInstants = instants;
    editOrder(false); // what was edited is the order of another step
    m_workspace->setResult(simulation, actions, instants);
    m_compare->setCurrent(simulation, actions);
    showMetrics();
    if (std::exchange(m_showsViewNext, false))
        applyViewState();
    requestFindings();
    if (action(CommandId::showKernels)->isChecked())
        showKernels(true);
    if (std::exchange(m_playsNext, false)) // the first thing to see of a scenario is that it moves
        m_workspace->playback().play();
    showStatus();
    updateActions();
    settleIfDone();
}

void MainWindow::showKernels(bool kernels)
{
    if (!m_simulation)
        return;
    if (kernels) {
        m_awaitsKernels = true;
        m_simulator.requestKernels(m_simulation);
    } else {
        m_workspace->setTrace(m_actionTrace, m_actionInstants);
    }
    showStatus();
}

void MainWindow::showSelection()
{
    const Selection& selection = m_workspace->selection();
    m_details->setRank(selection.focusRank());
    if (selection.selectedRank && selection.selectedRank != m_shownSelectedRank)
        m_details->scrollToRank();
    m_shownSelectedRank = selection.selectedRank;
    m_details->setSpan(m_workspace->trace(), selection.hoveredSpan ? selection.hoveredSpan : selection.selectedSpan);
    if (!isWorkspaceShown())
        return; // another page has the status bar
    const QString pointed = m_workspace->pointedText();
    m_pointedLabel->setText(pointed.isEmpty() ? tr("W S zoom · A D pan · drag measures · F frames · ? shows all keys") : pointed);
}

void MainWindow::showStatus()
{
    QStringList all;
    for (const sim::Problem& problem : m_session.problems())
        all << QString::fromStdString(problem.text());
    m_problemsLabel->setText(isWorkspaceShown() || isCompareShown() ? countText(m_session.problems()) : QString());
    m_problemsLabel->setToolTip(all.join(QLatin1Char('\n')));
    setRole(m_problemsLabel, m_session.isLegal() ? "warning" : "error");
    m_problemsLabel->setVisible(!m_problemsLabel->text().isEmpty());

    if (isCompareShown()) {
        m_pointedLabel->setText(tr("W S zoom · A D pan · Shift+X swaps A and B · while blending , and . go towards A and B"));
        m_resultLabel->setText(m_compare->headline());
        return;
    }
    if (!isWorkspaceShown()) {
        m_pointedLabel->setText(isLiveShown() ? tr("W S zoom · A D pan · a click on the curves chooses a step · ? shows all keys")
                                              : QString());
        m_resultLabel->setText(isLiveShown() && m_run ? m_run->status().headline : QString());
        return;
    }
    if ((m_awaitsResult || m_awaitsKernels) && !m_busyTimer.isActive()) {
        m_resultLabel->setText(tr("Simulating…"));
        return;
    }
    if (!m_simulation)
        return;
    const sim::Metrics& metrics = m_simulation->metrics();
    QString text = tr("Step %1").arg(durationQuantity(metrics.stepTimeSeconds).text());
    if (!m_options.reproducible)
        text += tr(", simulated in %1").arg(durationQuantity(metrics.wallMs * 1e-3).text());
    m_resultLabel->setText(text);
}

void MainWindow::settleIfDone()
{
    if (isSettled())
        emit settled();
}

void MainWindow::updateTitle()
{
    const bool shown = m_session.isOpen() && isWorkspaceShown();
    if (isLiveShown() || isCompareShown()) {
        setWindowTitle(isLiveShown() ? tr("Live – Rankscope") : tr("Comparison – Rankscope"));
        setWindowFilePath({});
        setWindowModified(false);
        return;
    }
    setWindowTitle(shown ? m_session.displayName() + QStringLiteral("[*] – Rankscope") : QStringLiteral("Rankscope"));
    setWindowFilePath(shown ? m_session.path() : QString());
    setWindowModified(shown && m_session.isModified());
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && m_banner->isVisible()) {
        m_banner->dismiss();
        return;
    }
    const Command* command = isStartShown() ? nullptr : canvasCommand(*event);
    if (command && !command->viewCommand) {
        run(command->id);
        return;
    }
    if (command && command->viewCommand && isLiveShown())
        m_live->runCommand(*command->viewCommand, event->modifiers() & Qt::ShiftModifier);
    else if (command && command->viewCommand && isCompareShown())
        m_compare->runCommand(*command->viewCommand, event->modifiers() & Qt::ShiftModifier);
    else if (command && command->viewCommand)
        m_workspace->runCommand(*command->viewCommand, event->modifiers() & Qt::ShiftModifier);
    else
        QMainWindow::keyPressEvent(event);
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!mayLoseChanges() || !mayEndRun()) {
        event->ignore();
        return;
    }
    m_run.reset(); // no process stays behind
    writeSettings();
    m_session.disconnect(this);
    m_session.close(); // unsaved work was given up: nothing to restore next time
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!draggedFile(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QString path = draggedFile(event->mimeData());
    const bool asBaseline = m_session.isOpen() && (isCompareShown() || (event->modifiers() & Qt::ShiftModifier));
    event->acceptProposedAction();
    // Later: a question about unsaved changes must not hold up the program it was dragged from.
    QMetaObject::invokeMethod(
        this, [this, path, asBaseline] { asBaseline ? compareWith(path) : openFile(path); }, Qt::QueuedConnection);
}

} // namespace app
