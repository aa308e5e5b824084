// The window's docks: where form, numbers and findings stand, and what findings point at in the pictures.
#include "app/shell/details/details_panel.h"
#include "app/shell/dialogs/settings_dialog.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/ops/ops_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/widgets/kept_focus.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/main_window.h"

#include <QAction>
#include <QDockWidget>
#include <QEvent>
#include <QLayout>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>

#include <algorithm>
#include <array>
#include <utility>

namespace app {
namespace {

/// In lower windows findings share their place with the numbers.
constexpr int kHighEnoughForBoth = 820;
/// Lower, findings below the numbers cannot be read.
constexpr int kLowestFindings = 220;
/// In narrower ones all three share one.
constexpr int kWideEnoughForSides = 1240;
/// In lower ones that are narrow too, nothing lies below the pictures.
constexpr int kHighEnoughForBelow = 560;
/// What lies below them leaves the pictures so much, with the head above and the bar that plays the step.
constexpr int kLeastPictures = 246;
/// Of the table of ops, as it is first shown.
constexpr int kOpsHeight = 260;
/// And of the plan, which has pictures.
constexpr int kPlanHeight = 440;
constexpr int kTellPlanMs = 8000;
/// And in these, text twice as large on a small screen, the pictures need what it can spare.
constexpr int kVeryNarrow = 640;

} // namespace

void MainWindow::buildFindings()
{
    m_findings = new FindingsPanel;
    m_findings->setMinimumWidth(m_details->minimumWidth());
    m_findingsDock = new QDockWidget(tr("FINDINGS"), this);
    m_findingsDock->setObjectName(QStringLiteral("findings"));
    m_findingsDock->setWidget(m_findings);
    m_findingsDock->hide();
    addDockWidget(Qt::RightDockWidgetArea, m_findingsDock);
    connect(m_findings, &FindingsPanel::showRequested, this, &MainWindow::showHint);
    connect(m_findings, &FindingsPanel::changed, this, [this] {
        const int count = m_findings->isMasked() ? 0 : m_findings->complaints();
        m_findingsDock->setWindowTitle(count == 0 ? tr("FINDINGS") : tr("FINDINGS · %1").arg(count));
    });
    connect(m_details, &DetailsPanel::showRequested, this, &MainWindow::showHint);
    connect(m_details, &DetailsPanel::priceRequested, this, [this] { openSettings().askForPrice(); });
    connect(m_workspace, &Workspace::showRequested, this, &MainWindow::showHint);
    connect(m_workspace, &Workspace::cleared, this, &MainWindow::takeHintBack);
    connect(&m_desk, &Desk::opened, this, &MainWindow::takeHintBack);
}

/// Table of ops and plan, below the pictures, between the other docks; asked for, they are shown.
void MainWindow::addDocksBelow()
{
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    const auto add = [this](auto& page, const QString& title, const char* name, auto build) {
        auto* const dock = new LateDock(
            title, name, [this, build] { return (this->*build)(); }, this);
        page.setArea(dock);
        addDockWidget(Qt::BottomDockWidgetArea, dock);
        m_heightsBelow[dock] = 0;
        dock->installEventFilter(this);
        return dock;
    };
    m_opsDock = add(m_ops, tr("TABLE OF OPS"), "ops", &MainWindow::buildOps);
    resizeDocks({m_opsDock}, {kOpsHeight}, Qt::Vertical);
    m_planDock = add(m_plan, tr("PLAN"), "plan", &MainWindow::buildPlan);
    connect(m_planDock, &QDockWidget::visibilityChanged, this, [this, isFirst = true](bool seen) mutable {
        if (!seen || !std::exchange(isFirst, false)) // from then on it is as high as it was made
            return;
        if (m_planDock->height() < kPlanHeight && !m_planDock->isFloating() && !m_belowAreTabs)
            resizeDocks({m_planDock}, {std::min(std::max(kPlanHeight, height() * 45 / 100), height() * 6 / 10)}, Qt::Vertical);
    });
}

OpsPanel* MainWindow::buildOps()
{
    auto* out = new OpsPanel;
    out->setMinimumWidth(kNarrowestDock); // it folds: wider it would push the pictures out of a narrow window
    out->setTheme(themeFor(m_settings.theme));
    out->follow(m_desk);
    if (m_masksNumbers) // else its dock shows it: before that it would be a window of its own
        out->hide();
    connect(out, &OpsPanel::spanRequested, this, [this](SpanRef span) { m_workspace->selectSpan(span); });
    connect(out, &OpsPanel::kernelsRequested, this, [this] { run(CommandId::showKernels); });
    connect(out, &OpsPanel::saved, this, &MainWindow::tellSaved);
    connect(out, &OpsPanel::failed, this, &MainWindow::tellNotSaved);
    return out;
}

PlanPanel* MainWindow::buildPlan()
{
    auto* out = new PlanPanel(m_desk, m_options.renderer);
    out->setTheme(themeFor(m_settings.theme));
    out->setPrice(m_settings.gpuHourPrice);
    connect(out, &PlanPanel::compareRequested, this, &MainWindow::compareWithPlan);
    connect(out, &PlanPanel::opened, this, [this](const QString& layout) {
        statusBar()->showMessage(tr("The scenario is now %1. Ctrl+Z brings back what it was.").arg(layout), kTellPlanMs);
        connect(
            &m_session.undoStack(), &QUndoStack::indexChanged, this, [this] { statusBar()->clearMessage(); },
            Qt::SingleShotConnection); // then it is another
    });
    return out;
}

void MainWindow::showPlan()
{
    m_plansNext = true;
}

/// Beside the scenario as it is: the layout is the baseline unless there is one.
void MainWindow::compareWithPlan(const QString& name, const sim::ScenarioDocument& document)
{
    const bool isFirst = !m_baseline.isPinned();
    const Problems problems = isFirst ? m_baseline.compareWith(name, document, m_session.catalogue())
                                      : m_desk.lineup().add(name, document, m_session.catalogue());
    if (!problems.empty()) {
        tellNotComparable(name, problems);
        return;
    }
    if (isFirst) {
        m_baselineOf = m_session.path();
        m_baselineIsWanted = false;
    }
    showCompare();
}

bool MainWindow::findingsAreMoved() const
{
    return m_findingsDock->isFloating() || m_detailsDock->isFloating() ||
           dockWidgetArea(m_findingsDock) != dockWidgetArea(m_detailsDock);
}

/// Below the numbers where there is room for both, else behind them; behind a lesson, too, which needs the height.
void MainWindow::placeFindings()
{
    const KeptFocus focus(*this);
    const bool wantsTab = m_isInLesson || height() < kHighEnoughForBoth;
    m_findings->setMinimumHeight(m_unfolded || wantsTab || findingsAreMoved() ? 0 : kLowestFindings);
    if (m_unfolded || !m_placesFindings || findingsAreMoved() || !isWorkspaceShown() || wantsTab == m_findingsAreTab)
        return;
    m_findingsAreTab = wantsTab;
    if (wantsTab) {
        tabifyDockWidget(m_detailsDock, m_findingsDock);
        bringForward(*m_detailsDock);
    } else {
        const bool wasShown = !m_findingsDock->isHidden();
        removeDockWidget(m_findingsDock); // splitting what is a tab leaves it one
        addDockWidget(Qt::RightDockWidgetArea, m_findingsDock, Qt::Vertical);
        m_findingsDock->setVisible(wasShown);
        resizeDocks({m_detailsDock, m_findingsDock}, {1, 1}, Qt::Vertical);
    }
    tidyDockTabs(*this);
}

void MainWindow::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    fitToolBar();
    if (std::exchange(m_foldsSoon, true))
        return;
    // In a turn of its own: docks that are moved while they are being laid out are lost to their layout.
    QMetaObject::invokeMethod(
        this,
        [this] {
            m_foldsSoon = false;
            foldDocks();
            placeFindings();
            giveHeightsBack();
        },
        Qt::QueuedConnection);
}

