// When a rank's device was in each step, by the marks of its host. Private to sim/recovery.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/trace/recording.h"

#include <vector>

namespace sim {

/// A step is what the device did of what its host asked for meanwhile. Recorders draw that as the mark's twin on the device, some
/// around the last kernels alone (ROCm's leaves out what an operator in the mark launched), others not at all: then a step ends
/// where the host's mark does, or later, when the device has done all that was asked until then; and the next begins there.
/// `steps`: the rank's own, or what it names as such. O((spans + links) log).
std::vector<StepMark> stepMarksOf(const RankRecording&, const std::vector<RecordedStep>& steps);

} // namespace sim
