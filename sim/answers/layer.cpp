#include "sim/answers/traffic_parts.h"
#include "sim/index.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sim {
namespace {

bool isOfForward(const Op& op)
{
    return op.purpose == OpPurpose::forward;
}
bool isOfBackward(const Op& op)
{
    return op.purpose == OpPurpose::backward || op.purpose == OpPurpose::backwardInput || op.purpose == OpPurpose::backwardWeight;
}

/// A layer where it stands.
struct PlacedLayer {
    int layer = 0; ///< of the model
    int stage = 0;
    int inStage = 0; ///< from the stage's first one
};

/// Layers of a kind, and the one of them that stands for the others.
struct LayersOfKind {
    LayerKind kind;
    int count = 0;
    PlacedLayer shown;
};

/// Most frequent first; of as many, those with experts.
std::vector<LayersOfKind> kindsOfLayers(const Simulation& simulation)
{
    const Scenario& scenario = simulation.scenario();
    const std::vector<int>& firstLayers = simulation.program().firstLayerOfStage;
    std::map<LayerKind, std::map<int, std::vector<PlacedLayer>>> byStage;
    std::map<LayerKind, int> count;
    for (int stage = 0; stage < simulation.schedule().chainLength(); ++stage)
        for (int i = 0; i < scenario.schedule.layersPerStage[asIndex(stage)]; ++i) {
            const int layer = firstLayers[asIndex(stage)] + i;
            const LayerKind kind = scenario.model.layerKind(layer);
            ++count[kind];
            byStage[kind][stage].push_back({.layer = layer, .stage = stage, .inStage = i});
        }
    std::vector<LayersOfKind> kinds;
    for (auto& [kind, stages] : byStage) {
        const auto most = std::max_element(stages.begin(), stages.end(),
                                           [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
        std::vector<PlacedLayer>& layers = most->second;
        if (layers.size() > 1 && layers.front().inStage == 0) // the first of a stage has other neighbours than most
            layers.erase(layers.begin());
        kinds.push_back({.kind = kind, .count = count[kind], .shown = layers[(layers.size() - 1) / 2]});
    }
    std::stable_sort(kinds.begin(), kinds.end(), [](const LayersOfKind& a, const LayersOfKind& b) {
        return a.count != b.count ? a.count > b.count : a.kind.moe && !b.kind.moe;
    });
    return kinds;
}

/// Only what tells kinds of this model apart: "moe", "dense, sliding".
std::string kindName(const LayerKind& kind, const std::vector<LayersOfKind>& all)
{
    const auto differ = [&](auto of) {
        return std::any_of(all.begin(), all.end(), [&](const LayersOfKind& other) { return of(other.kind) != of(kind); });
    };
    constexpr std::array kTypes{"full attention", "sliding window", "chunks"}; // as LayerType has them
    static_assert(static_cast<int>(LayerType::full) == 0 && static_cast<int>(LayerType::sliding) == 1 &&
                  static_cast<int>(LayerType::chunked) == 2);
    std::string name = kind.moe ? "moe" : "dense";
    const bool typesDiffer = differ([](const LayerKind& k) { return k.type; });
    if (typesDiffer)
        name += std::string(", ") + kTypes[static_cast<std::size_t>(kind.type)];
    if (!kind.rope && differ([](const LayerKind& k) { return k.rope; }))
        name += ", no rotation";
    return name;
}

/// Passes of a stage's first actions of each kind, in order. A block with another action has an action's ops in several passes.
using ActionPasses = std::array<std::vector<const Pass*>, 4>;

ActionPasses firstPasses(const Simulation& simulation, int stage)
{
    const Program& program = simulation.program();
    const std::size_t rank = simulation.schedule().rankOf(stage);
    const std::vector<Action>& actions = simulation.schedule().actions[rank];
    std::array<std::optional<std::int32_t>, 4> first;
    ActionPasses passes;
    for (const Step& step : program.ranks[rank].steps) {
        if (step.action < 0 || step.stage != stage)
            continue;
        const auto kind = static_cast<std::size_t>(actions[asIndex(step.action)].kind);
        if (!first[kind])
            first[kind] = step.action;
        if (first[kind] == step.action)
            passes[kind].push_back(&program.passes[step.pass]);
    }
    return passes;
}

template <typename Is>
void addOps(Answer& out, const Simulation& simulation, const std::vector<const Pass*>& passes, int inStage, Is isOther)
{
    const Program& program = simulation.program();
    for (const Pass* pass : passes)
        for (std::size_t i = 0; i < pass->ops.size(); ++i) {
            const Op& op = pass->ops[i];
            if (op.layer != inStage || isOther(op) || (op.kind != OpKind::compute && op.kind != OpKind::collective))
                continue;
            Answer entry{{"op", program.labels[op.label]}, {"at", out.size()}};
            if (op.kind == OpKind::collective)
                entry.update({{"group", communicatorRoleName(op.group)},
                              {"collective", factsOf(pass->shapes[i].collective).curve},
                              {"bytes", meanShape(pass->shapes[i], simulation.scenario()).bytes}});
            if (op.again)
                entry["again"] = true;
            out.push_back(std::move(entry));
        }
}

} // namespace

Answer layersAnswer(const Simulation& simulation)
{
    const auto passesOf = [](const ActionPasses& passes, ActionKind kind) -> const std::vector<const Pass*>& {
        return passes[static_cast<std::size_t>(kind)];
    };
    const std::vector<LayersOfKind> kinds = kindsOfLayers(simulation);
    Answer out = Answer::array();
    for (const LayersOfKind& of : kinds) {
        const ActionPasses passes = firstPasses(simulation, of.shown.stage);
        Answer layer{{"kind", kindName(of.kind, kinds)},
                     {"count", of.count},
                     {"layer", of.shown.layer},
                     {"forward", Answer::array()},
                     {"backward", Answer::array()}};
        const auto add = [&](const char* pass, ActionKind kind, auto isOther) {
            addOps(layer[pass], simulation, passesOf(passes, kind), of.shown.inStage, isOther);
        };
        add("forward", ActionKind::forward, isOfBackward);
        if (!passesOf(passes, ActionKind::backward).empty()) { // another micro-batch's may be in halves: they are the same ops
            add("backward", ActionKind::backward, isOfForward);
        } else {
            add("backward", ActionKind::backwardInput, isOfForward);
            add("backward", ActionKind::backwardWeight, isOfForward);
        }
        out.push_back(std::move(layer));
    }
    return out;
}

} // namespace sim
