#include "sim/analysis/step_shares.h"

#include "sim/model/flops.h"

#include <array>

namespace sim {
namespace {

constexpr std::array kAll{StepShare::ideal, StepShare::recompute, StepShare::kernels, StepShare::tp,    StepShare::cp,
                          StepShare::ep,    StepShare::pp,        StepShare::dp,      StepShare::bubble};

} // namespace

double StepShares::of(StepShare share) const
{
    if (const auto dimension = dimensionOfPart(share))
        return exposed[*dimension];
    return share == StepShare::ideal       ? ideal
           : share == StepShare::recompute ? recompute
           : share == StepShare::kernels   ? kernels
                                           : bubble;
}

StepShares stepShares(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Scenario& scenario = simulation.scenario();
    const double step = m.stepTimeSeconds;
    const double peak = scenario.cluster.gpu.peakTflops.at(scenario.training.precision) * 1e12 * m.worldSize;
    const StepFlops flops = stepFlops(scenario);
    StepShares out{.bubble = m.bubbleFraction * step};
    for (const Dimension dimension : kDimensions)
        out.exposed[dimension] = m.exposedComm[dimension] * step;
    out.ideal = flops.modelCausal / peak;
    out.recompute = (flops.hardware - flops.modelCausal) / peak;
    out.kernels = step - out.ideal - out.recompute - out.exposed.total() - out.bubble;
    return out;
}

std::string stepShareName(StepShare share)
{
    if (const auto dimension = dimensionOfPart(share))
        return std::string("exposed ") + dimensionName(*dimension) + " communication";
    return share == StepShare::ideal       ? "model FLOPs at peak speed"
           : share == StepShare::recompute ? "recomputation"
           : share == StepShare::kernels   ? "kernels below peak"
                                           : "bubble";
}

std::vector<StepShare> presentShares(const StepShares& shares)
{
    std::vector<StepShare> out;
    for (const StepShare share : kAll)
        if (shares.of(share) > 1e-6 * shares.total())
            out.push_back(share);
    return out;
}

} // namespace sim
