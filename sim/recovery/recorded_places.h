// Where a recorded span lies, and who asked for it. Private to sim/recovery.
#pragma once

#include "sim/trace/recording.h"

#include <algorithm>
#include <cstdint>

namespace sim {

/// The row that a span lies on, counted from 1; 0 before all of them. O(log rows).
inline std::uint32_t streamOf(const RankRecording& rank, std::uint32_t span)
{
    const auto after = std::upper_bound(rank.tracks.begin(), rank.tracks.end(), span,
                                        [](std::uint32_t at, const RecordedTrack& track) { return at < track.first; });
    return static_cast<std::uint32_t>(after - rank.tracks.begin());
}

/// When the host asked for a span of the device; INT64_MIN unknown. O(log links).
inline std::int64_t launchOf(const RankRecording& rank, std::uint32_t span)
{
    auto link = std::lower_bound(rank.links.begin(), rank.links.end(), span,
                                 [](const RecordedLink& of, std::uint32_t to) { return of.to < to; });
    for (; link != rank.links.end() && link->to == span; ++link)
        if (link->kind == RecordedLink::Kind::launch)
            return rank.spans.startNs[link->from];
    return INT64_MIN;
}

} // namespace sim
