#include "app/shell/details/details_panel.h"

#include "app/shell/details/reality_card.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/mask_note.h"
#include "app/shell/widgets/style.h"
#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/explain/explain_whole_run.h"
#include "sim/mesh/spoken_group.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollBar>
#include <QStringList>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

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

QLabel* label(const char* role)
{
    auto* out = new QLabel;
    setRole(out, role);
    out->setWordWrap(true);
    return out;
}

/// "0 1 2 3 … 15": the first few and the last.
QString membersText(const sim::Mesh& mesh, sim::ProcessGroup kind, int group, int rank)
{
    constexpr int kShown = 4;
    const int size = mesh.groupSize(kind);
    QStringList parts;
    const auto add = [&](int index) {
        const int member = mesh.member(kind, group, index);
        parts << (member == rank ? QStringLiteral("<b>%1</b>").arg(separated(member)) : separated(member));
    };
    if (size <= kShown + 2) {
        for (int i = 0; i < size; ++i)
            add(i);
    } else {
        for (int i = 0; i < kShown; ++i)
            add(i);
        parts << QStringLiteral("…");
        add(size - 1);
    }
    return parts.join(QLatin1Char(' '));
}

/// What a span is, when, and how fast its work went.
QStringList spanLines(const sim::Trace& trace, SpanRef span)
{
    const sim::Track& track = trace.tracks[span.track];
    const sim::SpanKind& kind = trace.kinds[track.kind[span.span]];
    const double seconds = static_cast<double>(track.durationNs[span.span]) * 1e-9;
    QStringList what{QString::fromLatin1(sim::opClassName(kind.opClass))};
    if (kind.stage >= 0)
        what << QObject::tr("stage %1").arg(kind.stage);
    if (kind.layer >= 0)
        what << QObject::tr("layer %1").arg(kind.layer);
    if (track.microbatch[span.span] >= 0)
        what << QObject::tr("micro-batch %1").arg(QString::fromStdString(trace.microbatchText(track.microbatch[span.span])));
    QStringList lines{what.join(QStringLiteral(" · ")),
                      QObject::tr("%1, from %2 on")
                          .arg(durationQuantity(seconds).text(),
                               durationQuantity(static_cast<double>(track.startNs[span.span]) * 1e-9).text())};
    if (kind.flops > 0 && seconds > 0)
        lines << QObject::tr("%1 GFLOP at %2").arg(shortNumber(kind.flops * 1e-9), flopRateQuantity(kind.flops / seconds).text());
    if (kind.bytes > 0) {
        QString line = memoryQuantity(gib(kind.bytes)).text();
        if (seconds > 0)
            line += QObject::tr(" at %1 GB/s").arg(shortNumber(static_cast<double>(kind.bytes) * 1e-9 / seconds));
        if (!kind.group.empty())
            line += QObject::tr(" in group %1").arg(QString::fromStdString(kind.group));
        lines << line;
    }
    return lines;
}

} // namespace

