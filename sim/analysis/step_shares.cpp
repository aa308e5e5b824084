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
    const std::array<double, kAll.size()> values{ideal, recompute, kernels, tp, cp, ep, pp, dp, bubble};
    return values[static_cast<std::size_t>(share)];
}

StepShares stepShares(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Scenario& scenario = simulation.scenario();
    const double step = m.stepTimeSeconds;
    const double peak = scenario.cluster.gpu.peakTflops.at(scenario.training.precision) * 1e12 * m.worldSize;
    const StepFlops flops = stepFlops(scenario);
    const ExposedCommunication& e = m.exposedComm;
    StepShares out{.tp = e.tp * step,
                   .cp = e.cp * step,
                   .ep = e.ep * step,
                   .pp = e.pp * step,
                   .dp = e.dp * step,
                   .bubble = m.bubbleFraction * step};
    out.ideal = flops.modelCausal / peak;
    out.recompute = (flops.hardware - flops.modelCausal) / peak;
    out.kernels = step - out.ideal - out.recompute - out.exposed() - out.bubble;
    return out;
}

std::string_view stepShareName(StepShare share)
{
    constexpr std::array<std::string_view, kAll.size()> kNames{"model FLOPs at peak speed",
                                                               "recomputation",
                                                               "kernels below peak",
                                                               "exposed tp communication",
                                                               "exposed cp communication",
                                                               "exposed ep communication",
                                                               "exposed pp communication",
                                                               "exposed dp communication",
                                                               "bubble"};
    return kNames[static_cast<std::size_t>(share)];
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
