// The ruler above whatever lies on a time axis: ticks and their times, the cursor's time, the selected range and its length.
#pragma once

#include "app/step/selection.h"
#include "app/views/common/theme.h"
#include "app/views/common/timeline_geometry.h"

#include <vector>

namespace app {

constexpr float kTickPixels = 96; ///< between major ticks, at least

/// `ticksInSight` are those of the axis, kTickPixels apart.
void paintTimeRuler(Canvas&, const Theme&, const TimeAxis&, Rect area, const Selection&, const std::vector<Tick>& ticksInSight);

} // namespace app
