// The window's findings: asked for after each result, shown beside the numbers, tried as undoable edits, pointed at in the
// pictures.
#include "app/shell/details_panel.h"
#include "app/shell/dock_tabs.h"
#include "app/shell/findings_panel.h"
#include "app/shell/main_window.h"

#include <QAction>
#include <QDockWidget>

#include <algorithm>

namespace app {
namespace {

/// In lower windows findings share their place with the numbers.
constexpr int kHighEnoughForBoth = 820;

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
    connect(m_findings, &FindingsPanel::tryRequested, this, [this](const Edit& edit) { m_session.edit(edit); });
    connect(m_details, &DetailsPanel::showRequested, this, &MainWindow::showHint);
    connect(m_workspace, &Workspace::showRequested, this, &MainWindow::showHint);
    connect(&m_simulator, &Simulator::findingsReady, this, [this](const SimulationPtr& simulation, const FindingList& findings) {
        if (simulation != m_simulation)
            return;
        m_findings->setFindings(findings);
        titleFindings(findings);
        findingsMayBeComplete();
    });
    connect(&m_simulator, &Simulator::findingsFailed, this, [this](const SimulationPtr& simulation, const QString& why) {
        if (simulation != m_simulation)
            return;
        m_findings->setFailure(why);
        titleFindings({});
        findingsMayBeComplete();
    });
    connect(&m_simulator, &Simulator::tryMeasured, this, [this](const SimulationPtr& simulation, const TryResult& result) {
        if (simulation != m_simulation)
            return;
        m_findings->setResult(result);
        findingsMayBeComplete();
    });
}

/// How many there are to do something about: what the step consists of is no complaint.
void MainWindow::titleFindings(const FindingList& findings)
{
    const auto complaints = std::count_if(findings.begin(), findings.end(), [](const sim::Finding& finding) {
        return finding.kind != sim::FindingKind::composition;
    });
    m_findingsDock->setWindowTitle(complaints == 0 ? tr("FINDINGS") : tr("FINDINGS · %1").arg(complaints));
}

/// Below the numbers where there is room for both, else behind them.
void MainWindow::placeFindings()
{
    const bool wantsTab = height() < kHighEnoughForBoth;
    const bool isMoved = m_findingsDock->isFloating() || m_detailsDock->isFloating() ||
                         dockWidgetArea(m_findingsDock) != dockWidgetArea(m_detailsDock);
    if (!m_placesFindings || isMoved || !isWorkspaceShown() || wantsTab == m_findingsAreTab)
        return;
    m_findingsAreTab = wantsTab;
    if (wantsTab) {
        tabifyDockWidget(m_detailsDock, m_findingsDock);
        m_detailsDock->raise();
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
    placeFindings();
}

void MainWindow::requestFindings()
{
    // An illegal state of the document keeps the last legal picture; its findings stay with it.
    if (!m_session.isLegal() || m_requested != *m_session.scenario())
        return;
    m_awaitsFindings = true;
    m_simulator.requestFindings(m_session.document(), m_session.catalogue(), m_simulation);
}

void MainWindow::findingsMayBeComplete()
{
    m_awaitsFindings = !m_findings->isComplete();
    settleIfDone();
}

/// Selects what it is about and brings the best picture of it to the front.
void MainWindow::showHint(const sim::ShowHint& hint)
{
    const auto isKernel = [](sim::OpClass c) { return sim::isCommunication(c) || c == sim::OpClass::recompute; };
    if (std::any_of(hint.classes.begin(), hint.classes.end(), isKernel) && !action(CommandId::showKernels)->isChecked())
        run(CommandId::showKernels);
    Selection selection = m_workspace->selection();
    if (!hint.ranks.empty())
        selection.selectRanks(hint.ranks, hint.ranks.front());
    selection.range = hint.range ? std::optional(TimeRange{hint.range->beginNs, hint.range->endNs}) : std::nullopt;
    selection.classes = hint.classes.empty() ? kAllClasses : ClassMask{0};
    for (const sim::OpClass c : hint.classes)
        selection.classes |= maskOf(c);
    m_workspace->setSelection(selection);
    for (const std::string& name : hint.pictures) {
        if (const PictureInfo* info = findPicture(name)) {
            m_workspace->setPictureVisible(info->picture, true);
            break;
        }
    }
}

} // namespace app
