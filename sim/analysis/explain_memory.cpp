// What a rank holds at its peak.
#include "sim/analysis/explainer.h"
#include "sim/analysis/findings.h"

#include "sim/model/operators.h"
#include "sim/program/states.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

constexpr const char* kZero3 = "Rajbhandari et al. 2020 (ZeRO), section 3";

/// A part of the model that a rank holds.
struct Held {
    double elements = 0; ///< of one
    int count = 0;
};

/// What the rank's stages consist of, dense and routed parameters apart.
struct HeldParts {
    Held embedding, head, denseLayers, moeLayers;
    double savedBytes = 0; ///< of one micro-batch from forward to backward, without recomputation
    void add(Held& part, const OperatorList& list, bool routed)
    {
        const std::int64_t ofExperts = list.routedParameters();
        part.elements = static_cast<double>(routed ? ofExperts : list.parameters() - ofExperts);
        ++part.count;
        savedBytes += static_cast<double>(list.savedBytes());
    }
};

HeldParts heldParts(const Simulation& simulation, int pipelineRank, bool routed)
{
    const Scenario& scenario = simulation.scenario();
    const Schedule& schedule = simulation.schedule();
    const Sharding sharding = Sharding::of(scenario);
    const std::vector<int> stages = schedule.stagesOfRank(pipelineRank);
    const auto& layers = scenario.schedule.layersPerStage;
    const bool holdsEntry = std::any_of(stages.begin(), stages.end(), [&](int stage) { return schedule.entersAt(stage); });
    HeldParts out;
    for (const int stage : stages) {
        const auto part = static_cast<std::ptrdiff_t>(stage % schedule.chainLength());
        int first = 0;
        for (std::ptrdiff_t i = 0; i < part; ++i)
            first += layers[static_cast<std::size_t>(i)];
        if (schedule.entersAt(stage))
            out.add(out.embedding, embeddingOperators(scenario.model, sharding), routed);
        for (int i = 0; i < layers[static_cast<std::size_t>(part)]; ++i) {
            const bool moe = scenario.model.isMoeLayer(first + i);
            out.add(moe ? out.moeLayers : out.denseLayers,
                    layerOperators(scenario.model, sharding, moe ? LayerKind::moe : LayerKind::dense), routed);
        }
        if (schedule.leavesAt(stage))
            out.add(out.head, headOperators(scenario.model, sharding, scenario.model.tieWordEmbeddings && holdsEntry), routed);
    }
    return out;
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
    return {.pictures = {"memory", "timeline"}, .ranks = {m_rank}, .range = {}, .classes = {}};
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
Explanation Explainer::heldParameters(bool routed) const
{
    const int pipelineRank = m_simulation.mesh().coordinates(m_rank).pp;
    const HeldParts parts = heldParts(m_simulation, pipelineRank, routed);
    const auto sumOf = [](const Held& held) { return held.elements * held.count; };
    const double whole = sumOf(parts.embedding) + sumOf(parts.head) + sumOf(parts.denseLayers) + sumOf(parts.moeLayers);
    Account account(routed ? "parameters of this rank's experts" : "parameters this rank computes with", routed ? "ψ_e" : "ψ",
                    whole, Unit::count);
    std::optional<Formula> sum;
    const auto add = [&](const Held& held, const char* symbol, const char* countSymbol, const char* meaning) {
        if (sumOf(held) == 0)
            return;
        Formula next = account.term(symbol, held.elements, Unit::count, meaning);
        if (held.count > 1)
            next = account.term(countSymbol, held.count, Unit::count, "of these on this rank") * next;
        sum = sum ? *sum + next : next;
    };
    add(parts.embedding, "e", "n_e", "embedding, this rank's slice");
    add(parts.denseLayers, "l", "n_l", "a dense layer, this rank's slice");
    add(parts.moeLayers, routed ? "x" : "l_moe", routed ? "n_x" : "n_moe",
        routed ? "experts of a layer that this rank holds" : "a layer of experts without them, this rank's slice");
    add(parts.head, "o", "n_o", "final norm and output head, this rank's slice");
    const Layout& l = m_scenario.layout;
    return account.close(sum.value_or(Formula::number(0)),
                         "Cut by tp " + std::to_string(l.tp) + ", pp " + std::to_string(l.pp) +
                             (routed ? ", ep " + std::to_string(l.ep) + ", etp " + std::to_string(l.etp) : "") +
                             "; pipeline rank " + std::to_string(pipelineRank) + ".",
                         "Shoeybi et al. 2019 (Megatron-LM), section 3");
}

Explanation parametersOfStages(const Simulation& simulation, bool routed)
{
    struct Kind {
        Held HeldParts::*part;
        const char *symbol, *countSymbol, *meaning;
    };
    const std::array<Kind, 4> kinds{
        {{&HeldParts::embedding, "e", "n_e", "embedding, a rank's slice"},
         {&HeldParts::denseLayers, "l", "n_l", "a dense layer, a rank's slice"},
         {&HeldParts::moeLayers, routed ? "x" : "l_moe", routed ? "n_x" : "n_moe",
          routed ? "experts of a layer that a rank holds" : "a layer of experts without them, a rank's slice"},
         {&HeldParts::head, "o", "n_o", "final norm and output head, a rank's slice"}}};
    std::vector<HeldParts> stages;
    for (int rank = 0; rank < simulation.scenario().layout.pp; ++rank)
        stages.push_back(heldParts(simulation, rank, routed));
    double whole = 0;
    for (const Kind& kind : kinds)
        for (const HeldParts& stage : stages)
            whole += (stage.*kind.part).elements * (stage.*kind.part).count;
    Account account(routed ? "parameters of experts, of one rank of each stage" : "parameters of one rank of each stage",
                    routed ? "ψ_e" : "ψ", whole, Unit::count);
    std::optional<Formula> sum;
    for (const Kind& kind : kinds) {
        double elements = 0, count = 0;
        for (const HeldParts& stage : stages) {
            const Held& held = stage.*kind.part;
            elements += held.elements * held.count;
            count += held.elements > 0 ? held.count : 0;
        }
        if (elements == 0)
            continue;
        Formula next = account.term(kind.symbol, elements / count, Unit::count, kind.meaning);
        if (count > 1)
            next = account.term(kind.countSymbol, count, Unit::count, "of these, all stages together") * next;
        sum = sum ? *sum + next : next;
    }
    return account.close(sum.value_or(Formula::number(0)),
                         "Slices of tp" + std::string(routed ? ", ep and etp" : "") + "; every stage's layers once" +
                             (simulation.schedule().chains > 1 ? " in each copy of the model." : "."),
                         "Shoeybi et al. 2019 (Megatron-LM), section 3");
}

Explanation Explainer::states(MetricId id) const
{
    const MemoryBreakdown m = m_simulation.memoryOfClass(m_simulation.classOf(m_rank));
    const StateBytes bytes = StateBytes::of(m_scenario.training);
    const ShardRanks shards = ShardRanks::of(m_scenario.layout);
    const bool adam = m_scenario.training.optimizer == Optimizer::adamw;
    const StateOf state =
        id == MetricId::parameterMemory
            ? StateOf{"parameters", "M_p", bytes.parameter, 3, m.parameters, "one value of the training precision"}
        : id == MetricId::gradientMemory
            ? StateOf{"gradients", "M_g", bytes.gradient, 2, m.gradients, "accumulated in fp32"}
            : StateOf{"optimizer states",
                      "M_o",
                      bytes.optimizer,
                      1,
                      m.optimizer,
                      std::string(bytes.parameter == 2 ? "fp32 master copy" : "") +
                          (adam ? std::string(bytes.parameter == 2 ? " and " : "") + "two fp32 moments" : "")};
    Account account(state.name, state.symbol, static_cast<double>(state.value), Unit::bytes);
    const bool sharded = m_scenario.layout.zeroStage >= state.shardedFrom;
    // With a pipeline every micro-batch would pay for gathering and reducing; see states.h.
    const std::string keepsWhole = m_scenario.layout.pp == 1 || state.shardedFrom == 1 ? ""
                                   : state.shardedFrom == 2 ? ", but with a pipeline they add up whole beside the shards"
                                                            : ", but with a pipeline they stay gathered beside the shards";
    Explanation routed = heldParameters(true);
    Formula elements = account.term(heldParameters(false));
    if (sharded && shards.dense > 1)
        elements = elements / account.term("d", shards.dense, Unit::count,
                                           "ranks that share them: ZeRO " + std::to_string(m_scenario.layout.zeroStage));
    if (routed.result.value > 0) {
        Formula experts = account.term(std::move(routed));
        if (sharded && shards.routed > 1)
            experts = experts / account.term("d_e", shards.routed, Unit::count, "ranks that share the experts' states");
        elements = elements + experts;
    }
    return account.close(elements * account.term("b", state.bytesEach, Unit::bytes, "a parameter: " + state.consistsOf),
                         sharded ? "Sharded by ZeRO " + std::to_string(m_scenario.layout.zeroStage) + keepsWhole + "."
                                 : "Whole on every data-parallel rank: ZeRO " + std::to_string(state.shardedFrom) +
                                       " would share them" + keepsWhole + ".",
                         kZero3, showMemory());
}

Explanation Explainer::activations() const
{
    const MemoryBreakdown m = m_simulation.memoryOfClass(m_simulation.classOf(m_rank));
    const double alive = static_cast<double>(m.activations);
    const double one = heldParts(m_simulation, m_simulation.mesh().coordinates(m_rank).pp, false).savedBytes;
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
    return account.close(
        {}, "Simulated: gathered parameters, gradients on their way, communication buffers and workspace at the peak.",
        "Event simulation of all ops", showMemory());
}

} // namespace sim
