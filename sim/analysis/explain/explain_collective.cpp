// What each collective of a step sends: which tensor, how often, and how much of it a member passes on.
#include "sim/analysis/explain/explain_traffic.h"
#include "sim/analysis/explain/explainer.h"
#include "sim/mesh/spoken_group.h"
#include "sim/program/states.h"
#include "sim/scenario/head_exchange.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace sim {
namespace {

/// "all-gathers and reduce-scatters".
std::string kindNames(const std::set<CollectiveKind>& kinds)
{
    std::string names;
    for (const CollectiveKind kind : kinds)
        names += std::string(names.empty() ? "" : " and ") + factsOf(kind).plural;
    return names;
}

std::string contentName(CollectiveContent content)
{
    constexpr std::array kNames{"activations",
                                "inputs, again for weight gradients",
                                "embeddings and hidden states to predict further tokens from",
                                "embeddings and hidden states, again for weight gradients",
                                "latent vectors of queries",
                                "latent vectors of queries, again",
                                "latent vectors of keys and values",
                                "latent vectors of keys and values, again",
                                "rotated parts of keys",
                                "queries, keys and values of all heads",
                                "latent vectors of adapters",
                                "sums of the loss",
                                "logits",
                                "keys and values",
                                "queries, keys and values for heads",
                                "attention's output for parts of the sequence",
                                "routed tokens",
                                "gradients",
                                "gradients of replicas",
                                "gradients of the shared embedding",
                                "gradients of copies",
                                "parameters"};
    static_assert(kNames.size() == static_cast<std::size_t>(CollectiveContent::parameters) + 1);
    return kNames[static_cast<std::size_t>(content)];
}

std::string useName(const CollectiveUse& use)
{
    constexpr std::array<const char*, 4> kPhases{", forward", ", backward", ", run again", ""};
    const std::string kinds = kindNames(use.kinds), phase = kPhases[static_cast<std::size_t>(use.phase)];
    const bool atTheEnds = !use.ofLayers && !use.isOfStates();
    const bool isOfExperts = use.role == CommunicatorRole::exptDp || use.role == CommunicatorRole::exptReplicate;
    switch (use.content) {
    case CollectiveContent::activations:
        return kinds + (atTheEnds ? " at embedding and head" : " of activations") + phase;
    case CollectiveContent::inputsAgain: // backward as it is
        return kinds + (atTheEnds ? " of the head's inputs, again" : " of inputs, again for weight gradients");
    case CollectiveContent::predictionInputsAgain:
        return kinds + " of " + contentName(use.content);
    case CollectiveContent::lossSums:
        return kinds + " of sums of the loss";
    default:
        return kinds + " of " + contentName(use.content) + (isOfExperts ? " of experts" : "") + phase;
    }
}

constexpr const char* kPieces = "pieces, to overlap with the product";

bool isClose(double value, double expected)
{
    return std::abs(value - expected) <= 1e-6 * std::abs(expected);
}

} // namespace

/// Tokens of a micro-batch.
Formula TrafficExplainer::sequences(Account& account) const
{
    return Formula::product({account.term("b", m_sharding.microBatchSize, Unit::count, "sequences in a micro-batch"),
                             account.term("s", m_sharding.sequenceLength, Unit::count, "tokens a sequence")});
}

/// Those on a rank; `ofSlice`: of them, what it sends to experts.
Formula TrafficExplainer::tokens(Account& account, bool ofSlice) const
{
    Formula out = sequences(account);
    if (m_sharding.cp > 1)
        out /= account.term("c", m_sharding.cp, Unit::count, "context-parallel ranks");
    if (m_sharding.slices > 1)
        out /= account.term("q", m_sharding.slices, Unit::count, "slices of a sequence");
    if (ofSlice && m_sharding.sequenceParallel)
        out /= account.term("t", m_sharding.tp, Unit::count, "tensor-parallel ranks: each has its part of the sequence");
    return out;
}

/// `narrowedBy`: times as narrow as it is kept.
Formula TrafficExplainer::elementSize(Account& account, int narrowedBy) const
{
    const double bytes = static_cast<double>(m_sharding.bytesPerElement) / narrowedBy;
    return account.term("e", bytes, Unit::bytes,
                        narrowedBy == 1 ? "an element of an activation"
                        : bytes < 1     ? "an element, sent in 4 bits"
                                        : "an element, sent in 8 bits");
}

