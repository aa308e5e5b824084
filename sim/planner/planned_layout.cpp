#include "sim/planner/planned_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace sim {

PlannedLayout plannedLayout(const PlanGrid& grid, std::vector<PlanSetting> settings, const Simulation& simulation, double price,
                            double batches)
{
    const Metrics& metrics = simulation.metrics();
    const Scenario& scenario = simulation.scenario();
    PlannedLayout layout{.grid = grid,
                         .settings = std::move(settings),
                         .stepSeconds = metrics.stepTimeSeconds,
                         .batches = batches,
                         .tokensPerSecond = metrics.tokensPerSecond,
                         .peakMemoryGib = metrics.peakMemoryGib,
                         .headroomGib = scenario.cluster.gpu.memoryGib - metrics.peakMemoryGib,
                         .use = metrics.use};
    const Training& training = scenario.training;
    const double steps =
        training.tokens > 0 ? std::ceil(training.tokens / (1.0 * training.globalBatchSize * training.sequenceLength)) : batches;
    layout.gpuHours = steps * layout.stepSeconds * static_cast<double>(scenario.layout.worldSize()) / 3600;
    if (training.tokens > 0)
        layout.runDays = steps * layout.stepSeconds / kSecondsPerDay;
    layout.cost = layout.gpuHours * price;
    return layout;
}

std::string tightText(double peakGib, double headroomGib)
{
    const double gpuGib = peakGib + headroomGib;
    if (headroomGib >= kTightShare * gpuGib)
        return {};
    std::array<char, 96> text{};
    if (headroomGib < 1)
        std::snprintf(text.data(), text.size(), "only %.0f MiB of %.0f GiB left", std::max(0.0, headroomGib) * 1024, gpuGib);
    else
        std::snprintf(text.data(), text.size(), "only %.1f GiB of %.0f left", headroomGib, gpuGib);
    return text.data();
}

} // namespace sim
