// One clock for all ranks, from the ends of collectives: these end for all members together.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/recovery/matching.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// Residuals above this are no alignment: it would look plausible and be wrong.
inline constexpr double kMostResidualNs = 50'000;
/// Shorter waits are how exactly clocks are aligned, and how fast kernels follow each other.
inline constexpr std::int64_t kShortestWaitNs = 1000;

/// What is subtracted of a rank's clock: offset + drift · (t − since).
struct RankClock {
    double offsetNs = 0;
    double driftPpm = 0;
    double residualP95Ns = 0; ///< of its collectives' ends from those of their members, after alignment
    std::size_t ends = 0;     ///< that it was measured with
    bool isDriftTold = true;  ///< false: against the first rank's it was not measured, and 0 is no finding
};

struct ClockAlignment {
    bool isAligned = false;
    std::string why;                     ///< why not, or what it was measured with, for a person
    std::int64_t sinceNs = 0;            ///< where offsets hold
    std::vector<RankClock> ranks;        ///< as RunEvidence::ranks; all zero where not aligned
    std::vector<std::string> violations; ///< of causality, after alignment: a receive that ends before its send begins
    std::int64_t aligned(std::size_t rank, std::int64_t timeNs) const;
};

/// Medians over collectives of each pair (first member, member) of a group, with a robust slope where the trace is long enough to
/// tell one, weighted least squares over the graph of ranks; the lowest rank keeps its clock. Of ranks that single collectives
/// alone join to it nothing tests the offset: it is said within what it is right, as no part of a collective ends before another
/// begins. Drifts are told of ranks that pairs with a slope, or a host, join to it. Refuses where ranks are not connected or the
/// residual's p95 is above kMostResidualNs. O(parts log parts + ranks³ / 64 for the solve of a few hundred, conjugate gradients:
/// O(edges · ranks)).
ClockAlignment alignClocks(const RunEvidence&, const Meetings&);

/// Shifts all times to the one clock.
void applyClock(RunEvidence&, const ClockAlignment&);

} // namespace sim
