#include "sim/planner/robust.h"

#include "sim/cancel.h"
#include "sim/mesh/mesh.h"
#include "sim/parallel.h"
#include "sim/planner/nearest_grids.h"
#include "sim/planner/sensitivity.h"
#include "sim/simulate/simulation.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <functional>

namespace sim {
namespace {

/// Products of one GPU type and size differ by so much between releases of a library; a fabric that others use gives so much
/// less.
constexpr double kSlowerProducts = 0.9, kSlowerMemory = 0.9, kSlowerTier = 0.75;
/// Stragglers: of a thousand GPUs some are hot or share a link for a while (Llama Team 2024, The Llama 3 herd of models, section
/// 3.3.4).
constexpr double kSlowGpu = 1.1, kSlowLink = 2;
constexpr double kBusierExperts = 1.5;

struct Made {
    RobustCase what;
    std::function<void(Scenario&, int busiest)> apply; ///< busiest: the rank that computes most
};

std::vector<Made> casesOf(const Scenario& scenario)
{
    std::vector<Made> all;
    all.push_back({{"as given", ""}, [](Scenario&, int) {}});
    all.push_back({{"products 10 % slower", "/cluster/efficiency/gemm × 0.9"},
                   [](Scenario& of, int) { of.cluster.efficiency.gemm *= kSlowerProducts; }});
    all.push_back({{"the GPUs' memory 10 % slower", "/cluster/efficiency/memory × 0.9"},
                   [](Scenario& of, int) { of.cluster.efficiency.memory *= kSlowerMemory; }});
    for (std::size_t i = 0; i < scenario.cluster.tiers.size(); ++i)
        all.push_back({{spokenNetwork(scenario.cluster.tiers[i].name) + " gives a quarter less",
                        "/cluster/tiers/" + std::to_string(i) + "/bandwidth_gbs × 0.75"},
                       [i](Scenario& of, int) { of.cluster.tiers[i].bandwidthGBs *= kSlowerTier; }});
    if (scenario.layout.worldSize() > 1) {
        all.push_back(
            {{"one GPU computes 10 % slower", "slow_gpu, factor 1.1, where most is computed"}, [](Scenario& of, int rank) {
                 of.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = rank, .factor = kSlowGpu});
             }});
        all.push_back({{"one GPU's transfers take twice as long", "slow_link, factor 2, where most is computed"},
                       [](Scenario& of, int rank) {
                           of.perturbations.push_back({.kind = PerturbationKind::slowLink, .rank = rank, .factor = kSlowLink});
                       }});
    }
    if (scenario.model.numExperts > 0)
        all.push_back(
            {{"the busiest experts get half as much again", "/training/moe/imbalance × 1.5, at most ep"}, [](Scenario& of, int) {
                 double& imbalance = of.training.moe.imbalance;
                 imbalance *= kBusierExperts;
             }});
    return all;
}

/// The first rank of the pipeline rank that computes most: its delay no other hides.
int busiestRank(const Scenario& scenario, const Metrics& metrics)
{
    const auto& ranks = metrics.perPipelineRank;
    const auto busiest = std::max_element(
        ranks.begin(), ranks.end(), [](const PipelineRankMetrics& a, const auto& b) { return a.busySeconds < b.busySeconds; });
    return Mesh(scenario.layout).rank(0, 0, 0, static_cast<int>(busiest - ranks.begin()));
}

} // namespace

double RobustChoice::regret(std::size_t layout, std::size_t of) const
{
    double least = seconds[layout][of];
    for (const std::vector<double>& other : seconds)
        least = std::min(least, other[of]);
    return seconds[layout][of] / least - 1;
}

std::size_t RobustChoice::worstCase(std::size_t layout) const
{
    std::size_t worst = 0;
    for (std::size_t i = 1; i < cases.size(); ++i)
        if (regret(layout, i) > regret(layout, worst))
            worst = i;
    return worst;
}

std::vector<PlannedLayout> robustLayouts(const PlanRequest& request, const Catalogue& catalogue, const PlanAnswer& answer)
{
    constexpr std::size_t kMostOthers = 5;
    if (answer.best.empty())
        return {};
    // Where the first was proved at once few were simulated, and of their grids not the best.
    std::vector<AskedGrid> others;
    for (const RejectedGrid& grid : answer.rejected)
        if (grid.leastFloorSeconds > 0 && grid.grid != answer.best.front().grid)
            others.push_back({.grid = grid.grid, .floorSeconds = grid.leastFloorSeconds, .known = grid.best});
    std::vector<PlannedLayout> layouts = nearestGrids(request, catalogue, others, kMostOthers).layouts;
    layouts.insert(layouts.begin(), answer.best.front());
    return layouts;
}

RobustChoice robustChoice(const PlanRequest& request, const Catalogue& catalogue, const std::vector<PlannedLayout>& layouts)
{
    RobustChoice choice{.layouts = layouts};
    if (layouts.empty())
        return choice;
    std::vector<Scenario> scenarios;
    for (const PlannedLayout& layout : layouts) {
        scenarios.push_back(resolvedScenario(withSettings(request, layout.settings), catalogue));
        choice.names.push_back(choice.names.empty() ? layout.grid.text() : differenceText(layout, layouts.front()));
    }
    const std::vector<Made> cases = casesOf(scenarios.front());
    for (const Made& each : cases)
        choice.cases.push_back(each.what);
    choice.seconds.assign(layouts.size(), std::vector<double>(cases.size()));
    const auto threads = static_cast<std::size_t>(std::max(0, request.jobs));
    std::vector<int> busiest(layouts.size());
    forEachInParallel(layouts.size(), threads, [&](std::size_t i) {
        checkCancelled();
        const auto simulation = simulate(scenarios[i]);
        choice.seconds[i][0] = simulation->metrics().stepTimeSeconds * layouts[i].batches;
        busiest[i] = busiestRank(scenarios[i], simulation->metrics());
    });
    forEachInParallel(layouts.size() * (cases.size() - 1), threads, [&](std::size_t at) {
        checkCancelled();
        const std::size_t i = at / (cases.size() - 1), of = 1 + at % (cases.size() - 1);
        Scenario changed = scenarios[i];
        cases[of].apply(changed, busiest[i]);
        choice.seconds[i][of] = simulate(changed)->metrics().stepTimeSeconds * layouts[i].batches;
    });
    for (std::size_t i = 1; i < layouts.size(); ++i) {
        const double one = choice.worstRegret(i), best = choice.worstRegret(choice.best);
        if (one < best || (one == best && choice.seconds[i][0] < choice.seconds[choice.best][0]))
            choice.best = i;
    }
    return choice;
}

std::string robustText(const RobustChoice& choice)
{
    if (choice.layouts.empty())
        return {};
    const auto lost = [&](std::size_t layout) {
        const double most = choice.worstRegret(layout);
        return most == 0 ? std::string("the fastest of these in every case")
                         : "at most " + percentText(most) + " behind the best of these (" +
                               choice.cases[choice.worstCase(layout)].name + ")";
    };
    if (choice.best == 0)
        return "The first loses least: " + lost(0) + ".";
    return "Loses least: " + choice.layouts[choice.best].grid.text() + ", " + lost(choice.best) + "; the first is " + lost(0) +
           ".";
}

} // namespace sim
