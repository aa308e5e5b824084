// Draws the timeline. Reads only; TimelineView moves things.
#pragma once

#include "app/views/timeline_geometry.h"
#include "app/views/timeline_model.h"

namespace app {

class TimelineSteps;

struct TimelineScene {
    const TimelineModel& model;
    const std::vector<KindColors>& colors;
    const Theme& theme;
    const Selection& selection;
    TimelineFrame frame;
    TimeWindow window;
    const RowStack& stack;
    float scrollY = 0;
    /// Shares of the whole trace a pixel column of the overview.
    const std::vector<std::array<double, sim::kOpClassCount>>& overview;
    const TimelineSteps* steps = nullptr; ///< only what has started is drawn; nullptr: all

    TimeAxis axis() const { return {window.beginNs, window.endNs, frame.rows.left, frame.rows.right}; }
    float rowTop(int row) const { return frame.rows.top + stack.rows[static_cast<std::size_t>(row)].top - scrollY; }
    Rect lane(int row, int lane) const;
    /// Lane of a track on the screen.
    Rect laneOf(std::uint32_t track) const;
};

/// Text of so many pixels above and below its letters may lie beyond its row and the rows' edges.
constexpr float kAirOfText = 2;

void paintTimeline(Canvas&, const TimelineScene&);
/// The colours in use, or what the selected range holds, right-aligned; nothing where it does not fit. Returns the width drawn.
float paintLegend(Canvas&, const TimelineScene&, Rect);

/// Spans of one lane: each by itself where it is wide enough, else per pixel column the share of each class, stacked; what is
/// left empty was idle.
void paintLane(Canvas&, const TimelineScene&, std::uint32_t track, Rect lane);

} // namespace app
