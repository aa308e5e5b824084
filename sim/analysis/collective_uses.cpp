#include "sim/analysis/collective_uses.h"

#include "sim/analysis/traffic/traffic.h"
#include "sim/cost/all_reduce.h"
#include "sim/cost/all_to_all.h"
#include "sim/engine/classes.h"
#include "sim/index.h"
#include "sim/program/pass_builder.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace sim {
namespace {

struct LabelMeaning {
    std::string_view label;
    CollectiveContent content;
};
constexpr std::array kMeanings{LabelMeaning{"regather", CollectiveContent::inputsAgain},
                               LabelMeaning{"mtp.gather", CollectiveContent::predictionInputs},
                               LabelMeaning{"mtp.regather", CollectiveContent::predictionInputsAgain},
                               LabelMeaning{"attn.q_gather", CollectiveContent::queryLatents},
                               LabelMeaning{"attn.q_regather", CollectiveContent::queryLatentsAgain},
                               LabelMeaning{"attn.kv_gather", CollectiveContent::keyValueLatents},
                               LabelMeaning{"attn.kv_regather", CollectiveContent::keyValueLatentsAgain},
                               LabelMeaning{"attn.k_rope_gather", CollectiveContent::rotatedKeys},
                               LabelMeaning{"attn.qkv.gather", CollectiveContent::allHeads},
                               LabelMeaning{"attn.qkv.lora_gather", CollectiveContent::latents},
                               LabelMeaning{"attn.out.lora_reduce", CollectiveContent::latents},
                               LabelMeaning{"mlp.up.lora_gather", CollectiveContent::latents},
                               LabelMeaning{"mlp.down.lora_reduce", CollectiveContent::latents},
                               LabelMeaning{"loss.sync", CollectiveContent::lossSums},
                               LabelMeaning{"head.output", CollectiveContent::logits},
                               LabelMeaning{"attn.ring", CollectiveContent::keysAndValues},
                               LabelMeaning{"attn.keys", CollectiveContent::keysAndValues},
                               LabelMeaning{"attn.exchange", CollectiveContent::exchangedHeads},
                               LabelMeaning{"attn.exchange_back", CollectiveContent::exchangedOutput},
                               LabelMeaning{"moe.dispatch", CollectiveContent::tokens},
                               LabelMeaning{"moe.combine", CollectiveContent::tokens},
                               LabelMeaning{"moe.gather", CollectiveContent::tokens},
                               LabelMeaning{"moe.reduce", CollectiveContent::tokens},
                               LabelMeaning{"grad.reduce", CollectiveContent::gradients},
                               LabelMeaning{"grad.reduce.experts", CollectiveContent::gradients},
                               LabelMeaning{"grad.reduce.replicas", CollectiveContent::replicaGradients},
                               LabelMeaning{"grad.reduce.experts.replicas", CollectiveContent::replicaGradients},
                               LabelMeaning{"grad.reduce.embedding", CollectiveContent::embeddingGradient},
                               LabelMeaning{"grad.reduce.copies", CollectiveContent::copyGradients},
                               LabelMeaning{"param.gather", CollectiveContent::parameters},
                               LabelMeaning{"param.gather.experts", CollectiveContent::parameters}};

/// In what uses that are counted together agree.
struct AlikeCollectives {
    CommunicatorRole role = CommunicatorRole::none;
    CollectiveContent content = CollectiveContent::activations;
    CollectivePhase phase = CollectivePhase::forward;
    CollectiveSends sends = CollectiveSends::twiceRound;
    bool ofLayers = false;
    std::int64_t bytes = 0; ///< 0 of states
    int narrowedBy = 1;
    auto operator<=>(const AlikeCollectives&) const = default;
};

struct FoundCollective {
    AlikeCollectives alike;
    CollectiveKind kind = CollectiveKind::allReduce;
    std::int64_t bytes = 0;
    int layer = -1; ///< relative to the stage
};

/// Counts along the programs; a pass is looked at once for each kind of action that it is of.
class CollectiveCounter {
public:
    explicit CollectiveCounter(const Simulation& simulation)
        : m_simulation(simulation), m_program(lowerProgram(simulation.scenario(), simulation.schedule()))
    {
        for (std::size_t rank = 0; rank < m_program.ranks.size(); ++rank)
            countRank(rank);
    }