/// What one collective works on, of shapes alone.
Explanation TrafficExplainer::tensor(const CollectiveUse& use) const
{
    const Model& model = m_scenario.model;
    const double whole = static_cast<double>(use.bytes);
    const bool isRing = use.kinds.count(CollectiveKind::ringShift) > 0;
    Account account(isRing ? "bytes a rank hands on" : "bytes of one tensor", "M", whole, Unit::bytes);
    const auto hidden = [&] { return account.term("h", model.hiddenSize, Unit::count, "hidden size"); };
    std::optional<Formula> form;
    auto value = static_cast<double>(m_sharding.tokens() * m_sharding.bytesPerElement);
    switch (use.content) {
    case CollectiveContent::activations:
    case CollectiveContent::inputsAgain:
    case CollectiveContent::predictionInputs:
    case CollectiveContent::predictionInputsAgain: {
        Formula tensor = tokens(account, false);
        tensor *= hidden();
        value *= model.hiddenSize;
        if (use.content >= CollectiveContent::predictionInputs) {
            tensor = Formula::number(2) * std::move(tensor);
            value *= 2;
        }
        tensor *= elementSize(account, use.narrowedBy);
        value /= use.narrowedBy;
        if (const double parts = std::round(value / whole); parts > 1) {
            tensor /= account.term("i", parts, Unit::count, kPieces);
            value /= parts;
        }
        form = std::move(tensor);
        break;
    }
    case CollectiveContent::latents: {
        value *= model.lora.rank;
        Formula latent = tokens(account, false);
        latent *= account.term("r", model.lora.rank, Unit::count, "rank of the adapters");
        if (const double targets = std::round(whole / value); targets > 1) {
            latent *= account.term("n", targets, Unit::count, "adapters side by side");
            value *= targets;
        }
        latent *= elementSize(account);
        form = std::move(latent);
        break;
    }
    case CollectiveContent::queryLatents:
    case CollectiveContent::queryLatentsAgain:
    case CollectiveContent::keyValueLatents:
    case CollectiveContent::keyValueLatentsAgain:
    case CollectiveContent::rotatedKeys: {
        const bool isKeys = use.content == CollectiveContent::rotatedKeys;
        const bool isQuery = use.content < CollectiveContent::keyValueLatents;
        const int width = isKeys ? model.qkRopeHeadDim : isQuery ? model.qLoraRank : model.kvLoraRank;
        value *= width;
        Formula latent = tokens(account, false);
        latent *= account.term(isKeys ? "d_r" : "r", width, Unit::count,
                               isKeys    ? "rotated elements of a key, of all heads"
                               : isQuery ? "elements of a query's latent vector"
                                         : "elements of a latent vector of key and value");
        value /= use.narrowedBy;
        if (const double parts = std::round(value / whole); parts > 1) {
            latent /= account.term("i", parts, Unit::count, kPieces);
            value /= parts;
        }
        latent *= elementSize(account, use.narrowedBy);
        form = std::move(latent);
        break;
    }
    case CollectiveContent::allHeads: {
        Formula heads = account.term("a", model.numAttentionHeads, Unit::count, "query heads");
        heads = heads + Formula::number(2) * account.term("k", model.numKeyValueHeads, Unit::count, "key and value heads");
        form = tokens(account, false) * std::move(heads);
        *form *= account.term("d", model.headDim, Unit::count, "head dimension");
        *form *= elementSize(account);
        value *= 1.0 * (model.numAttentionHeads + 2 * model.numKeyValueHeads) * model.headDim;
        break;
    }
    case CollectiveContent::lossSums:
        form = tokens(account, false);
        *form *= account.term("e", 12, Unit::bytes, "three fp32 numbers a token: maximum, sum, target");
        value = 12.0 * static_cast<double>(m_sharding.tokens());
        break;
    case CollectiveContent::logits: {
        const int columns = (model.vocabSize + m_sharding.tp - 1) / m_sharding.tp * m_sharding.tp;
        form = tokens(account, false);
        *form *= account.term("v", columns, Unit::count, "logits of a token: one for each word of the vocabulary");
        *form *= elementSize(account);
        value *= columns;
        break;
    }
    case CollectiveContent::keysAndValues: {
        const auto ofRank = [&](int heads) { return std::max(1, (heads + m_sharding.tp - 1) / m_sharding.tp); };
        Formula block = isRing ? tokens(account, false) : sequences(account);
        value *= isRing ? 1 : m_sharding.cp;
        if (model.isLatentAttention()) {
            const int heads = ofRank(model.numAttentionHeads), keys = model.qkNopeHeadDim + model.qkRopeHeadDim;
            block *= account.term("a", heads, Unit::count, "attention heads of a rank");
            const Formula width = account.term("d_k", keys, Unit::count, "dimension of keys");
            block *= (width + account.term("d_v", model.vHeadDim, Unit::count, "dimension of values"));
            value *= 1.0 * heads * (keys + model.vHeadDim);
        } else {
            const bool repeats = m_sharding.repeatsKeys && model.numKeyValueHeads < model.numAttentionHeads;
            const int heads = ofRank(repeats ? model.numAttentionHeads : model.numKeyValueHeads);
            block = Formula::number(2) * std::move(block);
            block *= account.term("k", heads, Unit::count,
                                  repeats ? "heads of a rank: keys and values are repeated for each"
                                          : "key and value heads of a rank");
            block *= account.term("d", model.headDim, Unit::count, "head dimension");
            value *= 2.0 * heads * model.headDim;
        }
        block *= elementSize(account);
        if (isRing && use.phase == CollectivePhase::backward) {
            const double both = ringBackwardFactor(m_scenario.training);
            block *= account.term("g", both, Unit::count,
                                  both > 2 ? "they and their gradients, in single precision" : "they and their gradients");
            value *= both;
        }
        form = std::move(block);
        break;
    }
    case CollectiveContent::exchangedHeads:
    case CollectiveContent::exchangedOutput: {
        const HeadSize size = HeadSize::of(model);
        const std::int64_t heads = headsOfRank(m_scenario);
        form = tokens(account, false);
        const Formula queries = account.term("a", static_cast<double>(heads), Unit::count, "attention heads of a rank");
        if (use.content == CollectiveContent::exchangedOutput) {
            *form *= queries;
            *form *= account.term("d_v", size.value, Unit::count, "dimension of values");
            *form *= elementSize(account);
            value *= static_cast<double>(heads) * size.value;
            break;
        }
        const bool allKeys = model.isLatentAttention() || m_sharding.repeatsKeys;
        const std::int64_t own = allKeys ? heads : (model.numKeyValueHeads + m_sharding.tp - 1) / m_sharding.tp;
        const std::int64_t sent = exchangedKeyHeads(heads, own, m_sharding.cp);
        const Formula keys = account.term("k", static_cast<double>(sent), Unit::count,
                                          sent == own ? "key and value heads of a rank"
                                                      : "key and value heads that it sends: some to several ranks");
        const Formula width = account.term("d_k", size.queryKey, Unit::count, "dimension of queries and keys");
        const Formula valueWidth = account.term("d_v", size.value, Unit::count, "dimension of values");
        *form *= (queries * width + keys * (width + valueWidth));
        *form *= elementSize(account);
        value *= static_cast<double>(heads * size.queryKey + sent * (size.queryKey + size.value));
        break;
    }
    case CollectiveContent::tokens: {
        Formula routed = tokens(account, true);
        if (m_sharding.tp > 1 && !m_sharding.sequenceParallel) // which all of them have
            routed /= account.term("t", m_sharding.tp, Unit::count, "tensor-parallel ranks: each sends its part of the tokens");
        routed *= account.term("k", model.numExpertsPerTok, Unit::count, "experts a token goes to");
        routed *= hidden();
        const MoeSettings& moe = m_scenario.training.moe;
        value = static_cast<double>(m_sharding.routedTokens()) * model.numExpertsPerTok * model.hiddenSize;
        if (use.role == CommunicatorRole::exptTp || moe.dispatchBytes == moe.combineBytes) {
            const int bytes = use.role == CommunicatorRole::exptTp ? m_sharding.bytesPerElement : moe.dispatchBytes;
            routed *= account.term("e", bytes, Unit::bytes, "an element of an activation");
            value *= bytes;
        } else {
            const bool isDispatch = isClose(value * moe.dispatchBytes, whole);
            const int bytes = isDispatch ? moe.dispatchBytes : moe.combineBytes;
            routed *= account.term("e", bytes, Unit::bytes,
                                   isDispatch ? "an element on its way to an expert" : "an element on its way back");
            value *= bytes;
        }
        if (use.role == CommunicatorRole::exptTp) {
            routed *= account.term("x", m_sharding.etp, Unit::count, "ranks that cut an expert: each brings its tokens");
            value *= m_sharding.etp;
        }
        form = std::move(routed);
        break;
    }
    default:
        break;
    }
    if (!form || !isClose(value, whole))
        return Account("bytes of one tensor", "M", whole, Unit::bytes).close({}, "Counted in the program.", "");
    return account.close(std::move(form), "", "");
}

