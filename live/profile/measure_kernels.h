// Times of kernels on a device. Private to live/profile.
#pragma once

#include "live/kernels/device.h"
#include "sim/scenario/scenario.h"

#include <vector>

namespace live {

/// `secondsPerPoint`: about how long one shape may take.
std::vector<sim::MeasuredCurve> measureKernels(Device&, double secondsPerPoint, bool quick);

} // namespace live