    std::vector<CollectiveUse> uses() const;

private:
    struct Counted {
        std::vector<std::int64_t> ofRank, bytesOfRank; ///< [pipeline rank]
        std::map<int, std::int64_t> ofLayer;
        std::set<CollectiveKind> kinds;
    };
    void countRank(std::size_t rank);
    const std::vector<FoundCollective>& walk(std::uint32_t pass, bool isForward, bool isOfStep);

    const Simulation& m_simulation;
    const Program m_program;
    std::map<std::tuple<std::uint32_t, bool, bool>, std::vector<FoundCollective>> m_walked;
    std::map<AlikeCollectives, Counted> m_counted;
};

const std::vector<FoundCollective>& CollectiveCounter::walk(std::uint32_t pass, bool isForward, bool isOfStep)
{
    const auto [position, isNew] = m_walked.try_emplace({pass, isForward, isOfStep});
    std::vector<FoundCollective>& out = position->second;
    if (!isNew)
        return out;
    const Pass& ops = m_program.passes[pass];
    for (std::size_t i = 0; i < ops.ops.size(); ++i) {
        const Op& op = ops.ops[i];
        if (op.kind != OpKind::collective)
            continue;
        FoundCollective found{.alike = {.role = op.group, .content = contentOf(m_program.labels[op.label])},
                              .bytes = meanShape(ops.shapes[i], m_simulation.scenario()).bytes,
                              .layer = op.layer};
        found.kind = ops.shapes[i].collective;
        found.alike.sends = factsOf(found.kind).sends;
        const bool isOfStates = found.alike.content >= CollectiveContent::gradients;
        found.alike.phase = isOfStates || isOfStep ? CollectivePhase::step
                            : isForward            ? CollectivePhase::forward
                            : op.again             ? CollectivePhase::recomputation
                                                   : CollectivePhase::backward;
        found.alike.ofLayers = !isOfStates && op.layer >= 0;
        found.alike.bytes = isOfStates ? 0 : found.bytes;
        found.alike.narrowedBy = ops.shapes[i].narrowedBy;
        out.push_back(found);
    }
    return out;
}

void CollectiveCounter::countRank(std::size_t rank)
{
    const Schedule& schedule = m_simulation.schedule();
    const RankProgram& program = m_program.ranks[rank];
    for (const Step& step : program.steps) {
        const bool isOfStep = step.action < 0;
        const bool isForward = !isOfStep && schedule.actions[rank][asIndex(step.action)].kind == ActionKind::forward;
        for (const FoundCollective& found : walk(step.pass, isForward, isOfStep)) {
            Counted& counted = m_counted[found.alike];
            counted.ofRank.resize(m_program.ranks.size());
            counted.bytesOfRank.resize(m_program.ranks.size());
            ++counted.ofRank[rank];
            counted.kinds.insert(found.kind);
            counted.bytesOfRank[rank] += found.bytes;
            if (found.alike.ofLayers)
                ++counted.ofLayer[m_program.firstLayerOfStage[asIndex(step.stage)] + found.layer];
        }
    }
}

std::vector<CollectiveUse> CollectiveCounter::uses() const
{
    const Scenario& scenario = m_simulation.scenario();
    const RankClasses classes =
        makeRankClasses(scenario, m_simulation.mesh(), m_simulation.placement(), m_simulation.schedule(), false);
    std::vector<CollectiveUse> out;
    for (const auto& [alike, counted] : m_counted) {
        for (const bool inNetwork : {false, true}) {
            std::vector<std::int64_t> ranks(m_program.ranks.size()); // of each stage whose network reduces, or does not
            std::vector<double> leaving(m_program.ranks.size());     // likewise, as if of so many ranks
            int members = 1;
            for (int c = 0; c < classes.count(); ++c) {
                const GroupShape& group = classes.geometries[asIndex(classes.geometry[asIndex(c)])].shapes[asIndex(alike.role)];
                const bool reduces =
                    alike.sends == CollectiveSends::twiceRound && allReduceRoute(group, scenario.cluster).inNetwork;
                if (group.size < 2 || reduces != inNetwork)
                    continue;
                const AllToAllRoutes routes = allToAllRoutes(group, scenario.cluster, TokenChoice::of(scenario));
                const bool isOnce = alike.sends == CollectiveSends::toEach && routes.isOnce;
                const auto stage = asIndex(classes.pipelineRank[asIndex(c)]);
                ranks[stage] += classes.size[asIndex(c)];
                leaving[stage] += classes.size[asIndex(c)] * (isOnce ? routes.sentShare() * group.size / (group.size - 1.0) : 1);
                members = group.size;
            }
            CollectiveUse use{.role = alike.role,
                              .content = alike.content,
                              .phase = alike.phase,
                              .sends = alike.sends,
                              .kinds = counted.kinds,
                              .reducedInNetwork = inNetwork,
                              .ofLayers = alike.ofLayers,
                              .bytes = alike.bytes,
                              .narrowedBy = alike.narrowedBy,
                              .members = members};
            for (const auto& [layer, count] : counted.ofLayer)
                ++use.layersByCount[count];
            bool even = true;
            double left = 0;
            for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
                const std::int64_t of = use.isOfStates() ? counted.bytesOfRank[rank] : counted.ofRank[rank];
                if (of == 0)
                    continue;
                even = even && (use.ranks == 0 || use.ranks == ranks[rank]);
                use.ranks = ranks[rank];
                use.count += of;
                use.times += of * ranks[rank];
                left += static_cast<double>(of) * leaving[rank];
            }
            if (use.times == 0)
                continue;
            use.ranks = even ? use.ranks : 0;
            use.leaving = left / static_cast<double>(use.times);
            if (use.isOfStates())
                use.bytes = std::exchange(use.count, 1);
            out.push_back(use);
        }
    }
    return out;
}

} // namespace

