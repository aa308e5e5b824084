// The memory of a class of ranks, replayed from its ops. Private to sim/simulate.
#pragma once

#include "sim/engine/engine.h"
#include "sim/simulate/memory.h"

namespace sim {

/// To the kernel. O(ops of a rank).
MemoryCurves measureMemoryCurves(const Program&, const RankClasses&, const EngineResult&, int classIndex);

/// At a time; of several moments at that instant the fullest. O(ops of a rank).
MemoryContents measureMemoryContents(const Program&, const RankClasses&, const EngineResult&, int classIndex, std::int64_t atNs);

} // namespace sim
