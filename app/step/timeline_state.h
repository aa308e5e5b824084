// How a person has arranged the timeline: what a scenario file keeps of it. Ranks and times, no places in a trace, so that it
// still means something when the trace is another.
#pragma once

#include "app/step/selection.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace app {

enum class RowFilter : std::uint8_t { all, selected };
enum class RowSort : std::uint8_t { rank, busy, end };
/// By a coordinate of the mesh, by the machine, or by numbers that count on (`blocks`) where nothing else is known.
enum class RowGrouping : std::uint8_t { automatic, none, pipeline, node, data, context, tensor, blocks };
inline constexpr int kRowGroupingCount = 8;

/// Which rows are wanted, and in what order.
struct RowWishes {
    RowFilter filter = RowFilter::all;
    RowSort sort = RowSort::rank;
    RowGrouping grouping = RowGrouping::automatic;
    std::vector<int> pinnedRanks;     ///< in the order in which they were pinned
    std::set<std::string> turnedOver; ///< groups, by name, that are open where they would be closed, or the other way round
    bool operator==(const RowWishes&) const = default;
};

/// A time, or a range, that someone wants to find again.
struct TimelineMark {
    int number = 1;
    TimeRange range; ///< of an instant both ends are the same
    std::string label;
    bool isInstant() const { return range.beginNs == range.endNs; }
    bool operator==(const TimelineMark&) const = default;
};

struct TimelineState {
    std::optional<TimeRange> visible; ///< nothing: all of the step
    std::vector<TimelineMark> marks;
    RowWishes rows;
    bool criticalPath = false;
    bool operator==(const TimelineState&) const = default;
};

} // namespace app
