// The schedule that a scenario asks for.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/schedule/families.h"

namespace sim {

inline ScheduleRequest scheduleRequest(const Scenario& scenario)
{
    return {.kind = scenario.schedule.kind,
            .ranks = scenario.layout.pp,
            .virtualStages = scenario.schedule.virtualStages,
            .microbatches = scenario.microbatches(),
            .microbatchGroup = scenario.schedule.microbatchGroup,
            .customActions = scenario.schedule.actions};
}

} // namespace sim
