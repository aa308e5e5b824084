// Programs of scenarios, as the simulator lowers them.
#pragma once

#include "sim/legal/schedule_request.h"
#include "sim/program/program.h"
#include "sim/schedule/schedule.h"

namespace test {

inline sim::Program programOf(const sim::Scenario& scenario)
{
    return sim::lowerProgram(scenario, sim::makeSchedule(sim::scheduleRequest(scenario)));
}

} // namespace test
