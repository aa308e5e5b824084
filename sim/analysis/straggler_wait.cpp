#include "sim/analysis/straggler_wait.h"

#include "sim/schedule/text/csv.h"

#include <algorithm>
#include <sstream>

namespace sim {

bool isSlowedDown(const Scenario& scenario)
{
    return std::any_of(scenario.perturbations.begin(), scenario.perturbations.end(),
                       [](const Perturbation& p) { return p.slowsStep(); });
}

const Perturbation& worstPerturbation(const Scenario& scenario)
{
    const auto& all = scenario.perturbations;
    return *std::max_element(all.begin(), all.end(), [](const Perturbation& a, const Perturbation& b) {
        return a.slowsStep() != b.slowsStep() ? b.slowsStep() : a.factor < b.factor;
    });
}

namespace {

/// The same order of actions, also where it was searched for: another search takes seconds, and might answer with another order.
Scenario withoutPerturbations(const Simulation& simulation)
{
    Scenario ideal = simulation.scenario();
    ideal.perturbations.clear();
    if (ideal.schedule.kind == "auto") {
        ideal.schedule.kind = "custom";
        ideal.schedule.actions.clear();
        std::istringstream csv(scheduleCsv(simulation.schedule()));
        for (std::string line; std::getline(csv, line);)
            ideal.schedule.actions.push_back(line);
    }
    return ideal;
}

} // namespace

std::optional<StragglerWait> stragglerWait(const Simulation& simulation)
{
    constexpr double kNoticeable = 0.01;
    if (!isSlowedDown(simulation.scenario()))
        return std::nullopt;
    const Metrics without = simulate(withoutPerturbations(simulation))->metrics();
    const Metrics& with = simulation.metrics();
    const double addedSeconds = with.bubbleFraction * with.stepTimeSeconds - without.bubbleFraction * without.stepTimeSeconds;
    if (addedSeconds < kNoticeable * with.stepTimeSeconds)
        return std::nullopt;
    return StragglerWait{worstPerturbation(simulation.scenario()), without.bubbleFraction};
}

} // namespace sim
