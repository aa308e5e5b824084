// What live training does otherwise than the simulator has it: its prediction stands beside what is measured, and no calibration
// mends that.
#pragma once

#include "sim/scenario/document.h"

#include <vector>

namespace live {

/// Of a scenario that can be trained: a warning each, by the key that the simulator follows, naming no file.
std::vector<sim::Problem> doneOtherwise(const sim::Scenario&);

} // namespace live
