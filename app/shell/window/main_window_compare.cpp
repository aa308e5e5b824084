// Comparing in the main window: the baseline, the Compare page, what the numbers are compared with.
#include "app/canvas/qt/figure.h"
#include "app/canvas/qt/save_whole.h"
#include "app/session/edit.h"
#include "app/session/plain_words.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/ops/ops_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/window/file_filters.h"
#include "app/shell/window/main_window.h"
#include "sim/error.h"

#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QStatusBar>

#include <algorithm>

namespace app {
namespace {

constexpr int kTellMs = 4000, kOfferMs = 20'000; ///< with a button beside it

} // namespace

void MainWindow::connectComparison()
{
    connect(&m_baseline, &Baseline::failed, this, [this](const QString& message) {
        m_banner->tell(tr("The baseline cannot be simulated"), {{{}, {}, message.toStdString(), sim::Severity::error}});
    });
    connect(&m_desk.lineup(), &Lineup::failed, this, [this](const QString& message) {
        m_banner->tell(tr("It cannot be simulated and is compared no more"),
                       {{{}, {}, message.toStdString(), sim::Severity::error}});
    });
}

ComparePage* MainWindow::buildCompare(QWidget* parent)
{
    auto* out = new ComparePage(m_desk, m_options.renderer, parent);
    out->setTheme(themeFor(m_settings.theme));
    out->setGpuHourPrice(m_settings.gpuHourPrice);
    out->setActions({action(CommandId::swapSides), action(CommandId::backToBaseline), action(CommandId::exportComparison),
                     action(CommandId::leavePage)});
    connect(out, &ComparePage::compared, this, [this] {
        updateActions();
        if (isCompareShown())
            showStatus();
    });
    // A menu that is closed leaves the keys with the bar: Esc would first have to leave that.
    for (const QAction* each : menuBar()->actions())
        if (const QMenu* menu = each->menu())
            connect(
                menu, &QMenu::aboutToHide, out,
                [this, out] {
                    if (isCompareShown() && menuBar()->hasFocus() && QApplication::activePopupWidget() == nullptr)
                        out->canvas().setFocus();
                },
                Qt::QueuedConnection); // it is about to hide, and the next may come
    return out;
}

bool MainWindow::isCompareShown() const
{
    return isShown(m_compare.area());
}

bool MainWindow::isSettled() const
{
    const auto isSettled = [](const auto& page) { return page.ifPlaced() == nullptr || page.ifPlaced()->isSettled(); };
    const auto isReady = [](const auto& panel) { return panel.ifPlaced() == nullptr || panel.ifPlaced()->isReady(); };
    return m_desk.isSettled() && isSettled(m_recorded) && isSettled(m_compare) && isReady(m_ops) && isReady(m_plan) &&
           !m_findings->isFixing() && !m_lessonWorker.isBusy();
}

void MainWindow::showCompare()
{
    showPage(*m_compare.area());
    m_compare->canvas().setFocus();
}

void MainWindow::pinBaseline()
{
    const QString former = m_baseline.name();
    if (m_baseline.isPinned() && m_baseline.document().text() == m_session.document().text()) {
        m_baselineIsWanted = true;
        statusBar()->showMessage(tr("This is the baseline already"), kTellMs);
        return;
    }
    if (!m_desk.pinBaseline()) {
        statusBar()->showMessage(tr("Only a scenario that works can be the baseline"), kTellMs);
        return;
    }
    m_baselineOf = m_session.path();
    m_baselineIsWanted = true;
    if (former.isEmpty())
        statusBar()->showMessage(tr("Baseline pinned: changes are shown against it. Alt+6 compares."), kTellMs);
    else
        tellOfBaseline(former == m_baseline.name() ? tr("The baseline is now “%1” as you see it").arg(former)
                                                   : tr("The baseline is now “%1” (was “%2”)").arg(m_baseline.name(), former));
}

void MainWindow::forgetBaseline()
{
    m_baseline.unpin();
    tellOfBaseline(tr("There is no baseline any more: changes are shown against the step before"));
}

void MainWindow::goBackToFormerBaseline()
{
    m_baseline.goBackToFormer();
    m_baselineOf = m_session.path();
    statusBar()->showMessage(m_baseline.isPinned() ? tr("The baseline is “%1” again").arg(m_baseline.name())
                                                   : tr("There is no baseline, as before"),
                             kTellMs);
    updateActions();
}

/// What happened to it without being asked for in so many words; a button takes it back.
void MainWindow::tellOfBaseline(const QString& text)
{
    m_toldOfBaseline = m_baseline.hasFormer() ? text : QString();
    statusBar()->clearMessage(); // else the same words twice would change nothing
    statusBar()->showMessage(text, kOfferMs);
}

/// A baseline belongs to its scenario: with another one, whoever wants to compare the two is asked.
void MainWindow::partFromBaseline()
{
    if (m_session.isOpen() && !m_baselineOf.isEmpty() && m_baselineOf == m_session.path())
        return;
    m_baseline.markAsAnother();
    if (!m_baseline.isPinned())
        return;
    if (!m_baselineIsWanted) { // what came of comparing ends with what was compared
        m_baseline.unpin();
        return;
    }
    const QString name = m_baseline.name();
    const auto wantsIt = [&] {
        QMessageBox question(
            QMessageBox::Question, tr("Baseline"),
            tr("“%1” is pinned as the baseline of another scenario. Compare “%2” with it?").arg(name, m_session.displayName()),
            QMessageBox::NoButton, this);
        const QPushButton* compare = question.addButton(tr("Compare"), QMessageBox::AcceptRole);
        QPushButton* forget = question.addButton(tr("Forget Baseline"), QMessageBox::RejectRole);
        question.setDefaultButton(forget);
        question.setEscapeButton(forget);
        question.exec();
        return question.clickedButton() == compare;
    };
    const bool keeps = m_session.isOpen() && !m_options.reproducible && wantsIt();
    if (keeps) {
        m_baselineOf = m_session.path();
        return;
    }
    m_baseline.unpin();
    if (isCompareShown() && m_session.isOpen())
        showWorkspace(); // there is nothing to compare any more
    tellOfBaseline(tr("The baseline “%1” belonged to another scenario and is forgotten").arg(name));
}

void MainWindow::tellNotComparable(const QString& name, const Problems& problems)
{
    m_banner->tell(tr("It cannot be compared with %1").arg(name), problems);
}

Problems MainWindow::compareWith(const QString& path)
{
    Problems problems = m_baseline.open(path, m_session.catalogue());
    if (!problems.empty()) {
        tellNotComparable(QFileInfo(path).fileName(), problems);
        return problems;
    }
    m_baselineOf = m_session.path();
    m_baselineIsWanted = true;
    m_banner->dismiss();
    showCompare();
    return {};
}

/// The first is the baseline unless there is one, the others are laid beside it.
Problems MainWindow::compareWithAll(const QStringList& paths)
{
    for (const QString& path : paths) {
        if (!m_baseline.isPinned()) {
            if (Problems problems = compareWith(path); !problems.empty())
                return problems;
        } else if (Problems problems = m_desk.lineup().open(path, m_session.catalogue()); !problems.empty()) {
            tellNotComparable(QFileInfo(path).fileName(), problems);
            return problems;
        }
    }
    m_banner->dismiss();
    showCompare();
    return {};
}

void MainWindow::chooseBaseline()
{
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Compare With"), m_session.path().isEmpty() ? QString() : QFileInfo(m_session.path()).path(), scenarioFilter());
    if (!path.isEmpty())
        compareWith(path);
}

void MainWindow::chooseFurther()
{
    const QStringList paths = QFileDialog::getOpenFileNames(
        this, tr("Compare With More"), m_session.path().isEmpty() ? QString() : QFileInfo(m_session.path()).path(),
        scenarioFilter());
    if (!paths.isEmpty())
        compareWithAll(paths);
}

namespace {

QChar letterOf(std::size_t further)
{
    return QChar(u'C' + static_cast<char16_t>(further));
}

} // namespace

/// The letter of what is compared and reads the same; empty: nothing does.
QString MainWindow::comparedAs(const std::string& text) const
{
    const auto& kept = m_desk.lineup().entries();
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i].document.text() == text)
            return letterOf(i);
    if (m_baseline.document().text() != text)
        return {};
    const ComparePage* page = m_compare.ifPlaced();
    return page != nullptr && page->isSwapped() ? QStringLiteral("B") : QStringLiteral("A");
}

