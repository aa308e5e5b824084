#include "app/shell/details/details_panel.h"

#include "app/shell/details/reality_card.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/mask_note.h"
#include "app/shell/widgets/style.h"
#include "sim/analysis/explain/explain_whole_run.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"

#include <QLabel>
#include <QScrollBar>
#include <QStringList>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

namespace app {
namespace {

std::vector<StackedBar::Segment> memorySegments(const sim::MemoryBreakdown& m, const Theme& theme)
{
    const auto segment = [](const QString& name, std::int64_t bytes, Color color) {
        return StackedBar::Segment{name, gib(bytes), memoryQuantity(gib(bytes)).text(), toQColor(color)};
    };
    return {segment(QObject::tr("Parameters"), m.parameters, theme.parameters),
            segment(QObject::tr("Gradients"), m.gradients, theme.gradients),
            segment(QObject::tr("Optimizer"), m.optimizer, theme.optimizer),
            segment(QObject::tr("Activations"), m.activations, theme.activations),
            segment(QObject::tr("Buffers"), m.buffers, theme.buffers)};
}

} // namespace

void DetailsPanel::explain(MetricCard* card, std::vector<sim::MetricId> ids)
{
    openBecause(card, [this, card, ids = std::move(ids)] {
        const bool ofRank = card == m_memory && isRankKnown();
        return becauseOfMetrics(m_simulation, ids, ofRank ? m_rank : std::nullopt);
    });
}

void DetailsPanel::openBecause(MetricCard* card, std::function<std::vector<BecauseSubject>()> subjects)
{
    card->setExplained(true);
    connect(card, &MetricCard::explanationRequested, this, [this, card, subjects = std::move(subjects)] {
        if (!m_simulation || card->isHidden())
            return;
        auto* popup = new BecausePopup(subjects(), this);
        connect(popup, &BecausePopup::showRequested, this, &DetailsPanel::showRequested);
        popup->openBeside(*card);
    });
}

void DetailsPanel::follow(Desk& desk)
{
    m_reality->setCatalogue(desk.session().catalogue());
    const auto showStep = [this, &desk] {
        m_baselineName = desk.baseline().isReady() ? std::optional(desk.baseline().name()) : std::nullopt;
        setSimulation(desk.simulation(), desk.comparedTo(), desk.goodput(), desk.comparedRun());
    };
    connect(&desk, &Desk::opened, this, showStep);
    connect(&desk, &Desk::opened, this, [this] { // another scenario is read from its first number on
        m_scrolledFrom = 0;
        m_selectedRank.reset();
        verticalScrollBar()->setValue(0);
    });
    connect(&desk, &Desk::stepChanged, this, showStep);
    connect(&desk, &Desk::comparedToChanged, this, showStep);
    const auto showSelection = [this, &desk] {
        const Selection& selection = desk.selection();
        setRank(selection.focusRank());
        if (selection.selectedRank && selection.selectedRank != m_selectedRank) {
            if (!m_selectedRank)
                m_scrolledFrom = verticalScrollBar()->value();
            scrollToRank();
        } else if (!selection.selectedRank && m_selectedRank) {
            verticalScrollBar()->setValue(m_scrolledFrom);
        }
        m_selectedRank = selection.selectedRank;
        setSpan(desk.step().trace, selection.hoveredSpan ? selection.hoveredSpan : selection.selectedSpan);
        setIdle(selection.idle);
    };
    auto* later = new QTimer(this); // many pointer moves, one update of labels
    later->setSingleShot(true);
    connect(later, &QTimer::timeout, this, showSelection);
    const auto soon = [later] { later->start(); };
    connect(&desk, &Desk::selectionChanged, this, [soon](bool onlyCursor) {
        if (!onlyCursor)
            soon();
    });
    connect(&desk, &Desk::stepChanged, this, soon);
    connect(&desk, &Desk::detailChanged, this, soon);
    connect(&desk, &Desk::opened, this, soon);
}

void DetailsPanel::setSimulation(std::shared_ptr<const sim::Simulation> simulation, const std::optional<sim::Metrics>& before,
                                 const std::optional<sim::Goodput>& goodput, const std::optional<sim::WholeRun>& runBefore)
{
    m_runBefore = runBefore;
    m_simulation = std::move(simulation);
    m_before = before;
    m_failing = goodput;
    widget()->setVisible(m_simulation != nullptr && !m_isMasked);
    m_reality->setSimulation(m_simulation);
    if (m_simulation)
        showMetrics();
    showRank();
}

void DetailsPanel::setMasked(bool masked, const QString& why)
{
    m_maskNote->setText(why);
    m_isMasked = masked;
    widget()->setVisible(m_simulation != nullptr && !masked);
    m_maskNote->setVisible(masked);
}

void DetailsPanel::setTheme(const Theme& theme)
{
    m_theme = &theme;
    m_exposedBar->setTheme(theme);
    m_reality->setTheme(theme);
    m_memoryBar->setTheme(theme);
    setSimulation(m_simulation, m_before, m_failing, m_runBefore);
}

void DetailsPanel::showMetrics()
{
    const sim::Metrics& m = m_simulation->metrics();
    m_stepTime->setValue(durationQuantity(m.stepTimeSeconds));
    const sim::Uncertainty& sure = m_simulation->scenario().uncertainty;
    const Quantity low = durationQuantity(m.stepTimeSeconds * sure.stepLow);
    const Quantity high = durationQuantity(m.stepTimeSeconds * sure.stepHigh);
    const QString likely = sure.isKnown() ? tr("likely %1–%2").arg(low.unit == high.unit ? low.number : low.text(), high.text())
                                          : QString::fromStdString(sure.basis);
    m_stepTime->setNote(misfit() + likely + QStringLiteral("<br>") +
                            tr("%1 a GPU").arg(flopRateQuantity(m.modelTflopsPerGpu * 1e12).text()),
                        Qt::RichText);
    const QString supposed = sim::fitsEverywhere(*m_simulation) ? QString() : tr("if it fitted; ");
    m_tokens->setValue(countQuantity(m.tokensPerSecond));
    m_tokens->setNote(supposed + tr("%1 a GPU").arg(countQuantity(m.tokensPerSecondPerGpu).text()));
    m_mfu->setValue(percentQuantity(m.mfu));
    const QString full = percentQuantity(m.mfuFullAttention).text();
    m_mfu->setNote(supposed + (!m_simulation->scenario().training.causal ? tr("attention in full")
                               : m.mfuFullAttention > 1                  ? tr("causal; full %1, with work skipped").arg(full)
                                                                         : tr("causal; full %1").arg(full)));
    m_bubble->setValue(percentQuantity(m.bubbleFraction));
    m_bubble->setNote(tr("of the step"));
    m_parameters->setValue(countQuantity(static_cast<double>(m.parameters)));
    const QString all = separated(m.parameters); // of a small model the value itself
    m_parameters->setNote(all == countQuantity(static_cast<double>(m.parameters)).text() ? QString() : all);
    showExposed();
    showGoodput();
    showRun();

    const QString against =
        m_baselineName ? tr("▲▼ against the baseline “%1”").arg(*m_baselineName) : tr("▲▼ against the step before");
    m_against->setText(against);
    // A renamed scenario has no other numbers; beside a baseline it is told that there is one.
    const bool isAlike = m_before && m_before->stepTimeSeconds == m.stepTimeSeconds &&
                         m_before->peakMemoryGib == m.peakMemoryGib && m_before->tokensPerSecond == m.tokensPerSecond &&
                         m_before->parameters == m.parameters;
    m_against->setVisible(m_before && (m_baselineName || !isAlike));
    for (MetricCard* card : {m_stepTime, m_tokens, m_mfu, m_bubble, m_parameters, m_exposed, m_memory, m_run}) {
        card->hideChange();
        card->setAgainst(against, m_baselineName.has_value());
    }
    if (!m_before)
        return;
    m_stepTime->showChange(m_before->stepTimeSeconds, m.stepTimeSeconds);
    m_tokens->showChange(m_before->tokensPerSecond, m.tokensPerSecond);
    m_mfu->showChange(m_before->mfu, m.mfu);
    m_bubble->showChange(m_before->bubbleFraction, m.bubbleFraction);
    m_parameters->showChange(static_cast<double>(m_before->parameters), static_cast<double>(m.parameters));
    if (const auto& before = m_runBefore; before && std::isfinite(before->days))
        if (const sim::WholeRun run = shownRun(); run.tokens == before->tokens && std::isfinite(run.days))
            m_run->showChange(before->days, run.days);
    m_exposed->showChange(m_before->exposedComm.total(), m.exposedComm.total());
}

/// "<b>does not fit</b>: 119 of 40 GiB; if it did:" and a line's end, in front of numbers of a step that cannot run.
QString DetailsPanel::misfit() const
{
    const auto found = sim::misfit(*m_simulation);
    return found ? tr("<b style=\"color:%1\">does not fit</b>: %2; if it did:")
                           .arg(toQColor(m_theme->error).name(), QString::fromStdString(found->text())) +
                       QStringLiteral("<br>")
                 : QString();
}

/// Of a run that fails; without failures there is nothing to say.
void DetailsPanel::showGoodput()
{
    m_goodput->setVisible(m_failing.has_value());
    m_goodput->hideChange();
    if (!m_failing)
        return;
    m_goodput->setValue(percentQuantity(m_failing->shares.useful));
    QStringList lines{tr("failures: %1").arg(QString::fromStdString(m_failing->failuresText()))};
    if (m_failing->months)
        lines << QString::fromStdString(m_failing->monthsText());
    m_goodput->setNote(lines.join(QLatin1Char('\n')));
}

/// What the tokens of the scenario take; of one that does not say, so many as one can compare by.
sim::WholeRun DetailsPanel::shownRun() const
{
    return sim::lastingRun(*m_simulation, sim::tokensToTell(m_simulation->scenario()));
}

void DetailsPanel::showRun()
{
    const sim::WholeRun run = shownRun(), ideal = sim::wholeRun(*m_simulation, run.tokens);
    constexpr double kSecondsADay = 86400;
    const auto lasts = [](const sim::WholeRun& of) { return QString::fromStdString(sim::durationText(of.days * kSecondsADay)); };
    m_run->setTitle(tr("Whole run of %1").arg(QString::fromStdString(sim::tokensText(run.tokens))));
    m_run->setValue({lasts(run).section(QLatin1Char(' '), 0, 0), lasts(run).section(QLatin1Char(' '), 1)});
    constexpr double kCounted = 10'000; // more is told short
    QStringList lines{run.steps < kCounted
                          ? QString::fromStdString(sim::countedText(static_cast<std::int64_t>(run.steps), "step"))
                          : tr("%1 steps").arg(countQuantity(run.steps).text())};
    if (std::isfinite(run.days)) {
        lines << tr("%1 GPU hours").arg(countQuantity(run.gpuHours).text());
        if (m_gpuHourPrice > 0)
            lines << tr("costs %1").arg(countQuantity(run.gpuHours * m_gpuHourPrice).text());
        const QString energy = QString::fromStdString(run.energyText());
        lines << (run.mostEnergyKwh() ? energy : tr("%1, in the hardware details").arg(energy));
    }
    if (m_failing)
        lines << tr("with failures; without %1").arg(lasts(ideal));
    if (m_simulation->scenario().training.tokens <= 0)
        lines << tr("tokens supposed, to compare jobs by: the scenario names none");
    if (!sim::fitsEverywhere(*m_simulation))
        lines.prepend(tr("if it fitted"));
    m_run->setNote(lines.join(QLatin1Char('\n')));
    m_price->setText(m_gpuHourPrice > 0
                         ? tr("at %1 a GPU hour…").arg(QString::fromStdString(sim::numberText(m_gpuHourPrice, sim::Unit::number)))
                         : tr("Price of a GPU hour…"));
}

void DetailsPanel::setGpuHourPrice(double price)
{
    m_gpuHourPrice = price;
    if (m_simulation)
        showRun();
}

void DetailsPanel::showExposed()
{
    const auto& e = m_simulation->metrics().exposedComm;
    m_exposed->setValue(percentQuantity(e.total()));
    std::vector<StackedBar::Segment> dimensions;
    for (const sim::Dimension dimension : sim::kDimensions) {
        const auto& [name, group] = sim::kDimensionFacts[dimension];
        if (m_simulation->mesh().groupSize(group) > 1 ||
            e[dimension] > 0) // tied embeddings are reduced on the stream of dp even where dp is 1
            dimensions.push_back(
                {QString::fromStdString(dimension == sim::Dimension::dp ? sim::purposeName(*m_simulation, dimension)
                                                                        : std::string(name)),
                 e[dimension], percentQuantity(e[dimension]).text(), toQColor(m_theme->fill(sim::opClassOf(dimension)))});
    }
    m_exposedBar->setSegments(std::move(dimensions), 1); // the step
}

/// Of the rank that is pointed at, else of the fullest.
void DetailsPanel::showMemory()
{
    if (!m_simulation)
        return;
    const sim::Metrics& m = m_simulation->metrics();
    const double capacity = sim::capacityGib(m_simulation->scenario());
    sim::MemoryBreakdown memory;
    if (isRankKnown()) {
        memory = m_simulation->memoryOfClass(m_simulation->classOf(*m_rank));
        m_memory->setTitle(tr("Peak memory of rank %1").arg(separated(*m_rank)));
    } else {
        const auto fullest = std::max_element(m.perPipelineRank.begin(), m.perPipelineRank.end(),
                                              [](const auto& a, const auto& b) { return a.memory.total() < b.memory.total(); });
        if (fullest != m.perPipelineRank.end())
            memory = fullest->memory;
        m_memory->setTitle(tr("Peak memory of the fullest rank"));
    }
    const double used = gib(memory.total());
    const auto [value, limit] = memoryBesideLimit(used, capacity);
    m_memory->setValue(value);
    m_memory->setNote(used <= capacity ? tr("fits in %1 GiB, %2 left").arg(limit, memoryQuantity(capacity - used).text())
                                       : tr("<b style=\"color:%1\">does not fit</b> in %2 GiB, %3 too much")
                                             .arg(toQColor(m_theme->error).name(), limit, memoryQuantity(used - capacity).text()),
                      Qt::RichText);
    m_memoryBar->setSegments(memorySegments(memory, *m_theme), capacity);
    if (m_before && !isRankKnown())
        m_memory->showChange(m_before->peakMemoryGib, m.peakMemoryGib);
    else
        m_memory->hideChange();
}

} // namespace app
