// What a scenario must fit for each kind of schedule: chunks a rank, pipeline ranks, micro-batches. The rules of the file and the
// generators (sim/schedule) both go by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Kinds that can be made, in the contract's order.
const std::vector<std::string>& availableScheduleKinds();

struct ChunkRange {
    int least = 1;
    int most = 1; ///< 0 = no upper limit
    bool holds(std::int64_t chunks) const { return chunks >= least && (most == 0 || chunks <= most); }
};
/// Chunks a rank holds under this kind.
ChunkRange chunksOfKind(std::string_view kind);

/// Slices of a sequence under seq-1f1b unless the file says how many (the paper's experiments).
inline constexpr int kUsualSlices = 4;

/// Megatron Core, schedules.py: the interleaving group lies in [ranks, micro-batches], and what is left over is nothing or fills
/// the pipeline.
bool isLegalGroup(std::int64_t ranks, std::int64_t group, std::int64_t microbatches);

/// Does the kind take this many pipeline ranks? (DualPipe enters from both ends: even.)
bool takesRanks(std::string_view kind, std::int64_t ranks);

/// Does the kind take this many micro-batches? `group`: micro-batches a chunk takes before the next one, for interleaved kinds.
bool takesMicrobatches(std::string_view kind, std::int64_t ranks, std::int64_t group, std::int64_t microbatches);

} // namespace sim
