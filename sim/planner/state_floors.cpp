// What the model's states take of a grid's GPUs at least, however they are sharded and layers are dealt: known before anything is
// priced, so that a job that is too large for its GPUs is refused without a search.
#include "sim/index.h"
#include "sim/planner/floors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sim {
namespace {

/// Shards are rounded up, and shares of them to whole bytes: a sum of parts differs by so little from the whole.
constexpr double kRounded = 1024;

/// Bytes of a rank's model states, never less than what is left of them when parts were rounded.
double leastStatesBytes(const Scenario& scenario, const ParameterElements& held)
{
    const ModelStates states = modelStates(scenario, held);
    const std::int64_t bytes = states.parameters + states.gradients + states.optimizer + states.buffers;
    return std::max(0.0, static_cast<double>(bytes) - kRounded);
}

ParameterElements manyOf(const ParameterElements& of, std::int64_t times)
{
    return {.dense = of.dense * times,
            .routed = of.routed * times,
            .frozenDense = of.frozenDense * times,
            .frozenRouted = of.frozenRouted * times,
            .narrow = of.narrow * times};
}

} // namespace

std::shared_ptr<const Floors::SplitElements> Floors::elementsOf(const Scenario& scenario) const
{
    const Layout& layout = scenario.layout;
    const std::array<int, 3> key{layout.tp, layout.ep, layout.etp};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_elements.find(key); found != m_elements.end())
            return found->second;
    }
    const Sharding sharding = Sharding::of(scenario);
    const auto elements = [&](const ContentKey& of) { return makeStageContent(scenario, sharding, of).parameters(); };
    SplitElements made;
    for (std::size_t kind = 0; kind < m_kinds.size(); ++kind) {
        made.layer.push_back(elements({.layers = {m_kinds[kind]}}));
        made.whole += manyOf(made.layer.back(), m_layersTo[kind].back());
    }
    const bool usesTwice = scenario.model.tieWordEmbeddings || scenario.model.numNextnPredictLayers > 0;
    made.whole += elements({.layers = {}, .embedding = true});
    made.whole += elements({.layers = {}, .head = true, .ownsEmbedding = usesTwice}); // a rank may have both
    auto shared = std::make_shared<const SplitElements>(std::move(made));
    const std::lock_guard guard(m_lock);
    return m_elements.try_emplace(key, std::move(shared)).first->second;
}

StateFloor Floors::leastStatesOf(const PlanGrid& grid) const
{
    Choice choice{.grid = grid, .chunks = m_space.familyOf(0).chunks.least};
    Scenario scenario = m_space.scenarioOf(choice);
    const auto elements = elementsOf(scenario);
    // Some rank has so many layers, and some one no less than the mean of all.
    const int most = (scenario.model.numHiddenLayers + grid.pp - 1) / grid.pp;
    StateFloor floor;
    floor.meanBytes = std::numeric_limits<double>::infinity();
    floor.layersBytes.assign(m_kinds.size(), std::numeric_limits<double>::infinity());
    for (const int zero : m_space.zeroStages(grid)) {
        const std::vector<int> shards = m_space.shards(grid, zero);
        // Larger groups hold no more, but where what was gathered stays beside the shards.
        const bool keepsGathered = zero == 3 && !scenario.layout.reshardAfterForward;
        for (const int shard : keepsGathered ? shards : std::vector<int>{shards.back()}) {
            choice.zeroStage = zero;
            choice.dpShard = shard;
            m_space.applyTo(scenario, choice);
            floor.meanBytes = std::min(floor.meanBytes, leastStatesBytes(scenario, elements->whole) / grid.pp);
            for (std::size_t kind = 0; kind < m_kinds.size(); ++kind)
                floor.layersBytes[kind] =
                    std::min(floor.layersBytes[kind], leastStatesBytes(scenario, manyOf(elements->layer[kind], most)));
        }
    }
    floor.bytes = std::max(floor.meanBytes, *std::min_element(floor.layersBytes.begin(), floor.layersBytes.end()));
    return floor;
}

std::int64_t Floors::fewestGpusOfStates(double capacityBytes) const
{
    constexpr int kShards = 1024; // so many that a GPU's part is a small one, so few that rounding them up is nothing
    Choice choice{.chunks = m_space.familyOf(0).chunks.least};
    choice.grid.dp = choice.dpShard = kShards;
    double least = std::numeric_limits<double>::infinity();
    for (const int zero : {0, 3}) { // software may follow from it, and with that what is held
        choice.zeroStage = zero;
        Scenario scenario = m_space.scenarioOf(choice);
        scenario.layout.zeroStage = 3;
        scenario.layout.reshardAfterForward = true;
        least = std::min(least, kShards * leastStatesBytes(scenario, elementsOf(scenario)->whole));
    }
    return std::max<std::int64_t>(1, std::llround(std::ceil(least / capacityBytes)));
}

} // namespace sim
