// One selection for all views: ranks x time x what the pointer is over. Shared by reference; views write, the shell reads.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

namespace app {

struct SpanRef {
    std::uint32_t track = 0, span = 0; ///< into the shown sim::Trace
    bool operator==(const SpanRef&) const = default;
};

struct TimeRange {
    std::int64_t beginNs = 0, endNs = 0;
    bool operator==(const TimeRange&) const = default;
};

struct Selection {
    std::optional<int> hoveredRank;
    std::optional<int> selectedRank; ///< clicked; its details are shown
    std::optional<SpanRef> hoveredSpan;
    std::optional<SpanRef> selectedSpan;
    std::optional<TimeRange> range; ///< dragged on the timeline
    std::int64_t cursorNs = 0;      ///< the one time cursor
    /// The rank whose groups are lit: what is under the pointer, else what was clicked.
    std::optional<int> focusRank() const { return hoveredRank ? hoveredRank : selectedRank; }
    bool operator==(const Selection&) const = default;
};

} // namespace app
