#include "app/shell/dialogs/synthesis_dialog.h"

#include "app/session/edit.h"
#include "app/session/plain_words.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/decimal_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/thumbnail.h"
#include "sim/simulate/plan_schedule.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;
constexpr int kMostChunks = 8;

QString microsecondsText(double ns)
{
    return durationQuantity(ns / kNsPerSecond).text();
}

/// "−3.2 %"
QString changeText(double change)
{
    return (change < 0 ? QStringLiteral("−") : QStringLiteral("+")) + percentQuantity(std::abs(change)).text();
}

/// What the order is worth, simulated: "8.40 s, now 8.57 s: −2.0 %".
QString stepText(const SynthesisState& state)
{
    const QString step = durationQuantity(state.step.stepSeconds).text(), now = durationQuantity(state.now.stepSeconds).text();
    if (!state.improves())
        return state.change() > 0.0005 && state.step.keepsCap == state.now.keepsCap
                   ? SynthesisDialog::tr("%1: %2 longer than now (%3)").arg(step, percentQuantity(state.change()).text(), now)
                   : SynthesisDialog::tr("%1: no better than now (%2)").arg(step, now);
    const QString text = SynthesisDialog::tr("%1, now %2: %3").arg(step, now, changeText(state.change()));
    return state.now.keepsCap ? text
                              : SynthesisDialog::tr("%1; now it holds %2 GiB, more than it may")
                                    .arg(text, QString::number(state.now.peakGib, 'f', 1));
}

/// The document as a job whose schedule is synthesised, or why there is none.
sim::ScenarioDocument::Resolved resolvedForSynthesis(sim::ScenarioDocument document, const sim::Catalogue& catalogue, int chunks,
                                                     double memoryGib)
{
    apply(document, makeSynthesisEdit(document, chunks, memoryGib));
    return document.resolve(catalogue);
}

} // namespace

/// The best schedule so far, as wide as there is room.
class SynthesisDialog::Sketch : public QWidget {
public:
    explicit Sketch(const Theme& theme) : m_theme(theme) { setMinimumHeight(150); }
    void set(const sim::Synthesis* best)
    {
        m_best = best;
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(toQColor(m_theme.border));
        painter.setBrush(toQColor(m_theme.canvas));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
        if (m_best)
            paintSchedule(painter, QRectF(rect()).adjusted(10, 10, -10, -10), m_best->schedule, m_best->times, m_theme);
    }

private:
    const Theme& m_theme;
    const sim::Synthesis* m_best = nullptr;
};

