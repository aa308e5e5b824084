// What a scenario asks of its schedule.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/schedule/families/families.h"

namespace sim {

PipelineNumbers pipelineNumbers(const Scenario&);

ScheduleRequest scheduleRequest(const Scenario&);

} // namespace sim
