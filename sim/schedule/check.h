// Is a schedule complete, in order and free of deadlock? If not, why: missing and doubled actions, W before I, the cycle of
// waits.
#pragma once

#include "sim/schedule/schedule.h"

#include <string>
#include <vector>

namespace sim {

/// One line a problem, for a person; empty when the schedule can run. Complexity O(actions).
std::vector<std::string> checkSchedule(const Schedule&);

} // namespace sim
