#include "sim/simulate/slowness.h"

#include "sim/schedule/text/csv.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <sstream>

namespace sim {

bool isSlowedDown(const Scenario& scenario)
{
    return std::any_of(scenario.perturbations.begin(), scenario.perturbations.end(),
                       [](const Perturbation& p) { return p.slowsStep(); });
}

namespace {

constexpr double kNoticeable = 0.01; ///< of the step

/// The order that was simulated, written out where it had been searched for: a search takes seconds.
Scenario withItsOrder(const Simulation& simulation)
{
    Scenario scenario = simulation.scenario();
    if (scenario.schedule.kind == "auto") {
        scenario.schedule.kind = "custom";
        scenario.schedule.actions.clear();
        std::istringstream csv(scheduleCsv(simulation.schedule()));
        for (std::string line; std::getline(csv, line);)
            scenario.schedule.actions.push_back(line);
    }
    return scenario;
}

/// Of each kind those with the largest factors (a link's is no GPU's: only a simulation tells which of two kinds costs more),
/// the ones that come first in the scenario before others.
std::vector<Perturbation> candidates(const std::vector<Perturbation>& all)
{
    constexpr std::size_t kMostOfAKind = 4;
    std::vector<Perturbation> out;
    for (const PerturbationKind kind : {PerturbationKind::slowGpu, PerturbationKind::slowLink, PerturbationKind::jitter}) {
        std::vector<Perturbation> ofKind;
        std::copy_if(all.begin(), all.end(), std::back_inserter(ofKind), [&](const Perturbation& p) { return p.kind == kind; });
        std::stable_sort(ofKind.begin(), ofKind.end(),
                         [](const Perturbation& a, const Perturbation& b) { return a.factor + a.sigma > b.factor + b.sigma; });
        ofKind.resize(std::min(ofKind.size(), kMostOfAKind));
        out.insert(out.end(), ofKind.begin(), ofKind.end());
    }
    return out;
}

} // namespace

std::optional<Slowness> findSlowness(const Simulation& simulation)
{
    if (!isSlowedDown(simulation.scenario()))
        return std::nullopt;
    Scenario scenario = withItsOrder(simulation);
    const auto stepWith = [&](std::vector<Perturbation> perturbations) {
        scenario.perturbations = std::move(perturbations);
        return simulate(scenario)->metrics();
    };
    const Metrics& with = simulation.metrics();
    const Metrics without = stepWith({});
    Slowness slowness{.secondsWithout = without.stepTimeSeconds,
                      .bubbleWithout = without.bubbleFraction,
                      .addedBubbleSeconds =
                          with.bubbleFraction * with.stepTimeSeconds - without.bubbleFraction * without.stepTimeSeconds};
    const std::vector<Perturbation> tried = candidates(simulation.scenario().perturbations);
    if (tried.size() == 1) {
        slowness.worst = tried.front();
        return slowness;
    }
    double longest = -1;
    for (const Perturbation& one : tried)
        if (const double seconds = stepWith({one}).stepTimeSeconds; seconds > longest) {
            longest = seconds;
            slowness.worst = one;
        }
    slowness.isAlone = with.stepTimeSeconds - longest < kNoticeable * with.stepTimeSeconds;
    return slowness;
}

std::optional<Slowness> stragglerWait(const std::optional<Slowness>& slowness, const Metrics& with)
{
    return slowness && slowness->addedBubbleSeconds >= kNoticeable * with.stepTimeSeconds ? slowness : std::nullopt;
}

} // namespace sim
