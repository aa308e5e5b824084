// What a step is without its perturbations, and which of them counts most: both found by leaving out.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/simulate/metrics.h"

#include <optional>

namespace sim {

class Simulation;

/// Does a perturbation make kernels or transfers longer?
bool isSlowedDown(const Scenario&);

struct Slowness {
    Perturbation worst;            ///< the one that by itself makes the longest step, of those that are compared
    bool isAlone = true;           ///< with it alone the step is as long as with all, to a hundredth
    double secondsWithout = 0;     ///< a step without perturbations
    double bubbleWithout = 0;      ///< of such a step, a share
    double addedBubbleSeconds = 0; ///< what perturbations add to the bubble
};
/// Of the order that was simulated. Nothing of scenarios that nothing slows down. Simulates once without perturbations and, of
/// several, with each of those that are compared: of each kind the four with the largest factors, or deviations. A smaller one
/// that costs more, say on a rank that all wait for, is not found beside four larger ones of its kind. Simulation::slowness()
/// keeps what it found.
std::optional<Slowness> findSlowness(const Simulation&);

/// That ranks wait because some GPU or link is slow, which is no matter of stages: nothing where the bubble is as long without
/// perturbations, to a hundredth of the step.
std::optional<Slowness> stragglerWait(const std::optional<Slowness>&, const Metrics& with);

} // namespace sim
