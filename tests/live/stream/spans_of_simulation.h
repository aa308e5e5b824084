// A simulated step as if it had been recorded: the same times, as spans of ranks.
#pragma once

#include "live/stream/history.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace test {

inline std::vector<live::RankSpan> recordedAs(const sim::Trace& trace)
{
    std::map<std::uint64_t, std::int64_t> readyOf;
    for (const sim::Track& track : trace.tracks)
        for (std::size_t i = 0; i < track.correlation.size(); ++i)
            readyOf[track.correlation[i]] = std::max(readyOf[track.correlation[i]], track.startNs[i]);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::int64_t>> transferOf; // correlation, ready
    std::uint64_t next = 1;
    for (const sim::Flow& flow : trace.flows) {
        const std::int64_t ready =
            std::max(trace.tracks[flow.fromTrack].startNs[flow.fromSpan], trace.tracks[flow.toTrack].startNs[flow.toSpan]);
        transferOf[{flow.fromTrack, flow.fromSpan}] = transferOf[{flow.toTrack, flow.toSpan}] = {next++, ready};
    }
    std::vector<live::RankSpan> spans;
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
        const sim::Track& track = trace.tracks[t];
        for (std::uint32_t i = 0; i < track.size(); ++i) {
            live::SpanRecord span;
            for (int which = 0; which < live::kSpanTrackCount; ++which)
                if (track.name == live::spanTrackName(static_cast<live::SpanTrack>(which)))
                    span.track = static_cast<live::SpanTrack>(which);
            span.startNs = span.readyNs = track.startNs[i];
            span.endNs = span.startNs + track.durationNs[i];
            span.kind = track.kind[i];
            if (const auto transfer = transferOf.find({t, i}); transfer != transferOf.end()) {
                span.correlation = (std::uint64_t{1} << 36U) + transfer->second.first;
                span.readyNs = transfer->second.second;
            } else if (i < track.correlation.size() && track.correlation[i] != 0) {
                span.correlation = track.correlation[i];
                span.readyNs = readyOf[track.correlation[i]];
            }
            spans.push_back({track.process, span});
        }
    }
    // A record is made when its span is over.
    std::stable_sort(spans.begin(), spans.end(),
                     [](const live::RankSpan& a, const live::RankSpan& b) { return a.span.endNs < b.span.endNs; });
    return spans;
}

} // namespace test
