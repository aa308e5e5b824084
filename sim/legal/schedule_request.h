// The schedule that a scenario asks for.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/schedule/families/families.h"

namespace sim {

ScheduleRequest scheduleRequest(const Scenario&);

/// As makeSchedule; throws ScenarioError, with the key of the scenario that a problem is about.
Schedule makeScheduleOf(const ScheduleRequest&);

} // namespace sim
