// What a scenario asks of its schedule.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/schedule/families/families.h"

namespace sim {

PipelineNumbers pipelineNumbers(const Scenario&);

/// Whether passes run beside all-to-alls (overlap.ep_comm): only where there are experts, and only with some schedules.
bool overlapsExpertComm(const Scenario&);

ScheduleRequest scheduleRequest(const Scenario&);

} // namespace sim
