#include "app/session/make_step.h"

#include "sim/memory_limit.h"
#include "sim/simulate/plan_schedule.h"

namespace app {
namespace {

ShownStep shown(const SimulationPtr& simulation, sim::TraceDetail detail)
{
    const auto trace = std::make_shared<const sim::Trace>(simulation->trace(detail));
    return {.simulation = simulation, .trace = trace, .instants = std::make_shared<const Instants>(trace)};
}

} // namespace

SimulationPtr simulateBeside(const SimulateFunction& simulate, const sim::Scenario& scenario, bool everyRank)
{
    return simulate(scenario, {.full = everyRank, .memoryLimitBytes = sim::kMemoryLimitBytes / 2});
}

ShownStep makeStep(const SimulateFunction& simulate, const sim::Scenario& scenario, bool everyRank)
{
    return shown(simulateBeside(simulate, scenario, everyRank), sim::TraceDetail::actions);
}

ShownStep makeKernels(const SimulationPtr& simulation)
{
    return shown(simulation, sim::TraceDetail::kernels);
}

std::optional<sim::EditEffect> measureEdit(const SimulateFunction& simulate, const sim::Simulation& before,
                                           const sim::SuggestedEdit& edit, const sim::ScenarioDocument& document,
                                           const sim::Catalogue& catalogue)
{
    const auto scenario = sim::scenarioWith(edit, document, catalogue);
    if (!scenario)
        return {};
    return sim::effectOf(before, *simulateBeside(simulate, *scenario));
}

} // namespace app
