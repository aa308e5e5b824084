// What a rank holds at its peak.
#include "sim/analysis/explain/explainer.h"
#include "sim/analysis/findings/findings.h"
#include "sim/analysis/holdings.h"

#include "sim/model/operators.h"
#include "sim/program/states.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim {
namespace {

constexpr const char* kZero3 = "Rajbhandari et al. 2020 (ZeRO), section 3";

/// Parts of the model of one kind that a rank holds.
struct Held {
    double elements = 0; ///< of all
    int count = 0;
};
using HeldParts = std::array<Held, kModelParts.size()>; ///< [ModelPart]

int partsIn(const HoldingGroup& group)
{
    return std::max(1, static_cast<int>(group.layers.size()));
}

/// Dense or routed parameters of any rank of the pipeline rank; with LoRA those of adapters alone, where only what is trained
/// counts.
HeldParts heldParts(const Simulation& simulation, int pipelineRank, bool routed, bool trained)
{
    HeldParts out;
    for (const HoldingGroup& group : holdingsOf(simulation, simulation.mesh().rank(0, 0, 0, pipelineRank)).groups) {
        Held& held = out[static_cast<std::size_t>(group.part)];
        for (const TensorHolding& tensor : group.tensors)
            if (tensor.isRouted() == routed && (!trained || tensor.isTrained(simulation.scenario().model)))
                held.elements += static_cast<double>(tensor.elements);
        held.count = held.elements > 0 ? partsIn(group) : 0;
    }
    return out;
}

/// The parts of all these stages, added up. `whose` slices, and what the counts are of.
Explanation sumOf(const std::vector<HeldParts>& stages, bool routed, std::string name, const std::string& whose,
                  const char* together, std::string convention)
{
    struct Name {
        const char *symbol, *countSymbol;
        std::string meaning;
    };
    const std::string slice = ", " + whose + "'s slice";
    const std::array<Name, kModelParts.size()> names{
        {{"e", "n_e", "embedding" + slice},
         {"l", "n_l", "a dense layer" + slice},
         {routed ? "x" : "l_moe", routed ? "n_x" : "n_moe",
          routed ? "experts of a layer that " + whose + " holds" : "a layer of experts without them" + slice},
         {"o", "n_o", "final norm and output head" + slice},
         {routed ? "x_D" : "l_D", "n_D",
          (routed ? "experts of a module of multi-token prediction" : "a module of multi-token prediction") + slice}}};
    double whole = 0;
    HeldParts sums;
    for (const HeldParts& stage : stages)
        for (std::size_t part = 0; part < sums.size(); ++part) {
            whole += stage[part].elements;
            sums[part].elements += stage[part].elements;
            sums[part].count += stage[part].count;
        }
    Account account(std::move(name), routed ? "ψ_e" : "ψ", whole, Unit::count);
    std::vector<Formula> sum;
    for (std::size_t part = 0; part < sums.size(); ++part) {
        const auto& [elements, count] = sums[part];
        if (count == 0)
            continue;
        Formula next = account.term(names[part].symbol, elements / count, Unit::count, names[part].meaning);
        if (count > 1)
            next = account.term(names[part].countSymbol, count, Unit::count, together) * next;
        sum.push_back(std::move(next));
    }
    return account.close(Formula::sum(std::move(sum)), std::move(convention), "Shoeybi et al. 2019 (Megatron-LM), section 3");
}

/// Who else has the same states, and what ZeRO does about it.
std::string sharingText(const Layout& layout, const ShardRanks& shards, bool hasExperts, int shardedFrom,
                        const std::string& keepsWhole, bool isRounded)
{
    if (shards.dense <= 1 && (!hasExperts || shards.routed <= 1))
        return "There is one data-parallel rank: nothing to share.";
    const std::string single = !hasExperts          ? ""
                               : shards.routed <= 1 ? " Of experts there is one copy."
                               : shards.dense <= 1  ? " Of all but experts there is one copy."
                                                    : "";
    if (layout.zeroStage >= shardedFrom)
        return "Sharded by ZeRO " + std::to_string(layout.zeroStage) + keepsWhole + "." + single +
               (isRounded ? " A shard is rounded up to whole elements." : "");
    return "Whole on every data-parallel rank: ZeRO " + std::to_string(shardedFrom) + " would share them" + keepsWhole + "." +
           single;
}

struct StateOf {
    const char *name, *symbol;
    int bytesEach;
    int shardedFrom; ///< ZeRO stage
    std::int64_t value;
    std::string consistsOf;
};

} // namespace

ShowHint Explainer::showMemory() const
{
    return {.pictures = {"memory", "timeline"}, .ranks = {m_rank}};
}