/// Docks that come to share a place, as when a layout is restored, get a tab bar that knows nothing of ours.
bool MainWindow::event(QEvent* event)
{
    if ((event->type() == QEvent::LayoutRequest || event->type() == QEvent::ChildPolished) && !m_tidiesTabs) {
        m_tidiesTabs = true;
        QTimer::singleShot(0, this, [this] {
            tidyDockTabs(*this);
            m_tidiesTabs = false;
        });
    }
    return QMainWindow::event(event);
}

/// In a narrow window form, numbers and findings lie behind each other at the left; as they were when it is wide again.
void MainWindow::foldDocks()
{
    const KeptFocus focus(*this);
    const bool isNarrow = width() < kWideEnoughForSides;
    if (isWorkspaceShown() && isNarrow != m_unfolded.has_value())
        setFolded(isNarrow);
    foldBelow();
    if (!m_unfolded)
        return;
    const auto resizeFolded = [this](int width) {
        QList<QDockWidget*> folded{m_formDock, m_detailsDock, m_findingsDock, m_lessonDock};
        if (m_belowAreTabs)
            folded << m_opsDock << m_planDock;
        resizeDocks(folded, QList<int>(folded.size(), width), Qt::Horizontal);
    };
    if (width() < kVeryNarrow) {
        if (!m_widthUnsqueezed)
            m_widthUnsqueezed = std::max(m_formDock->width(), kFormWidth);
        resizeFolded(kNarrowestDock);
    } else if (m_widthUnsqueezed) { // or texts would stay shortened when large text is usual again
        resizeFolded(*std::exchange(m_widthUnsqueezed, std::nullopt));
    }
}

