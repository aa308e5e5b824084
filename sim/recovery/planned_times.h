// What passes of a recorded step would have been planned with.
#pragma once

#include "sim/recovery/passes.h"
#include "sim/schedule/request.h"

#include <vector>

namespace sim {

/// What passes took on each stage, for families that plan by it, in nanoseconds: on the fastest of its ranks, as plans know of no
/// rank that is slow. One entry where a stage is not recorded.
std::vector<PassTimes> measuredTimes(const RecoveredPasses&, int stages);

/// What a micro-batch's activations may take on each stage: as much as its forward is long, and `head` times more on the last one
/// for logits. `weight`: the share that stays until the weight gradient.
std::vector<PassMemory> guessedMemory(const std::vector<PassTimes>&, double weight, double head);

} // namespace sim
