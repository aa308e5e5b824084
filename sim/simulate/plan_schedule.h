// The schedule of a scenario. Kinds that plan by cost (zb-1p, zb-2p, auto) are told what the scenario's passes take: each part of
// the model priced alone, without waiting for other stages. zb-1p and zb-2p plan without the scenario's perturbations, before
// anybody knows who will be slow (made anew for a slow GPU the order was now and then better, and the slow GPU made the step
// shorter); the search of auto is for the job as it is.
#pragma once

#include "sim/mesh/mesh.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/families/families.h"

#include <functional>
#include <vector>

namespace sim {

/// What the passes of each part of the model cost, by part in model order.
struct PassCosts {
    std::vector<PassTimes> times;   ///< nanoseconds; `comm` is the transfer to the next part
    std::vector<PassMemory> memory; ///< bytes of one micro-batch
    /// Bytes a GPU has left for activations beside the fullest rank's model states.
    double freeBytes = 0;
    /// What no GPU has more of for activations, wherever stages lie; infinite where `memory` says more than passes keep.
    double mostFreeBytes = 0;
    /// Some rank holds so much under every order: its model states, and what one micro-batch keeps of it. 0 where ranks have
    /// several chunks: wherever they lie, another part of the model, and other tied embeddings, may be on a rank.
    double leastStates = 0, leastKept = 0;
};

/// From the steady state of a small simulation: the second of two micro-batches. A few milliseconds.
PassCosts measurePassCosts(const Scenario&);

/// Of a scenario, whose costs do not depend on its kind of schedule but for how many copies of the model that has.
using PassCostsOf = std::function<PassCosts(const Scenario&)>;

Scenario withoutPerturbations(Scenario);

/// What a scenario asks for, with the costs where its kind plans by them.
ScheduleRequest planningRequest(const Scenario&, const PassCostsOf& costsOf = measurePassCosts);
/// Throws Error as makeSchedule does. Where no order keeps the memory cap of `auto`, it is the order that needs least.
Schedule planSchedule(const Scenario&, const PassCostsOf& costsOf = measurePassCosts);

/// Whether an order is searched for, and can be.
bool isSearched(const ScheduleRequest&);
/// As makeSchedule; throws ScenarioError, with the key of the scenario that a problem is about.
Schedule makeScheduleOf(const ScheduleRequest&);

/// What a GPU may hold: the scenario's cap on `auto`, else all its memory.
double memoryCapGib(const Scenario&);

/// Of two copies of the model each has its own ends: as without any.
inline PipelineEnds endsOf(const Schedule& schedule)
{
    return schedule.chains == 1 ? PipelineEnds{schedule.stageToRank.front(), schedule.stageToRank.back()} : PipelineEnds{};
}

} // namespace sim