/// Only there are docks as high as they are wanted: others are squeezed, or lie behind each other.
bool MainWindow::hasRoomForDocks() const
{
    return isWorkspaceShown() && !m_unfolded && width() >= kWideEnoughForSides && height() >= kHighEnoughForBelow;
}

/// One that changes while its window keeps its size has been pulled at.
bool MainWindow::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize && size() == m_laidOutSize && hasRoomForDocks())
        for (auto& [dock, height] : m_heightsBelow)
            if (dock == watched && isBelow(*dock))
                height = dock->height();
    return QMainWindow::eventFilter(watched, event);
}

bool MainWindow::isBelow(QDockWidget& dock) const
{
    return dock.isVisible() && !dock.isFloating() && dockWidgetArea(&dock) == Qt::BottomDockWidgetArea;
}

/// A lower window squeezes what lies below the pictures, and Qt leaves it so.
void MainWindow::giveHeightsBack()
{
    QList<QDockWidget*> below;
    QList<int> heights;
    for (const auto& [dock, height] : m_heightsBelow)
        if (height > 0 && isBelow(*dock)) {
            below << dock;
            heights << height;
        }
    if (!below.isEmpty() && isWorkspaceShown()) {
        resizeDocks(below, heights, Qt::Vertical);
        layout()->activate(); // or what comes of it would be taken for somebody's pull
    }
    m_laidOutSize = size();
}

/// In a window that is low too, what lies below the pictures would leave nothing of them: it lies behind the others.
void MainWindow::foldBelow()
{
    m_pages->setMinimumHeight(height() < kHighEnoughForBelow ? 0 : kLeastPictures);
    const bool wantsTabs = m_unfolded && height() < kHighEnoughForBelow;
    if (!isWorkspaceShown() || wantsTabs == m_belowAreTabs || m_formDock->isFloating())
        return;
    m_belowAreTabs = wantsTabs;
    for (QDockWidget* dock : {m_opsDock, m_planDock}) {
        if (dock->isFloating())
            continue;
        const bool wasHidden = dock->isHidden();
        if (wantsTabs) {
            tabifyDockWidget(m_formDock, dock);
        } else {
            removeDockWidget(dock); // what was a tab would stay one
            addDockWidget(Qt::BottomDockWidgetArea, dock);
        }
        dock->setHidden(wasHidden);
        if (wantsTabs && !wasHidden)
            bringForward(*dock);
    }
    tidyDockTabs(*this);
}

