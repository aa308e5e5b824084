// The longest chain of causes through a step, over all recorded ranks: what would have to be shorter for the step to be.
#pragma once

#include "sim/recovery/recover.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sim {

enum class PathPart : std::uint8_t {
    computing,     ///< a kernel or copy
    communicating, ///< a collective after its last member came; a transfer after its send began
    launching,     ///< the device idles until the host asks
    idling         ///< nothing that was recorded explains the gap
};
std::string_view pathPartText(PathPart);

struct PathSegment {
    std::uint32_t rank = 0; ///< index into RunEvidence::ranks
    std::int64_t startNs = 0, endNs = 0;
    PathPart part = PathPart::idling;
    std::uint32_t name = 0;  ///< index into RunEvidence::names, of the span; 0 for gaps
    std::int32_t group = -1; ///< of a communication
};

/// Consecutive segments on one rank.
struct PathStretch {
    std::uint32_t rank = 0; ///< index into RunEvidence::ranks
    std::int64_t startNs = 0, endNs = 0;
    std::map<PathPart, std::int64_t> ns;
    std::uint32_t longest = 0;     ///< name of the span that takes most of it
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

/// Back from the last span to end: to the last starter of a collective, to the sender of a receive, else to what ended last
/// before on the rank (stream order and event waits look alike in a trace), to the launch where that came later. On one clock
/// only; empty without. O(spans log spans).
RankPath criticalPathOver(const Recovered&, std::size_t step);
/// The same through several: what joins ranks is looked up once.
std::vector<RankPath> criticalPathsOver(const Recovered&, const std::vector<std::size_t>& steps);
/// The same through the step in the middle.
RankPath criticalPathOver(const Recovered&);

/// In the order of time.
std::vector<PathStretch> stretchesOf(const RankPath&);

} // namespace sim
