// What no layout of a grid can go below, before its groups are known: kernels and activations of the halves of its layers.
#include "sim/index.h"
#include "sim/planner/floors.h"
#include "sim/planner/pass_pricer.h"

#include <algorithm>
#include <limits>

namespace sim {

Floors::HalfKey Floors::halfKey(HalfOfLayer half, std::size_t kind, const Choice& choice, const Scenario& scenario) const
{
    const PlanGrid& grid = choice.grid;
    const LayerKind& of = m_kinds[kind];
    if (half == HalfOfLayer::attention) { // whatever follows it
        const auto first = std::find_if(m_kinds.begin(), m_kinds.end(),
                                        [&](const LayerKind& other) { return other.type == of.type && other.rope == of.rope; });
        return {half, first - m_kinds.begin(), {grid.tp, grid.cp, choice.microBatch, 0}, choice.sequenceParallel};
    }
    const bool hasExperts = of.moe; // nothing else asks how they are split
    return {half,
            static_cast<std::ptrdiff_t>(kind),
            {grid.tp, hasExperts ? grid.ep : 0, hasExperts ? grid.etp : 0, Sharding::of(scenario).tokens()},
            choice.sequenceParallel};
}

/// Kernels are priced one by one and bytes add up, so that the halves' sum is the layer's.
Floors::HalfFloors Floors::priceHalf(HalfOfLayer half, const LayerKind& kind, const Scenario& given) const
{
    Scenario scenario = withCheapestStack(given);
    scenario.training.offload.activationLayers = 0;
    const CostModel cost(scenario);
    const PassPricer price(given, cost, GroupGeometry{});
    const Sharding sharding = Sharding::of(scenario);
    Labels labels(Labels::Names::leftOut);
    PassBuilder builder(scenario, labels); // one for all: to make one counts the model's tensors
    HalfFloors floors{{Recompute::none, {}}};
    for (const Recompute recompute : m_space.recomputes())
        floors[recompute];
    StageContent content = makeStageContent(scenario, sharding, {.layers = {kind}});
    Bucket& layer = content.buckets.front();
    const auto middle = layer.list.operators.begin() + static_cast<std::ptrdiff_t>(layer.list.secondHalf);
    if (half == HalfOfLayer::attention) {
        layer.list.operators.erase(middle, layer.list.operators.end());
    } else {
        layer.list.operators.erase(layer.list.operators.begin(), middle);
        layer.list.inputBytes = 0; // the layer's comes in before attention
    }
    for (auto& [recompute, of] : floors) {
        scenario.training.recompute = recompute;
        layer.recomputed = recompute == Recompute::full;
        scenario.training.recomputeLayers = layer.recomputed ? 1 : 0;
        const PassReplay forward = price.kernelsOf(builder.forward(content, {}, nullptr));
        of.kept = forward.keptBytes;
        if (!layer.recomputed) // a layer need not be run again: its time is that of one that is not
            of.kernelNs = forward.kernelNs + price.kernelsOf(builder.backward(content, ActionKind::backward, {})).kernelNs;
    }
    return floors;
}

const Floors::HalfFloors& Floors::halfOf(HalfOfLayer half, std::size_t kind, const Choice& choice, const Scenario& scenario) const
{
    const HalfKey key = halfKey(half, kind, choice, scenario);
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_halves.find(key); found != m_halves.end())
            return found->second;
    }
    HalfFloors made = priceHalf(half, m_kinds[kind], scenario);
    const std::lock_guard guard(m_lock);
    return m_halves.try_emplace(key, std::move(made)).first->second;
}

std::map<Recompute, LayoutFloor> Floors::leastOf(const Choice& choice, const Scenario& scenario, const StateFloor& states) const
{
    std::vector<std::array<const HalfFloors*, 2>> halves; // [kind]
    for (std::size_t k = 0; k < m_kinds.size(); ++k)
        halves.push_back({&halfOf(HalfOfLayer::attention, k, choice, scenario), &halfOf(HalfOfLayer::rest, k, choice, scenario)});
    // Some rank has so many layers, all of which hold the activations of a micro-batch when its last forward pass ends. So do the
    // layers of each rank, and some rank holds no less than the mean.
    const int most = (scenario.model.numHiddenLayers + choice.grid.pp - 1) / choice.grid.pp;
    std::map<Recompute, LayoutFloor> floors;
    for (const Recompute recompute : m_space.recomputes()) {
        LayoutFloor& floor = floors[recompute];
        const bool keeps = scenario.training.offload.activationLayers == 0;
        double leastHeld = std::numeric_limits<double>::infinity(), allKept = 0;
        for (std::size_t k = 0; k < m_kinds.size(); ++k) {
            double kernelNs = 0, kept = 0;
            for (const HalfFloors* half : halves[k]) {
                kernelNs += half->at(recompute == Recompute::full ? Recompute::none : recompute).kernelNs;
                kept += half->at(recompute).kept;
            }
            floor.stepNs += m_layersTo[k].back() * kernelNs;
            leastHeld = std::min(leastHeld, states.layersBytes[k] + (keeps ? most * kept : 0));
            allKept += keeps ? m_layersTo[k].back() * kept : 0;
        }
        floor.stepNs *= scenario.microbatches() / static_cast<double>(choice.grid.pp);
        floor.bytes = std::max(leastHeld, states.meanBytes + allKept / choice.grid.pp);
    }
    return floors;
}

} // namespace sim