std::array<bool, 3> MainWindow::hiddenDocks() const
{
    const auto all = docks();
    std::array<bool, 3> out{};
    std::transform(all.begin(), all.end(), out.begin(), [](const QDockWidget* dock) { return dock->isHidden(); });
    return out;
}

/// What was hidden meanwhile stays so.
void MainWindow::setFolded(bool on)
{
    const auto hidden = hiddenDocks();
    m_widthUnsqueezed.reset();
    if (on) {
        m_unfolded = saveState();
        m_hiddenUnfolded = hidden;
        for (QDockWidget* dock : {m_detailsDock, m_findingsDock})
            if (!dock->isFloating() && !m_formDock->isFloating())
                tabifyDockWidget(m_formDock, dock);
    } else {
        const bool hidesOps = m_opsDock->isHidden(), hidesPlan = m_planDock->isHidden();
        restoreDocks(*m_unfolded);
        m_opsDock->setHidden(hidesOps);
        m_planDock->setHidden(hidesPlan);
        m_unfolded.reset();
        m_findingsAreTab.reset();
        m_belowAreTabs = false; // it was saved before it was folded
    }
    for (std::size_t i = 0; i < hidden.size(); ++i)
        docks()[i]->setHidden(hidden[i]);
    m_lessonDock->setVisible(m_isInLesson);
    if (on && !m_formDock->isHidden())
        bringForward(*m_formDock);
    tidyDockTabs(*this);
    if (m_isInLesson)
        showLessonDock();
}

/// For a window that will come up maximised Qt keeps a state that is too wide as yet, and lays it over what was made of the docks
/// meanwhile, tab bars that are gone by then among them: one that is not seen takes it at once.
bool MainWindow::restoreDocks(const QByteArray& state)
{
    const Qt::WindowStates shownAs = windowState();
    if (!isVisible())
        overrideWindowState(shownAs & ~(Qt::WindowMaximized | Qt::WindowFullScreen));
    const bool isDone = restoreState(state);
    if (windowState() != shownAs)
        overrideWindowState(shownAs);
    return isDone;
}

/// To be had again in a window of any size: a narrow one would squeeze what it unfolds.
QByteArray MainWindow::dockState()
{
    if (m_unfolded && hiddenDocks() == m_hiddenUnfolded)
        return *m_unfolded;
    if (m_unfolded)
        setFolded(false);
    const QByteArray state = saveState();
    foldDocks();
    return state;
}

/// Tab goes to what is in sight, or can be scrolled there.
bool MainWindow::focusNextPrevChild(bool next)
{
    const QWidget* skipped = nullptr;
    while (QMainWindow::focusNextPrevChild(next)) {
        QWidget* const now = focusWidget();
        if (now != nullptr && now != skipped && isOutOfSight(*now)) {
            skipped = skipped == nullptr ? now : skipped; // once round is enough
            continue;
        }
        for (QWidget* in = now; in != nullptr; in = in->parentWidget()) // a page does so by itself only for who was in it before
            if (auto* page = qobject_cast<QScrollArea*>(in); page != nullptr && page != now)
                page->ensureWidgetVisible(now);
        return true;
    }
    return false;
}

/// Shows a dock and gives it the focus; only one that has it goes away.
void MainWindow::goToOrHide(QDockWidget& dock, CommandId id)
{
    const QList<QDockWidget*> sharing = tabifiedDockWidgets(&dock);
    if (dock.isVisible() && dock.isAncestorOf(focusWidget())) {
        dock.hide();
        if (m_coveredDock && sharing.contains(m_coveredDock.data()) && !m_coveredDock->isHidden())
            bringForward(*m_coveredDock); // not whichever tab lies beside it
        m_workspace->canvas(m_workspace->lastUsedPicture()).setFocus();
    } else {
        std::vector<QDockWidget*> seen;
        for (QDockWidget* other : {m_formDock, m_detailsDock, m_findingsDock, m_lessonDock, m_opsDock, m_planDock})
            if (other != &dock && isInSight(*other))
                seen.push_back(other);
        dock.show();
        for (QDockWidget* other : seen) // it shares its place only from now on
            if (tabifiedDockWidgets(&dock).contains(other))
                m_coveredDock = other;
        bringForward(dock);
        if (&dock == m_formDock)
            m_form->focusSearch();
        else
            dock.widget()->setFocus(Qt::ShortcutFocusReason);
    }
    action(id)->setChecked(!dock.isHidden());
}

