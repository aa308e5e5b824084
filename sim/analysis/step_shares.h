// Where the seconds of a step go: from what the model's FLOPs would take at the GPU's peak to what the step takes.
#pragma once

#include "sim/simulate/simulation.h"

#include <string>
#include <vector>

namespace sim {

enum class StepShare : std::uint8_t { ideal, recompute, kernels, tp, cp, ep, pp, dp, bubble };

/// Means over ranks, in seconds. The parts add up to the step.
struct StepShares {
    double ideal = 0;            ///< model FLOPs at the dense peak of the precision: MFU is this over the step
    double recompute = 0;        ///< FLOPs run again, at that peak: HFU adds this
    double kernels = 0;          ///< what kernels take beyond: below peak, bound by memory, launches, the optimizer
    ByDimension<double> exposed; ///< communication
    double bubble = 0;
    double busy() const { return ideal + recompute + kernels; }
    double total() const { return busy() + exposed.total() + bubble; }
    double of(StepShare) const;
};
StepShares stepShares(const Simulation&);

/// "kernels below peak".
std::string stepShareName(StepShare);
/// All that are more than nothing, in the order of StepShare.
std::vector<StepShare> presentShares(const StepShares&);

} // namespace sim