DetailsPanel::DetailsPanel(QWidget* parent) : QScrollArea(parent), m_theme(&lightTheme())
{
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setRole(this, "pane");
    setAccessibleName(tr("Details"));

    m_stepTime = new MetricCard(tr("Step time"), Better::lower);
    m_tokens = new MetricCard(tr("Tokens/s"), Better::higher);
    m_mfu = new MetricCard(tr("MFU"), Better::higher, DeltaUnit::points);
    m_bubble = new MetricCard(tr("Bubble"), Better::lower, DeltaUnit::points);
    m_goodput = new MetricCard(tr("Goodput"), Better::neither);
    m_run = new MetricCard(tr("Whole run"), Better::lower);
    m_price = new QToolButton;
    setRole(m_price, "link");
    m_run->addBelow(m_price);
    connect(m_price, &QToolButton::clicked, this, &DetailsPanel::priceRequested);
    m_parameters = new MetricCard(tr("Parameters"), Better::neither);
    m_exposed = new MetricCard(tr("Exposed communication"), Better::lower, DeltaUnit::points);
    m_memory = new MetricCard(tr("Peak memory"), Better::lower);
    m_exposedBar = new StackedBar;
    m_exposed->addBelow(m_exposedBar);
    m_memoryBar = new StackedBar;
    m_memory->addBelow(m_memoryBar);

    using enum sim::MetricId;
    explain(m_stepTime, {stepTime, modelFlopRate, hardwareFlopRate});
    explain(m_tokens, {tokensPerSecond, tokensPerSecondPerGpu});
    explain(m_mfu, {mfu, mfuFullAttention, hfu});
    explain(m_bubble, {bubble});
    openBecause(m_goodput, [this] {
        return std::vector<BecauseSubject>{{tr("Goodput"), [simulation = m_simulation, failing = *m_failing] {
                                                return sim::explainGoodput(*simulation, failing);
                                            }}};
    });
    openBecause(m_run, [this] {
        const double tokens = sim::tokensToTell(m_simulation->scenario());
        const auto of = [&](const QString& name, auto why) {
            return BecauseSubject{name, [simulation = m_simulation, tokens, why] { return why(*simulation, tokens); }};
        };
        return std::vector{of(tr("Time"), sim::explainRunTime), of(tr("GPU hours"), sim::explainRunGpuHours)};
    });
    explain(m_parameters, {parameters});
    explain(m_exposed, {exposed});
    explain(m_memory, {peakMemory});

    m_spanSection = label("section");
    m_spanSection->setText(tr("SPAN"));
    m_spanTitle = label("heading");
    m_spanText = label("muted");
    m_idleSection = label("section");
    m_idleSection->setText(tr("IDLE"));
    m_idleTitle = label("heading");
    m_idleText = label("muted");
    m_rankSection = label("section");
    m_rankSection->setText(tr("RANK"));
    m_rankSection->setContentsMargins(0, 8, 0, 0);
    m_rankTitle = label("heading");
    m_coordinates = label("muted");
    m_place = label("muted");
    m_alike = label("small");
    m_groups = new QGridLayout;
    m_groups->setHorizontalSpacing(12);
    m_groups->setVerticalSpacing(3);
    m_groups->setColumnStretch(2, 1);

    auto* cards = new QGridLayout;
    cards->setSpacing(8);
    cards->addWidget(m_stepTime, 0, 0);
    cards->addWidget(m_tokens, 0, 1);
    cards->addWidget(m_mfu, 1, 0);
    cards->addWidget(m_bubble, 1, 1);
    cards->addWidget(m_goodput, 2, 0, 1, 2);
    cards->addWidget(m_memory, 3, 0, 1, 2);
    m_reality = new RealityCard;
    cards->addWidget(m_reality, 4, 0, 1, 2);
    cards->addWidget(m_exposed, 5, 0, 1, 2);
    cards->addWidget(m_run, 6, 0, 1, 2);
    cards->setColumnStretch(0, 1);
    cards->setColumnStretch(1, 1);
    cards->setColumnMinimumWidth(0, 100);
    cards->setColumnMinimumWidth(1, 100);

    m_against = label("against");
    m_against->hide();
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(14, 4, 12, 16);
    column->setSpacing(6);
    column->addWidget(m_against);
    column->addLayout(cards);
    column->addSpacing(8);
    for (QWidget* line : {m_spanSection, m_spanTitle, m_spanText, m_idleSection, m_idleTitle, m_idleText, m_rankSection,
                          m_rankTitle, m_coordinates, m_place, m_alike})
        column->addWidget(line);
    column->addLayout(m_groups);
    column->addSpacing(8);
    column->addWidget(m_parameters);
    column->addStretch();
    setWidget(page);
    m_maskNote = new MaskNote(viewport());
    setSpan(nullptr, std::nullopt);
    setIdle(std::nullopt);
}

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

void DetailsPanel::setRank(std::optional<int> rank)
{
    if (rank == m_rank)
        return;
    m_rank = rank;
    showRank();
}

bool DetailsPanel::isRankKnown() const
{
    return m_simulation && m_rank && *m_rank < m_simulation->mesh().worldSize();
}

void DetailsPanel::scrollToRank()
{
    ensureWidgetVisible(m_alike->isVisible() ? m_alike : m_place, 0, 120);
}