void MainWindow::resetLayout()
{
    m_unfolded.reset();
    m_findingsAreTab.reset();
    m_belowAreTabs = false;
    m_placesFindings = true;
    for (QDockWidget* dock : docks())
        dock->setFloating(false);
    m_opsDock->setFloating(false);
    removeDockWidget(m_opsDock);
    addDockWidget(Qt::BottomDockWidgetArea, m_opsDock);
    m_opsDock->hide();
    m_planDock->setFloating(false);
    removeDockWidget(m_planDock);
    addDockWidget(Qt::BottomDockWidgetArea, m_planDock);
    m_planDock->hide();
    addDockWidget(Qt::LeftDockWidgetArea, m_formDock);
    for (QDockWidget* dock : {m_detailsDock, m_findingsDock}) {
        removeDockWidget(dock); // what was a tab would stay one
        addDockWidget(Qt::RightDockWidgetArea, dock);
    }
    for (QDockWidget* dock : docks())
        dock->show();
    resizeDocks({m_formDock, m_detailsDock}, {kFormWidth, kDetailsWidth}, Qt::Horizontal);
    foldDocks();
    placeFindings();
    m_workspace->resetLayout();
    if (m_isInLesson && isWorkspaceShown())
        showLessonDock();
}

/// Of every page: one switch stands for all. What is so already leaves a page's rows as somebody chose them there.
void MainWindow::setKernels(bool wanted)
{
    if (m_desk.wantsKernels() == wanted)
        return;
    if (LivePanel* page = m_live.ifPlaced())
        page->setKernels(wanted);
    if (RecordedPanel* page = m_recorded.ifPlaced())
        page->setRows(wanted ? RecordedRows::streams : RecordedRows::timeUse);
    m_desk.setKernels(wanted);
}

/// Selects what it is about and brings the best picture of it to the front.
void MainWindow::showHint(const sim::ShowHint& hint)
{
    const auto isKernel = [](sim::OpClass c) { return sim::isCommunication(c) || c == sim::OpClass::recompute; };
    if (std::any_of(hint.classes.begin(), hint.classes.end(), isKernel) && !m_desk.wantsKernels()) {
        setKernels(true);
        m_kernelsOfHint = true;
        updateActions();
    }
    Selection selection = m_desk.selection();
    if (!hint.ranks.empty())
        selection.selectRanks(hint.ranks, hint.ranks.front());
    selection.range = hint.range ? std::optional(TimeRange{hint.range->beginNs, hint.range->endNs}) : std::nullopt;
    selection.classes = hint.classes.empty() ? kAllClasses : ClassMask{0};
    for (const sim::OpClass c : hint.classes)
        selection.classes |= maskOf(c);
    m_desk.setSelection(selection);
    for (const std::string& name : hint.pictures) {
        if (const PictureInfo* info = findPicture(name)) {
            m_workspace->setPictureVisible(info->picture, true);
            break;
        }
    }
    if (hint.longestWait)
        m_workspace->canvas(Picture::timeline).runCommand(ViewCommand::longestWait);
}

/// Nobody asked for the kernels themselves: with what they were shown for they go, and with them what made all else step back.
void MainWindow::takeHintBack()
{
    if (!std::exchange(m_kernelsOfHint, false))
        return;
    setKernels(false);
    Selection selection = m_desk.selection();
    selection.classes = kAllClasses;
    m_desk.setSelection(selection);
    updateActions();
}

} // namespace app
