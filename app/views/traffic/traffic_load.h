// Load of each tier of the interconnect over time, by purpose, against what its ports can carry; on the time axis of the
// timeline.
#pragma once

#include "app/views/common/timeline_geometry.h"
#include "app/views/traffic/traffic_scene.h"

namespace app {

/// Where the load is drawn: pure geometry of the area.
struct TrafficLoadFrame {
    Rect ruler, gutter, rows;
    TrafficLoadFrame() = default;
    explicit TrafficLoadFrame(Rect area);
    Rect lane(int tier, int tiers) const;
    TimeAxis axis(const TimeWindow& window) const { return {window.beginNs, window.endNs, rows.left, rows.right}; }
};

void paintTrafficLoad(Canvas&, const TrafficScene&, const TimeWindow&, Rect area);
/// What the pixel column there holds, for a tooltip; empty outside the lanes.
std::string trafficLoadText(const TrafficScene&, const TimeWindow&, Rect area, Point);

} // namespace app
