// Collectives of several stages of a pipeline (norms of gradients, checks for overflow): a stage that ends its last backward
// early waits in them for those that end later, as the schedule has it.
#pragma once

#include "sim/recovery/recover.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sim {

/// Of each of the meetings named (indices into Meetings::meetings): until when its members wait for what the pipeline's order
/// leaves no other way, which nobody is to blame for: when the last of its stages usually comes, by the ranks of that stage here
/// and in the groups of its replicas, the same time in turn of the step. A stage of one rank has nobody to be compared with.
/// INT64_MIN where all members are of one stage. O(parts log parts).
std::vector<std::int64_t> drainedAt(const Recovered&, std::span<const std::size_t> meetings);

} // namespace sim
