// Where the seconds of a step go: from what the model's FLOPs would take at the GPU's peak to what the step takes.
#pragma once

#include "sim/simulate/simulation.h"

#include <vector>

namespace sim {

/// Means over ranks, in seconds that add up to the step; the time in which kernels run is told by FLOPs.
ByStepPart<double> stepByFlops(const Simulation&);

/// All that are more than nothing, in their order.
std::vector<StepPart> presentParts(const ByStepPart<double>&);

} // namespace sim
