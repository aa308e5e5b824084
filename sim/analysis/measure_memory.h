// The memory of a class of ranks, replayed from its ops. Private to sim/analysis.
#pragma once

#include "sim/analysis/memory.h"
#include "sim/engine/engine.h"

namespace sim {

/// To the kernel. O(ops of a rank).
MemoryCurves measureMemoryCurves(const Program&, const RankClasses&, const EngineResult&, int classIndex);

/// At a time; of several moments at that instant the fullest. O(ops of a rank).
MemoryContents measureMemoryContents(const Program&, const RankClasses&, const EngineResult&, int classIndex, std::int64_t atNs);

} // namespace sim