/// The scenario as it is now stays on the axis while it is edited further.
void MainWindow::keepInComparison()
{
    if (!m_baseline.isPinned())
        return pinBaseline();
    const auto& kept = m_desk.lineup().entries();
    if (const QString letter = comparedAs(m_session.document().text()); !letter.isEmpty()) {
        statusBar()->showMessage(tr("This is compared already, as %1: change something, then keep it").arg(letter), kTellMs);
        return;
    }
    const Problems problems = m_desk.lineup().add(m_session.displayName(), m_session.document(), m_session.catalogue());
    if (!problems.empty())
        statusBar()->showMessage(plainWords(QString::fromStdString(problems.front().text())), kTellMs);
    else
        statusBar()->showMessage(
            isCompareShown()
                ? tr("Kept as %1, as it is now: it stays so while you change the scenario").arg(letterOf(kept.size() - 1))
                : tr("Kept as %1 beside the baseline: Alt+6 shows all of them on one axis").arg(letterOf(kept.size() - 1)),
            kTellMs);
}

/// What came of it, for people.
QString MainWindow::compareWithSchedule(const QString& kind)
{
    if (!m_baseline.isPinned()) {
        pinBaseline();
        m_baselineIsWanted = false;
    }
    if (!m_baseline.isPinned())
        return tr("Only a scenario that works can be compared with");
    sim::ScenarioDocument document = m_session.document();
    apply(document, makeScheduleEdit(document, m_session.scenario(), kind.toStdString()));
    const QString name = QString::fromLatin1(sim::scheduleFamily(kind.toStdString()).title);
    if (const QString letter = comparedAs(document.text()); !letter.isEmpty())
        return tr("%1 is compared already, as %2").arg(name, letter);
    const Problems problems = m_desk.lineup().add(name, document, m_session.catalogue());
    if (!problems.empty())
        return plainWords(QString::fromStdString(problems.front().text()));
    const int ofBoth = m_baseline.document().text() == m_session.document().text() ? 1 : 2; // a copy is shown once
    return tr("%1 is compared: %2 of 6. Alt+6 shows them on one axis.")
        .arg(name)
        .arg(static_cast<int>(m_desk.lineup().entries().size()) + ofBoth);
}