/// What is not named above enters or leaves the slices of a layer.
CollectiveContent contentOf(std::string_view label)
{
    const auto found =
        std::find_if(kMeanings.begin(), kMeanings.end(), [label](const LabelMeaning& m) { return m.label == label; });
    return found == kMeanings.end() ? CollectiveContent::activations : found->content;
}

std::vector<CollectiveUse> collectiveUses(const Simulation& simulation)
{
    return CollectiveCounter(simulation).uses();
}

KeyExchange keyExchange(const std::vector<CollectiveUse>& uses)
{
    KeyExchange out;
    for (const CollectiveUse& use : uses) {
        if (use.role == CommunicatorRole::cp && use.content == CollectiveContent::keysAndValues)
            (use.kinds.contains(CollectiveKind::ringShift) ? out.inRing : out.gathered) = true;
        out.forHeads = out.forHeads || use.content == CollectiveContent::exchangedHeads;
    }
    return out;
}

PipelineSends pipelineSends(const Simulation& simulation)
{
    const Schedule& schedule = simulation.schedule();
    const Sharding sharding = Sharding::of(simulation.scenario());
    PipelineSends out{.bytes = sharding.localTokens() * simulation.scenario().model.hiddenSize *
                               std::int64_t{sharding.bytesPerElement} / (scattersSends(simulation.scenario()) ? sharding.tp : 1)};
    const auto crosses = [&](int stage) {
        return !schedule.leavesAt(stage) && schedule.stageToRank[asIndex(stage)] != schedule.stageToRank[asIndex(stage) + 1];
    };
    for (int stage = 0; stage < schedule.chainLength(); ++stage)
        out.crossings += crosses(stage) ? 1 : 0;
    for (const auto& actions : schedule.actions)
        for (const Action& action : actions)
            out.count += action.kind == ActionKind::backwardWeight ? 0
                         : action.kind == ActionKind::forward      ? (crosses(action.stage) ? 1 : 0)
                         : schedule.entersAt(action.stage)         ? 0
                                                                   : (crosses(action.stage - 1) ? 1 : 0);
    return out;
}

} // namespace sim
