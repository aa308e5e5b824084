// Is a schedule complete, in order and free of deadlock? If not, why: missing and doubled actions, W before I, the cycle of
// waits.
#pragma once

#include "sim/schedule/schedule.h"

#include <string>
#include <vector>

namespace sim {

/// One line a problem, for a person; empty when the schedule can run. Complexity O(actions).
std::vector<std::string> checkSchedule(const Schedule&);

/// A rank that cannot go on: its next action, the action that it needs first, and the rank that has it.
struct Wait {
    int rank = 0;
    Action blocked;
    Action needed;
    int provider = 0;
    bool operator==(const Wait&) const = default;
};

/// The ranks that wait for each other in a circle, from the lowest rank in it; empty when all actions can run, or when the
/// lists have other problems (checkSchedule names those first).
std::vector<Wait> deadlockCycle(const Schedule&);

} // namespace sim