/// How often, on all ranks together.
Explanation TrafficExplainer::count(const CollectiveUse& use) const
{
    const std::int64_t passes = m_simulation.schedule().microbatches;
    const auto isWhole = [passes](std::int64_t count) { return count % passes == 0; };
    Account account("times, on all ranks", "c", static_cast<double>(use.times), Unit::count);
    if (use.ranks == 0 || !isWhole(use.count) ||
        !std::all_of(use.layersByCount.begin(), use.layersByCount.end(), [&](const auto& kind) { return isWhole(kind.first); }))
        return account.close({}, "Counted in the program: stages differ.", "");
    Formula out =
        Formula::product({account.term("r", static_cast<double>(use.ranks), Unit::count, "ranks of a stage"),
                          account.term("m", static_cast<double>(passes), Unit::count,
                                       m_sharding.slices > 1 ? "slices of micro-batches that pass" : "micro-batches that pass")});
    std::vector<Formula> perPass;
    for (const auto& [each, layers] : use.layersByCount) {
        const std::string index = use.layersByCount.size() > 1 ? "_" + std::to_string(each / passes) : "";
        perPass.push_back(
            Formula::product({account.term("L" + index, layers, Unit::count, "layers that have them"),
                              account.term("k" + index, static_cast<double>(each / passes), Unit::count, "a layer and pass")}));
    }
    if (perPass.empty() && use.count / passes > 1)
        perPass.push_back(account.term("k", static_cast<double>(use.count / passes), Unit::count, "a pass"));
    if (!perPass.empty())
        out *= Formula::sum(std::move(perPass));
    return account.close(std::move(out), "", "");
}

