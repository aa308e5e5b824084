// What the window says of itself: the line at its foot and its title.
#include "app/lessons/lesson_panel.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_keys.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/status_line.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/main_window.h"
#include "sim/simulate/memory_cap.h"

#include <QAction>
#include <QLabel>
#include <QMenu>
#include <QStatusBar>
#include <QToolButton>

#include <algorithm>
#include <span>

namespace app {
namespace {

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

void MainWindow::buildStatusBar()
{
    setStatusBar(new StatusLine);
    m_pointedLabel = new ElidedLabel("told");
    m_pointedLabel->setParted(QStringLiteral(" · "));
    m_pointedLabel->setContentsMargins(11, 0, 8, 0);
    m_pointedLabel->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_problems = new QToolButton;
    m_problems->setObjectName(QStringLiteral("problems"));
    m_problems->setPopupMode(QToolButton::InstantPopup);
    m_problems->setFocusPolicy(Qt::TabFocus);
    m_problems->setMenu(new QMenu(m_problems));
    m_problems->hide();
    m_resultLabel = new QLabel;
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(m_pointedLabel, 1);
    m_undoBaseline = new QToolButton;
    m_undoBaseline->setObjectName(QStringLiteral("undoBaseline"));
    m_undoBaseline->setText(tr("Undo"));
    m_undoBaseline->setToolTip(whatOf(command(CommandId::formerBaseline)));
    setRole(m_undoBaseline, "link");
    m_undoBaseline->hide();
    connect(m_undoBaseline, &QToolButton::clicked, this, [this] { run(CommandId::formerBaseline); });
    connect(statusBar(), &QStatusBar::messageChanged, this,
            [this](const QString& told) { m_undoBaseline->setVisible(!told.isEmpty() && told == m_toldOfBaseline); });
    m_runAway = new QToolButton;
    m_runAway->setObjectName(QStringLiteral("runAway"));
    m_runAway->setToolTip(whatOf(command(CommandId::showLive)));
    m_runAway->setFocusPolicy(Qt::TabFocus);
    setRole(m_runAway, "link");
    m_runAway->hide();
    connect(m_runAway, &QToolButton::clicked, this, [this] { showLive(); });
    statusBar()->addPermanentWidget(m_undoBaseline);
    statusBar()->addPermanentWidget(m_problems);
    statusBar()->addPermanentWidget(m_runAway);
    statusBar()->addPermanentWidget(m_resultLabel);
    m_resultLabel->ensurePolished(); // the line is as high as its text, with the button or without
    for (QWidget* beside : std::initializer_list<QWidget*>{m_pointedLabel, m_undoBaseline, m_problems, m_runAway})
        beside->setFixedHeight(m_resultLabel->sizeHint().height());
}

void MainWindow::showPointed()
{
    if (!isWorkspaceShown() || m_masksNumbers)
        return; // another page has the status bar; or its numbers are asked for
    const QString pointed = m_workspace->pointedText();
    m_pointedLabel->setText(
        pointed.isEmpty() ? tr("W S zoom · A D pan · drag measures · F frames · Esc closes · ? shows all keys") : pointed);
}

/// A training that goes on while something else is looked at, or has ended meanwhile.
void MainWindow::showRunAway()
{
    if (isLiveShown())
        m_runEndSeen = !runIsActive();
    m_runAway->setText(m_run ? m_run->status().headline : QString());
    m_runAway->setVisible(m_run && !isLiveShown() && (runIsActive() || !m_runEndSeen));
}

void MainWindow::showStatus()
{
    showRunAway();
    constexpr std::size_t kMostInTip = 20;
    const Problems& problems = m_session.problems();
    QStringList tip;
    m_problems->menu()->clear();
    for (sim::Problem problem : std::span(problems).first(std::min(problems.size(), kMostInTip))) {
        problem.file.clear(); // there is only one
        tip << plainWords(beginningOf(problem.text()));
        const QString pointer = QString::fromStdString(problem.pointer);
        QAction* action = m_problems->menu()->addAction(QString(tip.back()).replace(QLatin1Char('&'), QLatin1String("&&")));
        action->setEnabled(findScenarioKey(problem.pointer) != nullptr); // the form has no row of it
        connect(action, &QAction::triggered, this, [this, pointer] { showSetting(pointer); });
    }
    if (const QString more = problemsLeftOut(problems.size(), kMostInTip); !more.isEmpty()) {
        tip << more;
        m_problems->menu()->addAction(more)->setEnabled(false);
    }
    m_problems->setText(isWorkspaceShown() || isCompareShown() ? countText(problems) : QString());
    m_problems->setToolTip(tip.join(QLatin1Char('\n')));
    m_problems->setAccessibleDescription(m_problems->toolTip());
    setRole(m_problems, m_session.isLegal() ? "warning" : "error");
    m_problems->setVisible(!m_problems->text().isEmpty());

    if (m_masksNumbers) {
        m_pointedLabel->setText(whyHidden());
        return m_resultLabel->clear();
    }
    if (isCompareShown()) {
        m_pointedLabel->setText(m_desk.lineup().entries().empty()
                                    ? tr("W S zoom · A D pan · Shift+X swaps A and B · while blending , and . go towards A and B "
                                         "· Esc closes")
                                    : tr("W S zoom · A D pan · Shift+X swaps A and B · , and . step through all at once · Esc "
                                         "closes"));
        m_resultLabel->setText(m_compare->headline());
        return;
    }
    if (!isWorkspaceShown()) {
        if (isRecordedShown()) {
            m_pointedLabel->setText(tr("W S zoom · A D pan · drag measures · F frames · Esc closes · ? shows all keys"));
            return m_resultLabel->clear();
        }
        m_pointedLabel->setText(
            isLiveShown() ? tr("W S zoom · A D pan · a click on the curves chooses a step · Esc closes · ? shows all keys")
            : isGalleryShown() && m_session.isOpen() ? tr("Esc goes back to “%1”").arg(m_session.displayName())
                                                     : QString());
        m_resultLabel->setText(isLiveShown() && m_run ? m_run->status().headline : QString());
        return;
    }
    if (m_desk.isSimulating() && !m_busyTimer.isActive())
        return m_resultLabel->setText(tr("Simulating…"));
    if (!m_desk.simulation())
        return m_resultLabel->clear();
    const sim::Metrics& metrics = m_desk.simulation()->metrics();
    QString text = tr("Step %1").arg(durationQuantity(metrics.stepTimeSeconds).text());
    if (!m_options.reproducible)
        text += tr(", simulated in %1").arg(durationQuantity(metrics.wallMs * 1e-3).text());
    if (const auto misfit = sim::misfit(*m_desk.simulation())) // the cards that say it may be behind another tab
        text = tr("Does not fit: needs %1").arg(QString::fromStdString(misfit->text())) + QStringLiteral(" · ") + text;
    m_resultLabel->setText(text);
}

void MainWindow::updateTitle()
{
    const bool shown = m_session.isOpen() && (isWorkspaceShown() || isCompareShown());
    if (isLiveShown() || isRecordedShown()) {
        setWindowTitle(isLiveShown()   ? tr("Live – Rankscope")
                       : recordedRun() ? tr("%1 – Recorded Run – Rankscope").arg(recordedRun()->name())
                                       : tr("Recorded Run – Rankscope"));
        setWindowFilePath({});
        setWindowModified(false);
        return;
    }
    setWindowTitle(!shown           ? QStringLiteral("Rankscope")
                   : m_masksNumbers ? QString::fromStdString(m_lesson->play()->lesson().title) + QStringLiteral("[*] – Rankscope")
                   : isCompareShown() ? tr("%1[*] – Comparison – Rankscope").arg(m_session.displayName())
                                      : m_session.displayName() + QStringLiteral("[*] – Rankscope"));
    setWindowFilePath(shown ? m_session.path() : QString());
    setWindowModified(shown && m_session.isModified());
}

} // namespace app