void MainWindow::exportComparison()
{
    const QString path = chooseSaveFile(this, tr("Export Comparison"), exportName() + QStringLiteral("-comparison.csv"),
                                        tr("Tables (*.csv)") + QStringLiteral(";;") + tr("Figures (*.svg *.pdf *.png)"));
    if (!path.isEmpty())
        saveComparison(path);
}

void MainWindow::exportComparisonFigure()
{
    if (!m_compare->isSettled())
        return statusBar()->showMessage(tr("The comparison is still being computed"), kTellMs);
    const auto words = [this] { return ExportDialog::Words{m_compare->names(), m_compare->headline(), exportName()}; };
    CompareView& view = m_compare->view();
    ExportDialog* dialog = openExport({{tr("Comparison"), QStringLiteral("comparison"), &view,
                                        [&view](const Theme& theme) { view.setTheme(theme); }, comparisonSize()}},
                                      0, words());
    connect(m_compare.ifPlaced(), &ComparePage::compared, dialog, [dialog, words] { dialog->setWords(words()); });
}

QSize MainWindow::comparisonSize()
{
    constexpr QSize kLeast(1600, 900);
    return {kLeast.width(), static_cast<int>(m_compare->view().suitableHeight(static_cast<float>(kLeast.height())))};
}

void MainWindow::saveComparison(const QString& path)
{
    if (!m_compare->isSettled())
        return statusBar()->showMessage(tr("The comparison is still being computed: nothing is saved"), kTellMs);
    try {
        if (figureFormatOf(path))
            saveFigure(m_compare->view(), path, comparisonSize());
        else
            saveWhole(path, m_compare->csv().toUtf8());
        statusBar()->showMessage(tr("Saved %1").arg(QFileInfo(path).fileName()), kTellMs);
    } catch (const sim::Error& error) {
        m_banner->tell(tr("The comparison cannot be saved"), {{{}, {}, error.what(), sim::Severity::error}});
    }
}

} // namespace app
