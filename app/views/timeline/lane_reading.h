// What a lane of the timeline shows at this zoom, in pixels as they are seen: those of a magnified picture are finer than its
// own. Spans wide enough are drawn by themselves; of the others, pixel column by pixel column, the share of each class.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/timeline/timeline_scene.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace app {

inline constexpr double kTypicalWidth = 0.75; ///< of the middle one: what is narrower goes without its label

struct WideSpan {
    std::size_t span;
    double left, right; ///< pixel columns from the lane's left
};

/// A span without length; of several in a column the first.
struct LaneTick {
    std::size_t span;
    double column;
};

enum class LaneColumn : std::uint8_t {
    single, ///< no narrow spans
    shared, ///< narrow spans, and something else
    mixed,  ///< nothing but narrow spans and the short pauses between them
};

struct LaneReading {
    std::vector<LaneColumn> columns; ///< [pixel column]
    double columnsPerPixel = 1;      ///< of the canvas
    std::vector<WideSpan> wide;
    std::vector<LaneTick> ticks;                              ///< of what was recorded, by column
    std::vector<std::pair<std::uint32_t, float>> labelWidths; ///< kind of the wide spans, ascending, and pixels of the canvas
    // To be drawn in this order, the first two behind and before the wide spans; none or one, of the dense ones up to two.
    std::vector<ColumnStacks> between; ///< what is waited for between actions
    std::vector<ColumnStacks> inside;  ///< what is waited for inside them, along their feet
    std::vector<ColumnStacks> dense;   ///< narrow spans, and what they wait for

    bool isShared(double column) const; ///< with narrow spans; false beside the lane
    float labelWidth(std::uint32_t kind) const;
};

/// Of the scene; they are made when first asked for, which is the caller's to do.
struct LaneLook {
    const TimelineColors& colors;
    const SpanSet* lit = nullptr; ///< nullptr: all are
};

/// Reads only, so that several threads may. O(spans in sight, or pixel columns where they are many).
LaneReading readLane(const TimelineScene&, const LaneLook&, std::uint32_t track, Rect lane);

} // namespace app
