#include "sim/analysis/step_by_flops.h"

#include "sim/engine/documents.h"
#include "sim/model/flops.h"

namespace sim {

ByStepPart<double> stepByFlops(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Scenario& scenario = simulation.scenario();
    const double step = m.stepTimeSeconds;
    const double peak = scenario.cluster.gpu.peakTflops.at(scenario.training.precision) * 1e12 * m.worldSize;
    const StepFlops flops = stepFlops(scenario, attentionFlopsShare(scenario));
    ByStepPart<double> out;
    for (const Dimension dimension : kDimensions)
        out[partOf<StepPart>(dimension)] = m.exposedComm[dimension] * step;
    out[StepPart::host] = m.exposedHost * step;
    out[StepPart::bubble] = m.bubbleFraction * step;
    out[StepPart::modelFlops] = flops.modelCausal / peak;
    out[StepPart::recomputedFlops] = (flops.hardware - flops.modelCausal) / peak;
    out[StepPart::belowPeak] =
        step - out[StepPart::modelFlops] - out[StepPart::recomputedFlops] - out.exposed() - out[StepPart::bubble];
    return out;
}

std::vector<StepPart> presentParts(const ByStepPart<double>& seconds)
{
    std::vector<StepPart> out;
    for (const StepPart part : kStepParts)
        if (seconds[part] > 1e-6 * seconds.total())
            out.push_back(part);
    return out;
}

} // namespace sim
