// A recovered schedule beside the one that really ran.
#pragma once

#include "sim/index.h"
#include "sim/recovery/counted_passes.h"
#include "sim/recovery/schedule_kind.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/schedule.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// Named as it is called, said to be possible too, or another kind's name for the same order of recorded passes.
inline bool isRecognised(const std::optional<sim::RecoveredSchedule>& found, const std::string& kind)
{
    return found && (found->kind == kind || (!found->rows.empty() && found->alike >= 1) ||
                     std::find(found->alsoPossible.begin(), found->alsoPossible.end(), kind) != found->alsoPossible.end());
}

/// Named as it is called, or by another kind that gives this very job the same passes of the same stages in the same order, which
/// nothing recorded could tell apart (kinds that plan by cost: with the times measured); of a search's own order, that no kind
/// has it.
inline bool isNamedRight(const std::optional<sim::RecoveredSchedule>& found, const sim::Simulation& ran)
{
    if (!found)
        return false;
    const sim::Scenario& scenario = ran.scenario();
    const bool isRecordedOrder = found->alike >= 1 && static_cast<int>(found->rows.size()) == found->pipelineRanks;
    if (found->kind == scenario.schedule.kind || isRecordedOrder)
        return true;
    const sim::ScheduleFamily* const family = sim::findScheduleFamily(found->kind);
    if (family == nullptr || family->isWrittenOut)
        return found->kind == "custom" && sim::scheduleFamily(scenario.schedule.kind).isSearched;
    const auto orderOf = [](std::vector<sim::Action> row) {
        for (sim::Action& action : row)
            action.overlapsNext = false;
        return sim::numberedAsTheyCome(std::move(row));
    };
    sim::Scenario other = scenario;
    other.schedule.kind = found->kind;
    other.schedule.virtualStages = found->virtualStages;
    other.schedule.microbatchGroup = found->microbatchGroup;
    try {
        const sim::Schedule made = sim::planSchedule(other, sim::measurePassCosts);
        if (made.stageToRank != ran.schedule().stageToRank)
            return false;
        return std::equal(made.actions.begin(), made.actions.end(), ran.schedule().actions.begin(), ran.schedule().actions.end(),
                          [&](const auto& a, const auto& b) { return orderOf(a) == orderOf(b); });
    } catch (const std::exception&) { // a kind that does not take these numbers
        return false;
    }
}

/// Every pass of the recorded ranks in its place; recorders do not say which two ran as one block.
inline bool isSameOrder(const std::optional<sim::RecoveredSchedule>& found, const sim::Schedule& ran)
{
    if (!found || found->rows.empty())
        return false;
    for (const auto& [rank, row] : found->rows) {
        std::vector<sim::Action> expected = ran.actions[sim::asIndex(rank)], recorded = row;
        for (std::vector<sim::Action>* actions : {&expected, &recorded})
            for (sim::Action& action : *actions)
                action.overlapsNext = false;
        if (recorded != expected)
            return false;
    }
    return true;
}

} // namespace test
