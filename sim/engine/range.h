// What a step may add up to, looked at once before it runs: then no sum of times or bytes in the engine or in what measures its
// result leaves its range, and none of their loops has to look.
#pragma once

#include "sim/engine/engine.h"

namespace sim {

/// Jitter makes no kernel longer than this many standard deviations: what the engine's normal numbers reach.
inline constexpr double kFarthestJitter = 9;

/// Throws ScenarioError, with the key, the numbers and the nearest batch that would do, where
/// - all kernels and transfers of one copy of the model, one after the other and each as slow as on the slowest rank, take longer
///   than kLongestNs: no path through the step is longer than that;
/// - what one rank allocates in a step, over all of it, is more than 2^62 bytes;
/// - what all ranks send in a step may be more than 2^62 bytes.
/// O(ops of passes, steps).
void requireRange(const Scenario&, const Program&, const RankClasses&, const PricedProgram&);

} // namespace sim