SynthesisDialog::SynthesisDialog(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue,
                                 std::shared_ptr<const sim::Simulation> now, const Theme& theme, QWidget* parent)
    : QDialog(parent), m_document(document), m_catalogue(catalogue), m_now(std::move(now)), m_theme(theme),
      m_chunks(new ChoiceBox), m_memory(new DecimalBox), m_pause(new QPushButton(tr("Pause"))),
      m_use(new QPushButton(tr("Use This Order"))), m_progress(new QProgressBar), m_step(new QLabel), m_span(new QLabel),
      m_idle(new QLabel), m_gap(new QLabel), m_madeFrom(new QLabel), m_message(new QLabel), m_sketch(new Sketch(theme)),
      m_table(new QTableWidget(0, 5))
{
    setObjectName(QStringLiteral("synthesisDialog"));
    setWindowTitle(tr("Find a Schedule"));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(900, 680);

    const sim::Scenario& scenario = m_now->scenario();
    const int most = std::clamp(scenario.model.numHiddenLayers / scenario.layout.pp, 1, kMostChunks);
    for (int chunks = 1; chunks <= most; ++chunks)
        m_chunks->addItem(chunks == 1   ? tr("1: a line of stages")
                          : chunks == 2 ? tr("2: a V or a loop")
                                        : tr("%1: a loop").arg(chunks),
                          chunks);
    m_chunks->setAccessibleName(tr("Chunks a rank"));
    m_chunks->setCurrentIndex(m_chunks->findData(std::min(scenario.schedule.virtualStages, most)));
    m_memory->setRange(0.1, 10'000);
    m_memory->setDecimals(1);
    m_memory->setSuffix(tr(" GiB"));
    m_memory->setButtonSymbols(QAbstractSpinBox::NoButtons); // as other fields have it
    m_memory->setValue(sim::memoryCapGib(scenario));
    m_memory->setAccessibleName(tr("Memory of a GPU that the step may take"));
    connect(m_chunks, &QComboBox::currentIndexChanged, this, &SynthesisDialog::restart);
    connect(m_memory, &QDoubleSpinBox::editingFinished, this, [this, before = m_memory->value()]() mutable {
        if (std::exchange(before, m_memory->value()) != m_memory->value())
            restart();
    });
    constexpr int kWidestText = 110;
    m_pause->setMinimumWidth(kWidestText);
    m_pause->setAutoDefault(false); // Enter in a field is of the field
    connect(m_pause, &QPushButton::clicked, this, &SynthesisDialog::pauseOrResume);

    auto* top = new QHBoxLayout;
    top->setSpacing(8);
    top->addWidget(new QLabel(tr("Chunks a rank")));
    top->addWidget(m_chunks);
    top->addSpacing(16);
    top->addWidget(new QLabel(tr("Memory of a GPU")));
    top->addWidget(m_memory);
    top->addStretch(1);
    top->addWidget(m_pause);

    auto* numbers = new QFormLayout;
    numbers->setHorizontalSpacing(16);
    numbers->setVerticalSpacing(4);
    numbers->addRow(tr("Step"), m_step);
    numbers->addRow(tr("Longest rank"), m_span);
    numbers->addRow(tr("Idle"), m_idle);
    numbers->addRow(tr("Lower bound"), m_gap);
    numbers->addRow(tr("Made from"), m_madeFrom);
    m_madeFrom->setWordWrap(true);
    m_gap->setWordWrap(true);
    m_span->setToolTip(
        tr("From a rank's first action to its last, of the rank that takes longest (the zero-bubble papers' cost)"));
    m_step->setObjectName(QStringLiteral("synthesisStep"));
    m_step->setToolTip(tr("Simulated whole, with shared links, the optimizer and all. The numbers below are of pass times and "
                          "latencies alone, which is what the search goes by"));
    m_idle->setToolTip(tr("Time between passes, by pass times alone: of the longest rank, and of the makespan as the mean of all "
                          "ranks. Not the step's bubble, which leaves out what transfers hold up. The order editor's makespan "
                          "differs a little: its pass times are measured in the simulated step"));
    m_gap->setToolTip(
        tr("Of the longest rank, proved for orders of whole micro-batches with the stages placed like this, backwards whole or "
           "split, by pass times and latencies. A step is no shorter than it; where it is reached, another order may still make "
           "a shorter step, as it says nothing of transfers that share links, nor of other cuts of the model"));

    m_table->setHorizontalHeaderLabels({tr("Construction"), tr("Stages on"), tr("Longest rank"), tr("Activations"), tr("Fits")});
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->verticalHeader()->hide();
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setShowGrid(false);
    m_table->setAccessibleName(tr("Constructions tried"));

    setRole(m_message, "small");
    m_message->setWordWrap(true);
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(6);
    setRole(m_use, "primary");
    m_use->setObjectName(QStringLiteral("useOrder"));
    m_use->setEnabled(false);
    connect(m_use, &QPushButton::clicked, this, [this] {
        Q_EMIT chosen(m_state->best.schedule);
        accept();
    });
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(8);
    bottom->addWidget(m_message, 1);
    bottom->addWidget(cancel);
    bottom->addWidget(m_use);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(10);
    column->addLayout(top);
    column->addWidget(m_progress);
    column->addLayout(numbers);
    column->addWidget(m_sketch, 2);
    column->addWidget(m_table, 3);
    column->addLayout(bottom);
    restart();
}

SynthesisDialog::~SynthesisDialog() = default;

void SynthesisDialog::restart()
{
    m_run.reset();
    m_sketch->set(nullptr);
    m_state.reset();
    m_use->setEnabled(false);
    m_use->setText(tr("Use This Order"));
    m_table->setRowCount(0);
    for (QLabel* label : {m_step, m_span, m_idle, m_gap, m_madeFrom})
        label->setText(QStringLiteral("–"));
    m_progress->setRange(0, 0);
    m_pause->setText(tr("Pause"));
    m_pause->setEnabled(true);
    m_message->setText(tr("Timing the passes, then making every known schedule…"));
    const sim::ScenarioDocument::Resolved resolution =
        resolvedForSynthesis(m_document, m_catalogue, m_chunks->currentData().toInt(), m_memory->value());
    if (!resolution.scenario) {
        showFailure(resolution.problems.empty() ? tr("The scenario has problems")
                                                : plainWords(QString::fromStdString(resolution.problems.front().message)));
        return;
    }
    m_run = std::make_unique<SynthesisRun>(*resolution.scenario, m_now);
    connect(m_run.get(), &SynthesisRun::progressed, this, &SynthesisDialog::show);
    connect(m_run.get(), &SynthesisRun::failed, this, &SynthesisDialog::showFailure);
}

void SynthesisDialog::show(const SynthesisState& state)
{
    const std::size_t constructionsBefore = m_state ? m_state->best.constructions.size() : 0;
    m_state = state;
    const sim::Synthesis& best = m_state->best;
    m_step->setText(stepText(state));
    m_span->setText(tr("%1, by pass times and latencies alone").arg(microsecondsText(best.times.span)));
    m_idle->setText(tr("%1 of the longest rank's time, %2 of the planned makespan of %3")
                        .arg(percentQuantity(best.times.idleOfSpan).text(), percentQuantity(best.times.idleOfMakespan).text(),
                             microsecondsText(best.times.makespan)));
    const QString bound =
        tr("by pass times, no order on %1 has a longest rank below %2 (%3)")
            .arg(QString::fromStdString(best.scope), microsecondsText(best.bound), QString::fromStdString(best.boundName));
    m_gap->setText(best.optimal() ? tr("Reached: %1").arg(bound)
                                  : tr("Within %1: %2").arg(percentQuantity(best.gap()).text(), bound));
    m_madeFrom->setText(QString::fromStdString(best.construction));
    m_sketch->set(&m_state->best);
    if (best.constructions.size() != constructionsBefore)
        fillTable();
    m_progress->setRange(0, 1000);
    const auto planned = static_cast<double>(std::max<std::int64_t>(state.progress.movesPlanned, 1));
    m_progress->setValue(
        best.optimal() ? 1000 : static_cast<int>(std::min(1.0, static_cast<double>(state.progress.moves) / planned) * 1000));
    m_pause->setText(state.running ? tr("Pause") : state.done ? tr("Search On") : tr("Resume"));
    m_pause->setEnabled(!best.optimal());
    m_message->setText(tr("%1 orders tried, %2 constructions. The fullest rank holds %3 of activations.")
                           .arg(separated(state.progress.moves), separated(static_cast<std::int64_t>(best.constructions.size())),
                                memoryQuantity(best.peak / kBytesPerGib).text()));
    const bool improves = m_state->improves();
    m_use->setEnabled(improves);
    m_use->setText(improves ? tr("Use This Order (%1)").arg(changeText(m_state->change())) : tr("No Better Than Now"));
}

void SynthesisDialog::showFailure(const QString& message)
{
    m_message->setText(message);
    m_progress->setRange(0, 1);
    m_progress->setValue(0);
    m_pause->setEnabled(false);
}

void SynthesisDialog::fillTable()
{
    const auto& constructions = m_state->best.constructions;
    m_table->setRowCount(static_cast<int>(constructions.size()));
    for (std::size_t i = 0; i < constructions.size(); ++i) {
        const sim::ConstructionOutcome& outcome = constructions[i];
        const bool made = outcome.span > 0;
        const QStringList texts{QString::fromStdString(outcome.name), QString::fromStdString(outcome.topology),
                                made ? microsecondsText(outcome.span) : QString(),
                                made ? memoryQuantity(outcome.peak / kBytesPerGib).text() : QString(),
                                outcome.whyNot.empty() ? tr("yes")
                                : outcome.repairedSpan > 0
                                    ? tr("brought under it: %1").arg(microsecondsText(outcome.repairedSpan))
                                    : QString::fromStdString(outcome.whyNot)};
        for (int column = 0; column < texts.size(); ++column) {
            auto* item = new QTableWidgetItem(texts[column]);
            item->setToolTip(QString::fromStdString(outcome.whyNot));
            m_table->setItem(static_cast<int>(i), column, item);
        }
    }
    m_table->resizeColumnsToContents();
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
}

void SynthesisDialog::pauseOrResume()
{
    if (!m_run || !m_state)
        return;
    if (m_state->running) {
        m_run->pause();
        m_state->running = false;
        m_pause->setText(tr("Resume"));
    } else {
        m_run->resume();
        m_state->running = true;
        m_pause->setText(tr("Pause"));
    }
}

} // namespace app
