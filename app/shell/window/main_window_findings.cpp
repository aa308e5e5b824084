// The window's findings: where they stand, and what they point at in the pictures.
#include "app/shell/details/details_panel.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/window/main_window.h"

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
    connect(m_findings, &FindingsPanel::changed, this, [this] {
        const int count = m_findings->complaints();
        m_findingsDock->setWindowTitle(count == 0 ? tr("FINDINGS") : tr("FINDINGS · %1").arg(count));
    });
    connect(m_details, &DetailsPanel::showRequested, this, &MainWindow::showHint);
    connect(m_workspace, &Workspace::showRequested, this, &MainWindow::showHint);
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

/// Selects what it is about and brings the best picture of it to the front.
void MainWindow::showHint(const sim::ShowHint& hint)
{
    const auto isKernel = [](sim::OpClass c) { return sim::isCommunication(c) || c == sim::OpClass::recompute; };
    if (std::any_of(hint.classes.begin(), hint.classes.end(), isKernel) && !action(CommandId::showKernels)->isChecked())
        run(CommandId::showKernels);
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
}

} // namespace app
