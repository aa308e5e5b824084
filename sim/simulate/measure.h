// From the times of all ops to the numbers of a step. Private to sim/simulate.
#pragma once

#include "sim/engine/engine.h"
#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"
#include "sim/simulate/metrics.h"

#include <span>

namespace sim {

TimeShares measureShares(const Program&, const RankClasses&, const PricedProgram&, const EngineResult&, int classIndex);

MemoryBreakdown measureMemory(const Program&, const RankClasses&, const EngineResult&, int classIndex);

/// Everything but wallMs. `placement`: which ranks share a host. Sums are integers over ranks, so that folded and full agree bit
/// for bit. `shares`: of every class.
Metrics measure(const Scenario&, const Placement& placement, const Program&, const RankClasses&, const EngineResult&,
                std::span<const TimeShares> shares);

} // namespace sim
