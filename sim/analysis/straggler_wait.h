// How much of a bubble is no matter of stages: ranks that wait because some GPU or link is slow, found by leaving that out.
#pragma once

#include "sim/simulate/simulation.h"

#include <optional>
#include <string>

namespace sim {

/// Does a perturbation make kernels or transfers longer?
bool isSlowedDown(const Scenario&);
/// The one that slows most; of a scenario that is slowed down.
const Perturbation& worstPerturbation(const Scenario&);

struct StragglerWait {
    Perturbation worst;
    double bubbleWithout = 0; ///< of the step that is left without perturbations
};
/// Of the order that was simulated. Nothing where the bubble is as long without perturbations, to a hundredth of the step.
/// Simulates once more where there are any.
std::optional<StragglerWait> stragglerWait(const Simulation&);

} // namespace sim