void DetailsPanel::setSpan(const std::shared_ptr<const sim::Trace>& trace, std::optional<SpanRef> span)
{
    const bool known = trace && span && span->track < trace->tracks.size() && span->span < trace->tracks[span->track].size();
    for (QLabel* line : {m_spanSection, m_spanTitle, m_spanText})
        line->setVisible(known);
    if (!known) {
        m_spanTitle->clear();
        m_spanText->clear();
        return;
    }
    m_spanTitle->setText(spanName(*trace, *span));
    m_spanText->setText(spanLines(*trace, *span).join(QLatin1Char('\n')));
}

void DetailsPanel::setIdle(const std::optional<IdleTime>& idle)
{
    for (QLabel* line : {m_idleSection, m_idleTitle, m_idleText})
        line->setVisible(idle.has_value());
    if (!idle) {
        m_idleTitle->clear();
        m_idleText->clear();
        return;
    }
    const auto seconds = [](std::int64_t ns) { return durationQuantity(static_cast<double>(ns) * 1e-9).text(); };
    m_idleTitle->setText(
        tr("Rank %1, from %2 to %3").arg(separated(idle->rank), seconds(idle->time.beginNs), seconds(idle->time.endNs)));
    m_idleText->setText(QString::fromStdString(idle->why));
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
    m_stepTime->setNote(misfit() + tr("likely %1–%2").arg(low.unit == high.unit ? low.number : low.text(), high.text()) +
                            QStringLiteral("<br>") + tr("%1 a GPU").arg(flopRateQuantity(m.modelTflopsPerGpu * 1e12).text()),
                        Qt::RichText);
    const QString supposed = m.fits ? QString() : tr("if it fitted; ");
    m_tokens->setValue(countQuantity(m.tokensPerSecond));
    m_tokens->setNote(supposed + tr("%1 a GPU").arg(countQuantity(m.tokensPerSecondPerGpu).text()));
    m_mfu->setValue(percentQuantity(m.mfu));
    const QString full = percentQuantity(m.mfuFullAttention).text();
    m_mfu->setNote(supposed + (m.mfuFullAttention > 1 ? tr("causal; full %1, with work skipped").arg(full)
                                                      : tr("causal; full %1").arg(full)));
    m_bubble->setValue(percentQuantity(m.bubbleFraction));
    m_bubble->setNote(tr("of the step"));
    m_parameters->setValue(countQuantity(static_cast<double>(m.parameters)));
    m_parameters->setNote(separated(m.parameters));
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
    const sim::Metrics& m = m_simulation->metrics();
    if (m.fits)
        return {};
    return tr("<b style=\"color:%1\">does not fit</b>: %2 of %3 GiB; if it did:")
               .arg(toQColor(m_theme->error).name(), shortNumber(m.peakMemoryGib),
                    shortNumber(m_simulation->scenario().cluster.gpu.memoryGib)) +
           QStringLiteral("<br>");
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
    QStringList lines{tr("%1 steps").arg(countQuantity(run.steps).text())};
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
        lines << tr("so many tokens to compare by: the scenario says no number");
    if (!m_simulation->metrics().fits)
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
    const double capacity = m_simulation->scenario().cluster.gpu.memoryGib;
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
    m_memory->setValue(memoryQuantity(used));
    m_memory->setNote(
        used <= capacity
            ? tr("fits in %1 GiB, %2 left").arg(shortNumber(capacity), memoryQuantity(capacity - used).text())
            : tr("<b style=\"color:%1\">does not fit</b> in %2 GiB, %3 too much")
                  .arg(toQColor(m_theme->error).name(), shortNumber(capacity), memoryQuantity(used - capacity).text()),
        Qt::RichText);
    m_memoryBar->setSegments(memorySegments(memory, *m_theme), capacity);
    if (m_before && !isRankKnown())
        m_memory->showChange(m_before->peakMemoryGib, m.peakMemoryGib);
    else
        m_memory->hideChange();
}

