#include "app/views/grid/grid_model.h"

#include "sim/index.h"

#include <algorithm>

namespace app {

void GridModel::setStep(const ShownStep& step)
{
    m_waits.reset(); // it looks into the simulation that goes
    m_step = step;
    m_use.reset();
    m_processOf.clear();
    m_reading = {};
    if (m_step.simulation) {
        m_use.emplace(m_step.simulation);
        m_arrangement.seats = fitted(m_arrangement.seats, m_step.simulation->mesh());
        if (m_step.instants)
            placeProcesses();
    } else {
        m_step.instants.reset(); // of which rank, nobody knows
    }
    m_layoutStale = m_readingStale = true;
    m_groupsOf.reset();
    m_groups.clear();
}

void GridModel::setNow(std::vector<RankNow> now)
{
    m_now = std::move(now);
    m_readingStale = true;
}

void GridModel::setMeasured(std::vector<MeasuredRank> measured)
{
    m_measured = std::move(measured);
    m_readingStale = true;
    if (m_step.simulation && m_step.instants)
        placeProcesses();
}

bool GridModel::setKnown(KnownGrid known)
{
    if (known == m_known)
        return false;
    m_known = std::move(known);
    m_layoutStale = m_readingStale = true;
    m_groupsOf.reset();
    m_groups.clear();
    return true;
}

void GridModel::setLens(GridLens lens)
{
    m_readingStale = m_readingStale || lens != m_lens;
    m_lens = lens;
}

void GridModel::setArrangement(GridArrangement arrangement)
{
    m_layoutStale = m_layoutStale || arrangement != m_arrangement;
    m_arrangement = std::move(arrangement);
}

void GridModel::setOnlyTold(bool onlyTold)
{
    m_isOnlyTold = onlyTold;
}

const std::vector<RankNow>* GridModel::live() const
{
    return m_step.simulation && m_now.size() == sim::asIndex(ranks()) ? &m_now : nullptr;
}

const std::vector<MeasuredRank>* GridModel::measured() const
{
    return m_step.simulation && !m_measured.empty() && m_measured.size() == sim::asIndex(ranks()) ? &m_measured : nullptr;
}

sim::WaitChains* GridModel::waits()
{
    if (!m_step.simulation || live() != nullptr || measured() != nullptr)
        return nullptr;
    if (!m_waits)
        m_waits = std::make_unique<sim::WaitChains>(*m_step.simulation);
    return m_waits.get();
}

GridChoices GridModel::choices() const
{
    GridChoices choices{.lens = m_lens, .physical = m_known.areNodesKnown && m_arrangement.physical, .known = m_known};
    if (m_known.isKnown()) {
        choices.automatic = m_arrangement.seats.empty();
        choices.seats = choices.automatic && !choices.physical ? m_layout.seats() : m_arrangement.seats;
    }
    return choices;
}

GridPlan GridModel::plan() const
{
    GridPlan plan = unnamedPlan();
    for (GridLevel& level : plan.levels)
        level.word = m_known.wordOf(level.axis);
    return plan;
}

GridPlan GridModel::unnamedPlan() const
{
    const sim::Scenario& scenario = m_step.simulation->scenario();
    if (m_arrangement.physical && m_known.areNodesKnown)
        return physicalPlan(m_step.simulation->placement(), scenario.cluster, ranks());
    if (!m_known.isKnown())
        return numberedPlan(ranks());
    if (!m_arrangement.seats.empty())
        return seatedPlan(m_step.simulation->mesh(), m_arrangement.seats);
    const bool packed = m_known.areNodesKnown && scenario.layout.placement == sim::PlacementRule::packed;
    return automaticPlan(m_step.simulation->mesh(), packed ? scenario.cluster.gpusPerNode : 0);
}

bool GridModel::layOut(Rect area, GridCamera& camera)
{
    const Rect plot = frame(area).plot;
    const bool anew = m_layoutStale || plot != m_laidOutFor;
    if (anew) {
        m_layout = GridLayout(plan(), plot.width() - 2 * GridCamera::kEdge, plot.height() - 2 * GridCamera::kEdge);
        const auto columns = sim::asIndex(m_layout.columns());
        m_rankOfCell.assign(columns * sim::asIndex(m_layout.rows()), -1);
        for (int rank = 0; rank < m_layout.ranks(); ++rank)
            m_rankOfCell[sim::asIndex(m_layout.row(rank)) * columns + sim::asIndex(m_layout.column(rank))] = rank;
        m_laidOutFor = plot;
        m_layoutStale = false;
        m_tonesStale = true;
    }
    camera.look(m_layout, plot);
    return anew;
}

void GridModel::prepareInstants()
{
    if (m_step.instants)
        return;
    if (!m_step.trace)
        m_step.trace = std::make_shared<const sim::Trace>(m_step.simulation->trace(sim::TraceDetail::actions));
    m_step.instants = std::make_shared<const Instants>(m_step.trace);
    placeProcesses();
}

void GridModel::placeProcesses()
{
    m_processOf.assign(sim::asIndex(ranks()), -1);
    if (measured() == nullptr &&
        m_step.instants->processes() == m_step.simulation->classCount()) { // process i of a simulated trace is class i
        for (int rank = 0; rank < ranks(); ++rank)
            m_processOf[sim::asIndex(rank)] = m_step.simulation->classOf(rank);
        return;
    }
    for (int process = 0; process < m_step.instants->processes(); ++process)
        if (const int rank = m_step.trace->processes[sim::asIndex(process)].rank; rank >= 0 && rank < ranks())
            m_processOf[sim::asIndex(rank)] = process;
}

void GridModel::read(const Selection& selection)
{
    // Of a recording nobody is said to wait for another: messages of whole actions are not what was recorded.
    // Nor is what stands in for it, where no step of it is shown.
    const bool isPredicted = measured() == nullptr;
    const bool needsInstants =
        (m_lens == GridLens::now && (isPredicted || m_step.instants)) || (m_lens == GridLens::bubble && isPredicted);
    if (needsInstants)
        prepareInstants();
    const bool moved = m_lens == GridLens::now && (selection.cursorNs != m_readAtNs || selection.classes != m_readClasses);
    if (m_readingStale || moved) {
        m_reading = readLens(m_lens, {.simulation = *m_step.simulation,
                                      .use = *m_use,
                                      .instants = needsInstants ? instants() : nullptr,
                                      .processOf = &m_processOf,
                                      .live = live(),
                                      .measured = measured(),
                                      .cursorNs = selection.cursorNs,
                                      .classes = selection.classes});
        m_reading.areDevicesKnown = measured() == nullptr || std::any_of(measured()->begin(), measured()->end(),
                                                                         [](const MeasuredRank& of) { return of.isRecorded; });
        m_reading.known = m_known;
        m_readAtNs = selection.cursorNs;
        m_readClasses = selection.classes;
        m_readingStale = false;
        m_tonesStale = true;
    }
    if (!m_tonesStale)
        return;
    m_tones.resize(m_rankOfCell.size());
    for (std::size_t cell = 0; cell < m_rankOfCell.size(); ++cell)
        m_tones[cell] = m_rankOfCell[cell] < 0 ? GridReading::kNothing
                                               : m_reading.tones[m_reading.unitOf(*m_step.simulation, m_rankOfCell[cell])];
    m_tonesStale = false;
}

const std::vector<LitGroup>& GridModel::groupsOf(std::optional<int> rank)
{
    if (rank != m_groupsOf) {
        m_groups = rank && m_known.isKnown() ? litGroups(m_step.simulation->mesh(), *rank, m_known) : std::vector<LitGroup>{};
        m_groupsOf = rank;
    }
    return m_groups;
}

} // namespace app
