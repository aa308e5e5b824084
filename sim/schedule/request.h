// The schedule that a scenario asks for.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/schedule/families.h"

namespace sim {

inline ScheduleRequest scheduleRequest(const Scenario& scenario)
{
    const std::string& kind = scenario.schedule.kind;
    return {.kind = kind,
            .ranks = scenario.layout.pp,
            .virtualStages = scenario.schedule.virtualStages,
            .microbatches = scenario.microbatches(),
            .microbatchGroup = scenario.schedule.microbatchGroup,
            .overlapExpertComm = scenario.training.overlap.epComm && (kind == "1f1b" || kind == "interleaved-1f1b"),
            .slices = scenario.schedule.sequenceSlices,
            .customActions = scenario.schedule.actions};
}

/// As makeSchedule; throws ScenarioError, with the key of the scenario that a problem is about.
Schedule makeScheduleOf(const ScheduleRequest&);

} // namespace sim