void DetailsPanel::showRank()
{
    showMemory();
    const bool known = isRankKnown();
    for (QLabel* line : {m_rankTitle, m_place, m_alike})
        line->setVisible(known);
    while (QLayoutItem* item = m_groups->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    if (!known) {
        m_coordinates->setText(tr("Point at a rank to see its place, its groups and what fills its memory."));
        return;
    }
    const int rank = *m_rank;
    const sim::Mesh& mesh = m_simulation->mesh();
    const sim::Placement& placement = m_simulation->placement();
    const sim::Coordinates c = mesh.coordinates(rank);
    const sim::Scenario& scenario = m_simulation->scenario();
    m_rankTitle->setText(tr("Rank %1").arg(separated(rank)));
    QString coordinates = QStringLiteral("tp %1 · cp %2 · pp %3 · dp %4").arg(c.tp).arg(c.cp).arg(c.pp).arg(c.dp);
    if (scenario.layout.ep > 1)
        coordinates += QStringLiteral(" · ep %1").arg(c.ep);
    m_coordinates->setText(coordinates);

    QStringList stages;
    for (const int stage : m_simulation->schedule().stagesOfRank(c.pp))
        stages << QString::number(stage);
    m_place->setText(tr("Node %1, GPU %2 · stage %3")
                         .arg(separated(placement.node(rank)))
                         .arg(placement.gpuOfNode(rank))
                         .arg(stages.join(QStringLiteral(", "))));
    const int classIndex = m_simulation->classOf(rank);
    const int alike = m_simulation->classSize(classIndex);
    m_alike->setText(alike == 2  ? tr("Behaves exactly as 1 other")
                     : alike > 2 ? tr("Behaves exactly as %1 others").arg(separated(alike - 1))
                                 : QString());
    m_alike->setVisible(alike > 1);

    showGroups(rank);
}

void DetailsPanel::showGroups(int rank)
{
    const sim::Mesh& mesh = m_simulation->mesh();
    using enum sim::ProcessGroup;
    int line = 0;
    // Who holds the same experts, where that is not who holds the same of everything.
    const auto membersOf = [&](sim::ProcessGroup kind) {
        const int group = mesh.groupOf(kind, rank);
        return group < 0 ? std::vector{rank} : mesh.members(kind, group);
    };
    const bool hasExpertsElsewhere = m_simulation->scenario().model.numExperts > 0 && membersOf(expt_dp) != membersOf(dp_cp);
    for (const sim::ProcessGroup kind : {tp, cp, pp, dp, dp_cp, ep, expt_dp}) {
        const int group = mesh.groupOf(kind, rank);
        const int size = group < 0 ? 1 : mesh.groupSize(kind);
        if (size < 2 || (kind == dp_cp && (mesh.groupSize(cp) < 2 || mesh.groupSize(dp) < 2)) ||
            (kind == expt_dp && !hasExpertsElsewhere))
            continue;
        const std::string name = sim::spokenGroup(sim::processGroupName(kind), m_simulation->scenario().layout);
        const auto purpose = sim::processGroupPurpose(kind);
        auto* nameLabel = new QLabel(QString::fromStdString(name));
        auto* sizeLabel = new QLabel(separated(size));
        auto* members = new QLabel(membersText(mesh, kind, group, rank));
        setRole(nameLabel, "muted");
        setRole(sizeLabel, "muted");
        sizeLabel->setAlignment(Qt::AlignRight);
        members->setTextFormat(Qt::RichText);
        members->setWordWrap(true);
        for (QLabel* l : {nameLabel, sizeLabel, members})
            l->setToolTip(QString::fromUtf8(purpose.data(), static_cast<qsizetype>(purpose.size())));
        m_groups->addWidget(nameLabel, line, 0, Qt::AlignTop);
        m_groups->addWidget(sizeLabel, line, 1, Qt::AlignTop);
        m_groups->addWidget(members, line, 2);
        ++line;
    }
}

QString DetailsPanel::spanText() const
{
    return m_spanTitle->text() + QLatin1Char('\n') + m_spanText->text();
}

QString DetailsPanel::idleText() const
{
    return m_idleTitle->text() + QLatin1Char('\n') + m_idleText->text();
}

QString DetailsPanel::rankText() const
{
    return QStringList{m_rankTitle->text(), m_coordinates->text(), m_place->text(), m_memoryBar->summary()}.join(
        QLatin1Char('\n'));
}

} // namespace app
