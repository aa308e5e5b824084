// Comparing in the main window: the baseline, the Compare page, what the numbers are compared with.
#include "app/canvas/qt/save_whole.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/main_window.h"
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
    connect(&m_baseline, &Baseline::failed, this, [this](const QString& message) {
        m_banner->tell(tr("The baseline cannot be simulated"), {{{}, {}, message.toStdString(), sim::Severity::error}});
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

bool MainWindow::isSettled() const
{
    return m_desk.isSettled() && m_compare->isSettled();
}

void MainWindow::showCompare()
{
    showPage(m_compare);
    m_compare->canvas().setFocus();
}

void MainWindow::pinBaseline(bool on)
{
    if (!on) {
        m_baseline.unpin();
        statusBar()->showMessage(tr("There is no baseline any more"), kTellMs);
        return;
    }
    if (!m_desk.pinBaseline()) {
        statusBar()->showMessage(tr("Only a scenario that works can be the baseline"), kTellMs);
        return;
    }
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
