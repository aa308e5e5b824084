#include "sim/analysis/balanced_layers.h"

#include "sim/index.h"

#include <algorithm>
#include <functional>

namespace sim {

std::vector<int> layersOfRanks(const Scenario& scenario, const Schedule& schedule)
{
    std::vector<int> out(asIndex(schedule.ranks));
    for (int stage = 0; stage < schedule.stages(); ++stage)
        out[schedule.rankOf(stage)] += scenario.schedule.layersPerStage[asIndex(schedule.partOf(stage))];
    return out;
}

std::optional<std::vector<int>> balancedLayers(const Simulation& simulation)
{
    const Schedule& schedule = simulation.schedule();
    const std::vector<int> held = layersOfRanks(simulation.scenario(), schedule);
    std::vector<double> busy, perLayer;
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
        busy.push_back(simulation.metrics().perPipelineRank[rank].busySeconds);
        if (held[rank] > 0)
            perLayer.push_back(busy.back() / held[rank]);
    }
    if (schedule.chains > 1 || perLayer.empty())
        return std::nullopt;
    const double layerSeconds = *std::min_element(perLayer.begin(), perLayer.end()); // of a rank without an end of the model
    std::vector<int> layers = simulation.scenario().schedule.layersPerStage;
    const auto stageOf = [&](std::size_t rank, auto better) {
        const std::vector<int> stages = schedule.stagesOfRank(static_cast<int>(rank));
        return asIndex(*std::max_element(stages.begin(), stages.end(),
                                         [&](int a, int b) { return better(layers[asIndex(b)], layers[asIndex(a)]); }));
    };
    bool moved = false;
    for (int i = 0; i < simulation.scenario().model.numHiddenLayers; ++i) {
        const auto slowest = asIndex(std::max_element(busy.begin(), busy.end()) - busy.begin());
        const auto fastest = asIndex(std::min_element(busy.begin(), busy.end()) - busy.begin());
        const std::size_t from = stageOf(slowest, std::greater<>()), to = stageOf(fastest, std::less<>());
        if (layers[from] == 0 || busy[fastest] + layerSeconds > 0.99 * busy[slowest])
            break;
        --layers[from];
        ++layers[to];
        busy[slowest] -= layerSeconds;
        busy[fastest] += layerSeconds;
        moved = true;
    }
    return moved ? std::optional(layers) : std::nullopt;
}

} // namespace sim
