// What a few measured shapes say of others: curves keep the form that the scenario's own prices have, scaled to meet what was
// measured.
#pragma once

#include "sim/calibration/predicted_ops.h"
#include "sim/scenario/scenario.h"

#include <cstddef>
#include <vector>

namespace sim {

/// Adds to each curve shapes beside the measured ones (one size a power of two larger or smaller), at the price that the scenario
/// has for them times what the measured shape beside it took over its own price. Measured points stay as they are.
void addForm(HardwareProfile&, const Scenario&, const PredictedOps&);

constexpr std::size_t kMostPointsOfCurve = 1000; ///< the scenario schema takes no more

/// Of more points than `most` as many, evenly spread from the first to the last; false where there are no more.
bool keepEvenly(std::vector<MeasuredPoint>& points, std::size_t most);

} // namespace sim