/// Under ZeRO 3: the embedding and the head, where others use them too, or the embedding where nothing asks for its gradient.
std::int64_t TrafficExplainer::gatheredForForwardAlone() const
{
    const Model& model = m_scenario.model;
    const bool predicts = model.numNextnPredictLayers > 0;
    if (m_scenario.layout.zeroStage < 3 || m_scenario.layout.pp > 1)
        return 0;
    Checked elements;
    if (model.tieWordEmbeddings || predicts || model.lora.isOn())
        elements += operatorsOf(model, m_sharding, ModelPart::embedding).parameters();
    if (predicts && !model.tieWordEmbeddings)
        elements += operatorsOf(model, m_sharding, ModelPart::head).parameters();
    return elements;
}

/// Gradients and parameters: every stage's, over how many ranks, how often. Nothing where their volume is no whole multiple.
std::optional<Formula> TrafficExplainer::states(Account& account, const CollectiveUse& use, const Formula& sent) const
{
    const StateBytes bytes = StateBytes::of(m_scenario.training);
    const ShardRanks shards = ShardRanks::of(m_scenario.layout);
    const bool gathers = use.content == CollectiveContent::parameters;
    const bool isReduced = use.content == CollectiveContent::gradients || use.content == CollectiveContent::replicaGradients;
    const int each = gathers ? bytes.gathered(m_scenario.layout.zeroStage) : isReduced ? bytes.reducedGradient : bytes.gradient;
    // Switches add for some stages' groups and not for others': each kind of them has a part of the stages.
    if (use.ranks == 0 ||
        !isClose(static_cast<double>(use.ranks) * static_cast<double>(use.bytes), static_cast<double>(use.times)))
        return std::nullopt;
    Formula out = sent * account.term("r", static_cast<double>(use.ranks), Unit::count, "ranks of a stage");
    const auto element = [&] {
        return account.term("e", each, Unit::bytes,
                            gathers                  ? "a parameter"
                            : each != bytes.gradient ? "a gradient: accumulated in 16 bits, it travels in fp32"
                            : each == 2              ? "a gradient: accumulated in 16 bits"
                                                     : "a gradient: accumulated in fp32");
    };
    if (use.content == CollectiveContent::embeddingGradient) {
        const std::int64_t rows = TensorCut::of(m_scenario).embedded(m_scenario.model.vocabSize);
        const std::int64_t whole = rows * m_scenario.model.hiddenSize;
        const int cutBy = m_scenario.layout.zeroStage >= 2 ? shards.dense : 1; // its reduce-scatter has come before
        out *= account.term("z", 2, Unit::count, "ends of the pipeline");
        Formula parameters = account.term("V", static_cast<double>(rows), Unit::count,
                                          m_sharding.wholeEmbedding ? "words of the vocabulary, whole on each rank"
                                                                    : "words of the vocabulary, a rank's slice");
        parameters *= account.term("h", m_scenario.model.hiddenSize, Unit::count, "hidden size");
        if (const std::int64_t over = whole % cutBy; over > 0)
            parameters = std::move(parameters) - account.term("o", static_cast<double>(over), Unit::count,
                                                              "parameters that are left over: shards are of whole ones");
        out *= std::move(parameters);
        if (cutBy > 1)
            out /= account.term("d", cutBy, Unit::count, "ranks that share the gradients: each has its shard alone by now");
        const double value = 2.0 * static_cast<double>(whole / cutBy) * each;
        return isClose(value, static_cast<double>(use.bytes)) ? std::optional(std::move(out) * element()) : std::nullopt;
    }
    const bool routed = use.role == CommunicatorRole::exptDp || use.role == CommunicatorRole::exptReplicate;
    const bool trained = !gathers || m_scenario.layout.zeroStage < 3;
    Explanation held = parametersOfStages(m_simulation, routed, trained);
    double elements = held.result.value;
    Formula parameters = account.term(std::move(held));
    if (use.content == CollectiveContent::copyGradients) {
        if (m_scenario.layout.zeroStage > 0 && shards.dense > 1) {
            parameters /= account.term("d", shards.dense, Unit::count, "ranks that share them");
            elements /= shards.dense;
        }
        Explanation experts = parametersOfStages(m_simulation, true, trained);
        if (double ofExperts = experts.result.value; ofExperts > 0) {
            Formula more = account.term(std::move(experts));
            if (m_scenario.layout.zeroStage > 0 && shards.routed > 1) {
                more /= account.term("d_e", shards.routed, Unit::count, "ranks that share the experts'");
                ofExperts /= shards.routed;
            }
            parameters = std::move(parameters) + std::move(more);
            elements += ofExperts;
        }
    } else if (const int sharing = routed ? shards.routed : shards.dense;
               use.content == CollectiveContent::replicaGradients && sharing > 1) {
        parameters /= account.term("d", sharing, Unit::count, "ranks of a sharding group");
        elements /= sharing;
    }
    if (const std::int64_t once = gathers && !routed ? gatheredForForwardAlone() : 0; once > 0) {
        const double microbatches = m_scenario.microbatches();
        const double value = microbatches * (2 * elements - static_cast<double>(once)) * each;
        if (isClose(value, static_cast<double>(use.bytes))) {
            // One statement each: compilers order the operands of one, and so the terms, as they like.
            parameters *= account.term("u", 2 * microbatches, Unit::count, "times a step: each forward and each backward pass");
            Formula forward = account.term("m", microbatches, Unit::count, "micro-batches");
            forward *= account.term("P_f", static_cast<double>(once), Unit::count,
                                    "of them, gathered for forward passes alone: used again before they are needed backwards, or "
                                    "frozen");
            out *= std::move(parameters) - std::move(forward);
            return std::move(out) * element();
        }
    }
    const double times = std::round(static_cast<double>(use.bytes) / (elements * each));
    if (times < 1 || !isClose(times * elements * each, static_cast<double>(use.bytes)))
        return std::nullopt;
    out *= std::move(parameters);
    out *= element();
    if (times > 1)
        out *=
            account.term("u", times, Unit::count,
                         gathers ? "times a step: each forward and each backward pass" : "times a step: after each micro-batch");
    return out;
}

