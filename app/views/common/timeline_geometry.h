// Where time and rows lie on the screen. Pure geometry: no trace, no canvas.
#pragma once

#include "app/canvas/canvas.h"
#include "app/step/time_window.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace app {

/// Time across, nanoseconds to logical pixels.
struct TimeAxis {
    double beginNs = 0, endNs = 1; ///< visible
    float left = 0, right = 1;
    double nsPerPixel() const { return (endNs - beginNs) / static_cast<double>(right - left); }
    float x(double ns) const { return left + static_cast<float>((ns - beginNs) / nsPerPixel()); }
    double ns(float x) const { return beginNs + static_cast<double>(x - left) * nsPerPixel(); }
};

struct Tick {
    std::int64_t ns = 0;
    bool major = false;
    std::string label; ///< majors only
};
/// Round times (1, 2, 5 × 10ⁿ ns), majors at least `majorPixels` apart, minors between them.
std::vector<Tick> ticks(const TimeAxis&, float majorPixels);

/// A time to the precision of a step, in the unit that suits the largest time shown beside it: "363.5 ms"; in its own where that
/// is less than half a step: "260 µs".
std::string timeText(double ns, double stepNs, double largestNs);

/// What a line of the picture holds, top to bottom: lanes, the last of them thin, then a sparkline if there is room. Or nothing
/// but the header of a group.
struct RowNeed {
    int lanes = 1;
    bool sparkline = false;
    int thinLanes = 0; ///< of the lanes
    bool header = false;
};
struct RowPlace {
    float top = 0, bottom = 0; ///< from the top of all rows; the gap to the next row is below bottom
    float laneHeight = 0;
    float sparklineHeight = 0;
    float thinHeight = 0; ///< of lanes from `fullLanes` on
    int fullLanes = 0;
    float heightOf(int lane) const { return lane < fullLanes ? laneHeight : thinHeight; }
    float laneTop(int lane) const
    {
        return top + laneHeight * static_cast<float>(std::min(lane, fullLanes)) +
               thinHeight * static_cast<float>(std::max(0, lane - fullLanes));
    }
    float lanesBottom(int lanes) const { return laneTop(lanes); }
    /// -1 below the lanes.
    int laneAt(float y, int lanes) const;
};
struct RowStack {
    std::vector<RowPlace> rows;
    float height = 0;
    /// The first rows stay where they are while the others scroll; neither if they would leave no room for others.
    int pinned = 0;
    float pinnedHeight = 0; ///< with the line below them
    /// Index of the row at that height, -1 if none.
    int rowAt(float y) const;
    /// What a row is moved up by.
    float scrolled(int row, float by) const { return row < pinned ? 0.0F : by; }
};
constexpr float kLowestRow = 14;      ///< pixels, with the gap below
constexpr float kLowestDenseRow = 11; ///< the same, where many rows matter more than air: its text still has 11 pixels
constexpr float kLowestPageRow = 2;   ///< the same, where nobody can scroll: its spans still have colours
/// As high as fits, but never below `lowestRow` pixels a row: then they scroll. The first `pinned` of them stay.
RowStack stackRows(const std::vector<RowNeed>&, float height, float lowestRow = kLowestRow, int pinned = 0);

/// What a figure of so many rows can use, with all that stands around them.
float suitableTimelineHeight(std::size_t rows);

constexpr float kLowTimeline = 150;       ///< below it rows come before what stands around them
constexpr float kRoomForEverything = 240; ///< for legends of several lines beside all the rest

/// The view's area, divided.
struct TimelineFrame {
    Rect header;   ///< legend
    Rect story;    ///< words on the present step; no height unless asked for
    Rect marks;    ///< flags of marks; no height unless asked for
    Rect ruler;    ///< times
    Rect gutter;   ///< names of rows
    Rect rows;     ///< spans
    Rect scroll;   ///< scroll bar of the rows
    Rect memory;   ///< what one rank holds, on the rows' time axis; no height where there is none
    Rect overview; ///< the whole trace in small
    struct Parts {
        bool memory = false;
        float story = 0;
        bool overview = true, legend = true, ruler = true, marks = false;
        int legendLines = 1;
        bool lowLegend = false; ///< also where a low area leaves the rows little room
    };
    explicit TimelineFrame(Rect area) : TimelineFrame(area, Parts{}) {}
    TimelineFrame(Rect area, Parts);
};

} // namespace app
