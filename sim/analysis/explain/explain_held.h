// What a rank holds at a moment of the step, by what it is of. Like explain(), and shown the same way.
#pragma once

#include "sim/analysis/explain/explain.h"

#include <cstdint>

namespace sim {

/// All of it (MetricId::peakMemory), or one of its parts (parameterMemory … bufferMemory), at a time.
Explanation explainHeld(const Simulation&, MetricId part, int rank, std::int64_t atNs);

} // namespace sim
