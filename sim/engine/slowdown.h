// What perturbations make of a duration.
#pragma once

#include "sim/engine/classes.h"

#include <cstdint>

namespace sim {

/// Nanoseconds.
std::int64_t scaledNs(std::int64_t duration, double factor);

/// A kernel on such a rank; `ordinal`: which op of its rank it is, so that jitter is the same whoever computes it. Never below
/// `fastest`. `share`: of its work, that there is.
std::int64_t slowedKernelNs(std::int64_t duration, std::int64_t fastest, const RankSlowdown&, std::int64_t ordinal,
                            double share = 1);

} // namespace sim
