// From the times of all ops to the numbers of a step. Private to sim/analysis.
#pragma once

#include "sim/analysis/metrics.h"
#include "sim/engine/engine.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <vector>

namespace sim {

/// How one class of ranks spends a step, in nanoseconds.
struct TimeShares {
    std::int64_t busyNs = 0;
    std::int64_t recomputationNs = 0, optimizerNs = 0; ///< of busyNs
    /// Transfers that the next kernel waited for, by purpose: tp, cp, ep, pp, dp. A transfer beside which nothing waits is not
    /// exposed.
    std::array<std::int64_t, 5> exposedNs{};
};

TimeShares measureShares(const Program&, const RankClasses&, const PricedProgram&, const EngineResult&, int classIndex);

MemoryBreakdown measureMemory(const Program&, const RankClasses&, const EngineResult&, int classIndex);

/// Everything but wallMs. Sums are integers over ranks, so that folded and full agree bit for bit.
Metrics measure(const Scenario&, const Program&, const RankClasses&, const PricedProgram&, const EngineResult&);

} // namespace sim
