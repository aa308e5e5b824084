// Trace files want spans that nest on each row. Spans of one track that overlap without nesting are dealt to further rows.
#pragma once

#include "sim/cancel.h"
#include "sim/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace sim {

/// Calls begin(row, span) and end(row, timeNs) so that on each row they pair like brackets and time never goes back. Row 0 takes
/// what fits; rows above it are used only by spans that overlap without nesting. O(spans · (nesting depth + rows)).
template <typename Begin, typename End>
void walkRows(const Track& track, Begin begin, End end)
{
    std::vector<std::vector<std::int64_t>> open; // [row]: ends of the spans that run, outermost first
    CancelPoll poll;
    for (std::size_t span = 0; span < track.size(); ++span) {
        poll(16); // it is written out
        const std::int64_t startNs = track.startNs[span];
        const std::int64_t endNs = startNs + track.durationNs[span];
        std::size_t row = 0;
        for (;; ++row) {
            if (row == open.size())
                open.emplace_back();
            while (!open[row].empty() && open[row].back() <= startNs) {
                end(row, open[row].back());
                open[row].pop_back();
            }
            if (open[row].empty() || open[row].back() >= endNs)
                break;
        }
        open[row].push_back(endNs);
        begin(row, span);
    }
    for (std::size_t row = 0; row < open.size(); ++row)
        for (; !open[row].empty(); open[row].pop_back())
            end(row, open[row].back());
}

/// Place of a row among those of its process, for viewers that sort by number: by track, then row.
inline std::int32_t rowOrder(std::size_t track, std::size_t row)
{
    constexpr std::size_t kRowsATrack = 64;
    return static_cast<std::int32_t>(track * kRowsATrack + std::min(row, kRowsATrack - 1));
}

/// "compute", "compute (2)", …
inline std::string rowName(const Track& track, std::size_t row)
{
    return row == 0 ? track.name : track.name + " (" + std::to_string(row + 1) + ")";
}

/// What is added to all times where the recorder's clock had a start of its own: it is kept. Times since 1970 are told by a base.
inline std::int64_t writtenShiftNs(const Trace& trace)
{
    return trace.isEpoch ? 0 : std::max<std::int64_t>(0, trace.originNs);
}

/// One end of a flow, found by the span it touches.
struct FlowEnd {
    std::uint32_t track = 0, span = 0;
    std::uint64_t id = 0; ///< 1, 2, … in the order of Trace::flows
    bool arrives = false; ///< at the receive
};

/// Both ends of all flows, by track and span.
inline std::vector<FlowEnd> flowEnds(const Trace& trace)
{
    std::vector<FlowEnd> ends;
    ends.reserve(trace.flows.size() * 2);
    for (std::size_t i = 0; i < trace.flows.size(); ++i) {
        const Flow& flow = trace.flows[i];
        ends.push_back({flow.fromTrack, flow.fromSpan, i + 1, false});
        ends.push_back({flow.toTrack, flow.toSpan, i + 1, true});
    }
    std::sort(ends.begin(), ends.end(), [](const FlowEnd& a, const FlowEnd& b) {
        return a.track != b.track ? a.track < b.track : a.span != b.span ? a.span < b.span : a.id < b.id;
    });
    return ends;
}

/// Tracks in the order to write: those at which flows arrive come last. A send and its receive may start at the same instant;
/// viewers then go by the order in the file and drop a flow whose end they meet first.
inline std::vector<std::size_t> writingOrder(const Trace& trace)
{
    std::vector<std::size_t> order(trace.tracks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<char> receives(trace.tracks.size(), 0);
    for (const Flow& flow : trace.flows)
        receives[flow.toTrack] = 1;
    std::stable_partition(order.begin(), order.end(), [&](std::size_t track) { return receives[track] == 0; });
    return order;
}

} // namespace sim
