#include "app/views/memory/memory_model.h"

#include "app/views/common/labels.h"
#include "app/views/common/memory_parts.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace app {
namespace {

using sim::asIndex;

std::string stagesText(const std::vector<int>& stages)
{
    return (stages.size() == 1 ? "stage " : "stages ") + rankListText(stages);
}

} // namespace

HeldOverTime::HeldOverTime(sim::MemoryCurves curves)
    : m_curves(std::move(curves)), m_sum([this] {
          sim::Counter sum{.timeNs = m_curves.timeNs};
          for (std::size_t i = 0; i < m_curves.size(); ++i)
              sum.value.push_back(m_curves.activations[i] + m_curves.buffers[i]);
          return sum;
      }()),
      m_levels(m_sum), m_peak(m_curves.peak())
{
}

sim::MemoryBreakdown HeldOverTime::fullest(std::int64_t beginNs, std::int64_t endNs) const
{
    const auto point = m_levels.highestPoint(beginNs, endNs);
    return point ? m_curves.at(*point) : m_curves.states;
}

MemoryModel::MemoryModel(SimulationPtr simulation, const TracePtr& trace) : m_simulation(std::move(simulation))
{
    const sim::Simulation& s = *m_simulation;
    m_capacity = capacityBytes(s.scenario().cluster.gpu.memoryGib);
    m_endNs = trace ? trace->endNs : std::llround(s.metrics().stepTimeSeconds * 1e9);
    // What ranks hold is decided by the order of their ops, so a pipeline rank is nearly always one row.
    using Key = std::tuple<int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Key, std::vector<int>> classes;
    for (int c = 0; c < s.classCount(); ++c) {
        const sim::MemoryBreakdown m = s.memoryOfClass(c);
        const int pp = s.mesh().coordinates(s.representative(c)).pp;
        classes[{pp, m.parameters, m.gradients, m.optimizer, m.activations, m.buffers}].push_back(c);
    }
    m_rowOfClass.resize(asIndex(s.classCount()));
    for (const auto& [key, of] : classes) {
        for (const int c : of)
            m_rowOfClass[asIndex(c)] = static_cast<int>(m_rows.size());
        m_rows.push_back({.pipelineRank = std::get<0>(key), .classIndex = of.front(), .peak = s.memoryOfClass(of.front())});
    }
    for (int rank = 0; rank < s.mesh().worldSize(); ++rank)
        m_rows[asIndex(rowOfRank(rank))].ranks.push_back(rank);
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        nameRow(m_rows[i]);
        if (m_rows[i].peak.total() > m_rows[asIndex(m_fullest)].peak.total())
            m_fullest = static_cast<int>(i);
    }
    m_held.resize(m_rows.size());
}

void MemoryModel::nameRow(MemoryRow& row) const
{
    const sim::Simulation& s = *m_simulation;
    const auto many = row.ranks.size() == 1 ? "rank " + countText(row.ranks.front())
                                            : countText(static_cast<std::int64_t>(row.ranks.size())) + " ranks";
    if (s.mesh().pipelineRanks() == 1) {
        const bool all = static_cast<int>(row.ranks.size()) == s.mesh().worldSize();
        row.names = {!all || row.ranks.size() == 1 ? many : row.ranks.size() == 2 ? "both ranks" : "all " + many, many};
        if (!all)
            row.names.insert(row.names.begin(), "ranks " + rankListText(row.ranks));
        return;
    }
    const std::string pp = "pp " + countText(row.pipelineRank);
    const std::string stages = stagesText(s.schedule().stagesOfRank(row.pipelineRank));
    const bool alone = static_cast<int>(row.ranks.size()) * s.mesh().pipelineRanks() == s.mesh().worldSize();
    const bool numbersAgree = stages == "stage " + countText(row.pipelineRank);
    row.names = {pp + " · " + many, pp};
    if (!alone)
        row.names.insert(row.names.begin(), pp + " · ranks " + rankListText(row.ranks));
    else if (!numbersAgree)
        row.names.insert(row.names.begin(), {pp + " · " + stages + " · " + many, pp + " · " + stages});
    row.names.push_back(countText(row.pipelineRank));
}

int MemoryModel::rowOfRank(int rank) const
{
    return m_rowOfClass[asIndex(m_simulation->classOf(rank))];
}

int MemoryModel::shownRow(const Selection& selection) const
{
    const auto rank = selection.focusRank();
    return rank && *rank >= 0 && *rank < m_simulation->mesh().worldSize() ? rowOfRank(*rank) : m_fullest;
}

int MemoryModel::rankOf(int row, const Selection& selection) const
{
    const std::vector<int>& ranks = m_rows[asIndex(row)].ranks;
    const bool selected = selection.selectedRank && std::binary_search(ranks.begin(), ranks.end(), *selection.selectedRank);
    return selected ? *selection.selectedRank : ranks.front();
}

int MemoryModel::explainedRank(int row, const Selection& selection) const
{
    const int rank = rankOf(row, selection), drawn = m_rows[asIndex(row)].classIndex;
    return m_simulation->classOf(rank) == drawn ? rank : m_simulation->representative(drawn);
}

const HeldOverTime& MemoryModel::held(int row) const
{
    auto& held = m_held[asIndex(row)];
    if (!held)
        held = std::make_unique<HeldOverTime>(m_simulation->memoryCurves(m_rows[asIndex(row)].classIndex));
    return *held;
}

const sim::MemoryContents& MemoryModel::contents(int row, std::int64_t atNs) const
{
    const auto matches = [&](const Remembered& r) { return r.contents && r.row == row && r.atNs == atNs; };
    if (!matches(m_last)) {
        std::swap(m_last, m_beforeLast);
        if (!matches(m_last))
            m_last = {row, atNs,
                      std::make_unique<sim::MemoryContents>(m_simulation->memoryContents(m_rows[asIndex(row)].classIndex, atNs))};
    }
    return *m_last.contents;
}

} // namespace app
