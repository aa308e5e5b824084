// The ruler above whatever lies on a time axis: ticks and their times, the cursor's time, the selected range and its length.
#pragma once

#include "app/step/selection.h"
#include "app/views/common/theme.h"
#include "app/views/common/timeline_geometry.h"

#include <vector>

namespace app {

constexpr float kTickPixels = 96; ///< between major ticks, at least

/// Of an axis, kTickPixels apart; closer where few would be labelled and the labels have room.
std::vector<Tick> rulerTicks(Canvas&, const TimeAxis&);

/// `ticksInSight` are those of the axis, kTickPixels apart.
void paintTimeRuler(Canvas&, const Theme&, const TimeAxis&, Rect area, const Selection&, const std::vector<Tick>& ticksInSight);

} // namespace app
