// The zero-bubble paper's automatic schedule (Qi et al., arXiv 2401.10241, section 3.1) for a line of stages: a greedy that
// places one forward and one input gradient of every stage a round and fits weight gradients into gaps and under the memory
// limit; the best of its eight settings by span. Private to sim/schedule.
#pragma once

#include "sim/schedule/families/families.h"

#include <optional>
#include <span>

namespace sim {

/// What the greedy went by and what it reached.
struct GreedyPlan {
    Schedule schedule;
    double span = 0;
};

/// `times` and `memory` as in ScheduleRequest: one entry, or one a stage. `limit`: most activations a stage may hold, in units of
/// `memory`. Nothing if no setting fits the limit. O(p m) for each of the eight settings.
std::optional<GreedyPlan> planZeroBubble(int ranks, int microbatches, std::span<const PassTimes> times,
                                         std::span<const PassMemory> memory, double limit);

} // namespace sim
