// Trace files want spans that nest on each row. Spans of one track that overlap without nesting are dealt to further rows.
#pragma once

#include "sim/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

/// Calls begin(row, span) and end(row, timeNs) so that on each row they pair like brackets and time never goes back. Row 0 takes
/// what fits; rows above it are used only by spans that overlap without nesting. O(spans · (nesting depth + rows)).
template <typename Begin, typename End>
void walkRows(const Track& track, Begin begin, End end)
{
    std::vector<std::vector<std::int64_t>> open; // [row]: ends of the spans that run, outermost first
    for (std::size_t span = 0; span < track.size(); ++span) {
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

/// "compute", "compute (2)", …
inline std::string rowName(const Track& track, std::size_t row)
{
    return row == 0 ? track.name : track.name + " (" + std::to_string(row + 1) + ")";
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

} // namespace sim