Explanation Explainer::memory() const
{
    const MemoryBreakdown m = m_simulation.memoryOfClass(m_simulation.classOf(m_rank));
    Account account("Peak memory of rank " + numberText(m_rank, Unit::count), "M", static_cast<double>(m.total()), Unit::bytes);
    Formula sum = Formula::sum({account.term(states(MetricId::parameterMemory)), account.term(states(MetricId::gradientMemory)),
                                account.term(states(MetricId::optimizerMemory)), account.term(activations())});
    if (m.buffers > 0)
        sum = sum + account.term(buffers());
    const double capacity = m_scenario.cluster.gpu.memoryGib * 1073741824.0;
    return account.close(
        sum,
        std::string(m_rankIsFullest ? "The rank that holds most, at the moment when it does. " : "At the moment of its peak. ") +
            "What the allocator reserves beyond (" + numberText(kAllocatorReserve, Unit::fraction, 1) +
            " is usual) is not counted. The GPU has " + numberText(capacity, Unit::bytes) + ".",
        "Simulated: every op allocates and frees", showMemory());
}

/// Elements of this rank before any sharding over data-parallel ranks.
Explanation Explainer::heldParameters(bool routed, bool trained) const
{
    const int pipelineRank = m_simulation.mesh().coordinates(m_rank).pp;
    const Layout& l = m_scenario.layout;
    return sumOf({heldParts(m_simulation, pipelineRank, routed, trained)}, routed,
                 routed                                    ? "parameters of this rank's experts"
                 : trained && m_scenario.model.lora.isOn() ? "parameters of this rank's adapters"
                                                           : "parameters this rank computes with",
                 "this rank", "of these on this rank",
                 "Cut by tp " + std::to_string(l.tp) + ", pp " + std::to_string(l.pp) +
                     (routed ? ", ep " + std::to_string(l.ep) + ", etp " + std::to_string(l.etp) : "") + "; pipeline rank " +
                     std::to_string(pipelineRank) + ".");
}

Explanation parametersOfStages(const Simulation& simulation, bool routed, bool trained)
{
    std::vector<HeldParts> stages;
    for (int rank = 0; rank < simulation.scenario().layout.pp; ++rank)
        stages.push_back(heldParts(simulation, rank, routed, trained));
    return sumOf(stages, routed,
                 routed                                               ? "parameters of experts, of one rank of each stage"
                 : trained && simulation.scenario().model.lora.isOn() ? "parameters of adapters, of one rank of each stage"
                                                                      : "parameters of one rank of each stage",
                 "a rank", "of these, all stages together",
                 "Slices of tp" + std::string(routed ? ", ep and etp" : "") + "; every stage's layers once" +
                     (simulation.schedule().chains > 1 ? " in each copy of the model." : "."));
}

Explanation Explainer::states(MetricId id) const
{
    const MemoryBreakdown m = m_simulation.memoryOfClass(m_simulation.classOf(m_rank));
    const StateBytes bytes = StateBytes::of(m_scenario.training);
    const ShardRanks shards = ShardRanks::of(m_scenario.layout);
    const bool adam = m_scenario.training.optimizer == Optimizer::adamw;
    const bool isNarrowed = bytes.computed < bytes.parameter;
    const StateOf state =
        id == MetricId::parameterMemory
            ? StateOf{"parameters",
                      "M_p",
                      bytes.parameter,
                      3,
                      m.parameters,
                      isNarrowed                                ? "in fp32, as the optimizer updates it"
                      : isNarrow(m_scenario.training.precision) ? "one value in bf16; products cast it"
                                                                : "one value of the training precision"}
        : id == MetricId::gradientMemory
            ? StateOf{"gradients", "M_g",       bytes.gradient,
                      2,           m.gradients, bytes.gradient == 2 ? "accumulated in 16 bits" : "accumulated in fp32"}
            : StateOf{"optimizer states",
                      "M_o",
                      bytes.optimizer,
                      1,
                      m.optimizer,
                      std::string(bytes.hasMaster ? "fp32 master copy" : "") +
                          (adam ? std::string(bytes.hasMaster ? " and " : "") +
                                      (m_scenario.training.momentBytes == 2 ? "two bf16 moments" : "two fp32 moments")
                                : "")};
    Account account(state.name, state.symbol, static_cast<double>(state.value), Unit::bytes);
    const bool sharded = m_scenario.layout.zeroStage >= state.shardedFrom;
    // Every micro-batch would pay for gathering and reducing; see states.h.
    const bool gradientsWhole = state.shardedFrom == 2 && addsUpWhole(m_scenario);
    const bool staysGathered = state.shardedFrom == 3 && !m_scenario.layout.reshardAfterForward;
    const std::string keepsWhole = gradientsWhole  ? ", but for the step they add up whole: the buffers have the rest"
                                   : staysGathered ? ", but for the step they stay gathered beside the shards"
                                                   : "";
    const bool trained = id != MetricId::parameterMemory;
    Explanation routed = heldParameters(true, trained), dense = heldParameters(false, trained);
    const bool isRounded =
        sharded && (std::fmod(dense.result.value, shards.dense) != 0 || std::fmod(routed.result.value, shards.routed) != 0);
    const bool hasExperts = routed.result.value > 0;
    Formula elements = account.term(std::move(dense));
    if (sharded && shards.dense > 1)
        elements /= account.term("d", shards.dense, Unit::count,
                                 "ranks that share them: ZeRO " + std::to_string(m_scenario.layout.zeroStage));
    if (hasExperts) {
        Formula experts = account.term(std::move(routed));
        if (sharded && shards.routed > 1)
            experts /= account.term("d_e", shards.routed, Unit::count, "ranks that share the experts' states");
        elements = elements + experts;
    }
    const double offloaded = state.shardedFrom == 1   ? m_scenario.training.offload.optimizer
                             : state.shardedFrom == 2 ? gradientsOnHost(m_scenario)
                                                      : 0;
    if (offloaded > 0)
        elements *= Formula::number(1) - account.term("f", offloaded, Unit::fraction, "that the host holds");
    Formula bytesOfAll = elements * account.term("b", state.bytesEach, Unit::bytes, "a parameter: " + state.consistsOf);
    const std::int64_t spared =
        m_simulation.program().ranks[asIndex(m_simulation.mesh().coordinates(m_rank).pp)].states.frozenSpared;
    if (id == MetricId::parameterMemory && spared > 0)
        bytesOfAll =
            bytesOfAll - account.term("s", static_cast<double>(spared), Unit::bytes,
                                      "spared by frozen weights: " +
                                          std::string(m_scenario.model.lora.base == LoraBase::nf4   ? "in 4 bits"
                                                      : m_scenario.model.lora.base == LoraBase::fp8 ? "in 8 bits"
                                                                                                    : "without a copy in fp32"));
    return account.close(bytesOfAll, sharingText(m_scenario.layout, shards, hasExperts, state.shardedFrom, keepsWhole, isRounded),
                         kZero3, showMemory());
}

