// What recovery goes by of one rank: its communication, its device's work and its marks. Private to sim/recovery.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/recovery/launch_class.h"
#include "sim/trace/recording.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sim {

/// A send's or receive's message, and the rank at its other end.
struct MessageOfSpan {
    std::int64_t number = -1;
    int peer = -1;
};
using Messages = std::unordered_map<std::uint32_t, MessageOfSpan>; ///< by span

/// Of the rank that is `number` in the world; what cannot be used of it is added to `problems`. O(spans log spans).
RankEvidence evidenceOfRank(const Recording&, const RankRecording&, int number, const Messages&, const LaunchNames&,
                            std::vector<std::string>& problems);

} // namespace sim
