#include "sim/analysis/straggler_wait.h"

#include <algorithm>

namespace sim {

bool isSlowedDown(const Scenario& scenario)
{
    return std::any_of(scenario.perturbations.begin(), scenario.perturbations.end(),
                       [](const Perturbation& p) { return p.kind != PerturbationKind::failure; });
}

const Perturbation& worstPerturbation(const Scenario& scenario)
{
    const auto& all = scenario.perturbations;
    return *std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.factor < b.factor; });
}

std::optional<StragglerWait> stragglerWait(const Simulation& simulation)
{
    constexpr double kNoticeable = 0.01;
    if (!isSlowedDown(simulation.scenario()))
        return std::nullopt;
    Scenario ideal = simulation.scenario();
    ideal.perturbations.clear();
    const Metrics without = simulate(ideal)->metrics();
    const Metrics& with = simulation.metrics();
    const double addedSeconds = with.bubbleFraction * with.stepTimeSeconds - without.bubbleFraction * without.stepTimeSeconds;
    if (addedSeconds < kNoticeable * with.stepTimeSeconds)
        return std::nullopt;
    return StragglerWait{worstPerturbation(simulation.scenario()), without.bubbleFraction};
}

} // namespace sim