Explanation TrafficExplainer::use(const CollectiveUse& use, std::string symbol) const
{
    const double n = use.members;
    const bool isRing = use.sends == CollectiveSends::whole;
    const bool isTwice = use.sends == CollectiveSends::twiceRound && !use.reducedInNetwork;
    const double sentByEach = use.reducedInNetwork ? n + 1 : (isTwice ? 2 : 1) * (n - 1);
    const double factor = isRing ? 1 : sentByEach / n * use.leaving;
    const double tensors = static_cast<double>(use.times) * (use.isOfStates() ? 1 : static_cast<double>(use.bytes));
    Account account(useName(use), std::move(symbol), factor * tensors, Unit::bytes);
    Formula sent = Formula::number(1);
    if (!isRing) {
        const Formula members = account.term(
            "n", n, Unit::count, "ranks of a group (" + spokenGroup(communicatorRoleName(use.role), m_scenario.layout) + ")");
        sent = (use.reducedInNetwork ? members + Formula::number(1)
                : isTwice            ? Formula::number(2) * (members - Formula::number(1))
                                     : members - Formula::number(1)) /
               members;
        if (use.leaving != 1)
            sent *= account.term("u", use.leaving, Unit::fraction,
                                 "of a token's copies: one for each node, and there one for each rank that has an expert for it");
    }
    const bool isOfSomeGroups = m_scenario.model.chosenGroups < m_scenario.model.expertGroups;
    const char* convention =
        isRing ? "Each member hands its block to the next one."
        : use.sends == CollectiveSends::toEach && m_scenario.training.moe.sendOncePerNode
            ? (isOfSomeGroups
                   ? "Each member keeps what is for itself. Of a token it sends each other node one copy, and who takes that "
                     "hands it on inside; its experts are of some groups alone, and so on fewer nodes."
                   : "Each member keeps what is for itself. Of a token it sends each other node one copy, and who "
                     "takes that hands it on inside.")
        : use.sends == CollectiveSends::toEach
            ? "Each member keeps what is for itself and sends 1 / n of its tensor to each other."
        : use.sends == CollectiveSends::onceRound ? "Once round a ring: each member sends all but one n-th of the tensor."
        : use.reducedInNetwork ? "The switches add: each member sends its tensor, and one n-th of the sum for all."
                               : "A reduce-scatter and an all-gather: twice round a ring.";
    if (use.isOfStates()) {
        if (auto form = states(account, use, sent))
            return account.close(std::move(form), convention, sourceOf(use.role));
        const Formula total = account.term("S", tensors, Unit::bytes, "tensors of all ranks, counted in the program");
        return account.close(sent * total, convention, sourceOf(use.role));
    }
    const Formula times = account.term(count(use));
    const Formula tensorBytes = account.term(tensor(use));
    return account.close(isRing ? times * tensorBytes : sent * times * tensorBytes, convention, sourceOf(use.role));
}

std::string collectivesText(const Simulation& simulation, Dimension purpose)
{
    if (purpose == Dimension::pp)
        return pipelineSends(simulation).count > 0 ? "sends of activations and their gradients" : "";
    std::map<CollectiveContent, std::set<CollectiveKind>> kinds;
    for (const CollectiveUse& use : collectiveUses(simulation))
        if (dimensionOf(use.role) == purpose && use.members > 1)
            kinds[use.content].insert(use.kinds.begin(), use.kinds.end());
    std::string text;
    for (const auto& [content, ofContent] : kinds)
        text += (text.empty() ? "" : "; ") + kindNames(ofContent) + " of " + contentName(content);
    return text;
}

} // namespace sim
