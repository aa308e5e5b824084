// Comparing in the main window: the baseline, the Compare page, what the numbers are compared with.
#include "app/canvas/save_whole.h"
#include "app/shell/compare_page.h"
#include "app/shell/details_panel.h"
#include "app/shell/main_window.h"
#include "app/shell/problem_banner.h"
#include "sim/error.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QStackedWidget>
#include <QStatusBar>

namespace app {
namespace {

constexpr int kTellMs = 4000;

} // namespace

void MainWindow::connectComparison()
{
    connect(&m_baseline, &Baseline::changed, this, &MainWindow::baselineChanged);
    connect(&m_baseline, &Baseline::failed, this, [this](const QString& message) {
        m_banner->tell(tr("The baseline cannot be simulated"), {{{}, {}, message.toStdString(), sim::Severity::error}});
        emit simulationFailed(message);
    });
    connect(m_compare, &ComparePage::compared, this, [this] {
        updateActions();
        if (isCompareShown())
            showStatus();
    });
}

bool MainWindow::isCompareShown() const
{
    return m_pages->currentWidget() == m_compare;
}

void MainWindow::showCompare()
{
    showPage(m_compare);
    m_compare->canvas().setFocus();
}

/// The pinned baseline is what the numbers are compared with; without one, the state before the last step.
void MainWindow::showMetrics()
{
    const auto pinned = m_baseline.metrics();
    m_details->setSimulation(m_simulation, pinned ? pinned : m_comparedTo);
}

void MainWindow::baselineChanged()
{
    if (m_simulation)
        showMetrics();
    updateActions();
    settleIfDone();
}

void MainWindow::pinBaseline(bool on)
{
    if (!on) {
        m_baseline.unpin();
        statusBar()->showMessage(tr("There is no baseline any more"), kTellMs);
        return;
    }
    // The numbers on screen are of the last legal state that was simulated: pinned is what is seen.
    if (m_awaitsResult || !m_session.isLegal()) {
        action(CommandId::pinBaseline)->setChecked(false);
        statusBar()->showMessage(tr("Only a scenario that works can be the baseline"), kTellMs);
        return;
    }
    m_baseline.pin(m_session.displayName(), m_session.document(), m_simulation, m_actionTrace);
    statusBar()->showMessage(tr("Baseline pinned: changes are shown against it. Alt+6 compares."), kTellMs);
}

Problems MainWindow::compareWith(const QString& path)
{
    Problems problems = m_baseline.open(path, m_session.catalogue());
    if (!problems.empty()) {
        m_banner->tell(tr("%1 cannot be compared with").arg(QFileInfo(path).fileName()), problems);
        return problems;
    }
    m_banner->dismiss();
    showCompare();
    return {};
}

void MainWindow::chooseBaseline()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Compare With"),
                                                      m_session.path().isEmpty() ? QString() : QFileInfo(m_session.path()).path(),
                                                      tr("Scenarios (*.json);;All files (*)"));
    if (!path.isEmpty())
        compareWith(path);
}

void MainWindow::exportComparison()
{
    const QString suggested = QFileInfo(m_session.path()).completeBaseName() + QStringLiteral("-comparison.csv");
    QString path = QFileDialog::getSaveFileName(this, tr("Export Comparison"), suggested, tr("Tables (*.csv)"));
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += QStringLiteral(".csv");
    try {
        saveWhole(path, m_compare->csv().toUtf8());
        statusBar()->showMessage(tr("Saved %1").arg(QFileInfo(path).fileName()), kTellMs);
    } catch (const sim::Error& error) {
        m_banner->tell(tr("The comparison cannot be saved"), {{{}, {}, error.what(), sim::Severity::error}});
    }
}

} // namespace app
