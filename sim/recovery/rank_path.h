// The longest chain of causes through a step, over all recorded ranks: what would have to be shorter for the step to be.
#pragma once

#include "sim/recovery/cause_walk.h"
#include "sim/recovery/recover.h"

#include <cstdint>
#include <map>
#include <vector>

namespace sim {

/// Consecutive segments on one rank.
struct PathStretch {
    std::uint32_t rank = 0; ///< index into RunEvidence::ranks
    std::int64_t startNs = 0, endNs = 0;
    std::map<PathPart, std::int64_t> ns;
    std::uint32_t longest = 0;     ///< name of the spans that take more of it than those of any other; may be little of it
    std::size_t spans = 0;         ///< segments that are no gaps
    std::int32_t reachedBy = -1;   ///< group of the collective, or of the transfer, through which the path came here; -1: none
    std::uint32_t reachedName = 0; ///< its name
};

struct RankPath {
    std::size_t step = 0;              ///< index into RecoveredSteps::steps
    std::vector<PathSegment> segments; ///< from the step's begin to its end, without holes
    std::map<PathPart, std::int64_t> ns;
    std::vector<std::int64_t> rankNs; ///< as RunEvidence::ranks: how long the path lies there
    std::size_t jumps = 0;            ///< from rank to rank
};

/// Back from the step's end on the rank that is busy last, as CauseWalk goes. On one clock only; empty without. O(spans log
/// spans).
RankPath criticalPathOver(const Recovered&, std::size_t step);
/// The same through several.
std::vector<RankPath> criticalPathsOver(const Recovered&, const std::vector<std::size_t>& steps);
/// The same through the typical step.
RankPath criticalPathOver(const Recovered&);

/// In the order of time.
std::vector<PathStretch> stretchesOf(const RankPath&);

} // namespace sim