Explanation Explainer::activations() const
{
    const MemoryBreakdown m = m_simulation.memoryOfClass(m_simulation.classOf(m_rank));
    const double alive = static_cast<double>(m.activations);
    double one = 0;
    const auto savedBytes = [&](ModelPart part) {
        return static_cast<double>(operatorsOf(m_scenario.model, Sharding::of(m_scenario), part).savedBytes());
    };
    for (const HoldingGroup& group : holdingsOf(m_simulation, m_rank).groups)
        one +=
            partsIn(group) * (savedBytes(group.part) + (group.part == ModelPart::prediction ? savedBytes(ModelPart::head) : 0));
    Account account("activations alive at the peak", "M_a", alive, Unit::bytes);
    std::string convention = "Tensors of the forward pass that the backward pass still needs, and what the running op works on.";
    if (m_scenario.training.recompute != Recompute::none)
        convention += " Recomputation keeps less than the whole.";
    if (one <= 0)
        return account.close({}, convention, "Korthikanti et al. 2022, section 4", showMemory());
    const Formula each = account.term("a", one, Unit::bytes, "what a micro-batch keeps on this rank without recomputation");
    return account.close(each * account.term("n", alive / one, Unit::number, "micro-batches' worth alive; simulated"), convention,
                         "Korthikanti et al. 2022, section 4", showMemory());
}

Explanation Explainer::buffers() const
{
    const MemoryBreakdown m = m_simulation.memoryOfClass(m_simulation.classOf(m_rank));
    Account account("buffers", "M_b", static_cast<double>(m.buffers), Unit::bytes);
    const ModelStates& states = m_simulation.program().ranks[asIndex(m_simulation.mesh().coordinates(m_rank).pp)].states;
    std::string kinds;
    const auto add = [&](bool isThere, const char* what) {
        if (isThere)
            kinds += (kinds.empty() ? "" : ", ") + std::string(what);
    };
    add(states.narrowWeights > 0, "narrow copies of weights");
    add(states.messageBuffers > 0,
        "a place from the beginning for each message that another stage sends, and what is kept of them");
    add(states.reductionBuffers > 0, "where gradients come together before they are reduced");
    const Stack& stack = m_scenario.training.stack;
    const int c = m_simulation.classOf(m_rank);
    const std::int64_t messages =
        stack.keepsMessages || stack.keepsOutputs
            ? m_simulation.memoryContents(c, m_simulation.times().memory[asIndex(c)].atNs).messageBuffers
            : 0;
    const bool comesAndGoes = m.buffers > states.narrowWeights + messages + states.reductionBuffers;
    add(comesAndGoes && states.reductionBuffers > 0 && stack.reductionsAhead > 0 && m_scenario.training.overlap.gradReduce,
        "what the host has started ahead of the GPU");
    add(comesAndGoes || kinds.empty(), "gathered parameters and gradients not yet reduced");
    return account.close({}, "Simulated: " + kinds + ", at the peak.", kSimulated, showMemory());
}

} // namespace sim
