#include "sim/planner/floors.h"

#include "sim/index.h"
#include "sim/planner/pass_pricer.h"

#include <algorithm>

namespace sim {

PassFloors& PassFloors::operator+=(const PassFloors& other)
{
    forward += other.forward;
    backward += other.backward;
    input += other.input;
    weight += other.weight;
    blockForward += other.blockForward;
    blockBackward += other.blockBackward;
    blockWork += other.blockWork;
    exchange += other.exchange;
    workForward += other.workForward;
    workBackward += other.workBackward;
    workInput += other.workInput;
    workWeight += other.workWeight;
    kept += other.kept;
    transient = std::max(transient, other.transient);
    return *this;
}

PassFloors PassFloors::operator-(const PassFloors& other) const
{
    return {.forward = forward - other.forward,
            .backward = backward - other.backward,
            .input = input - other.input,
            .weight = weight - other.weight,
            .blockForward = blockForward - other.blockForward,
            .blockBackward = blockBackward - other.blockBackward,
            .blockWork = blockWork - other.blockWork,
            .exchange = exchange - other.exchange,
            .workForward = workForward - other.workForward,
            .workBackward = workBackward - other.workBackward,
            .workInput = workInput - other.workInput,
            .workWeight = workWeight - other.workWeight,
            .kept = kept - other.kept,
            .transient = transient};
}

PassFloors PassFloors::operator*(double times) const
{
    return {.forward = forward * times,
            .backward = backward * times,
            .input = input * times,
            .weight = weight * times,
            .blockForward = blockForward * times,
            .blockBackward = blockBackward * times,
            .blockWork = blockWork * times,
            .exchange = exchange * times,
            .workForward = workForward * times,
            .workBackward = workBackward * times,
            .workInput = workInput * times,
            .workWeight = workWeight * times,
            .kept = kept * times,
            .transient = times > 0 ? transient : 0};
}

Floors::Floors(const PlanSpace& space) : m_space(space)
{
    const Model& model = space.base.model;
    for (int layer = 0; layer < model.numHiddenLayers; ++layer) {
        const LayerKind kind = model.layerKind(layer);
        const auto found = std::find(m_kinds.begin(), m_kinds.end(), kind);
        m_kindOfLayer.push_back(static_cast<int>(found - m_kinds.begin()));
        if (found == m_kinds.end())
            m_kinds.push_back(kind);
    }
    m_alikeTo.assign(m_kindOfLayer.size(), model.numHiddenLayers);
    for (int layer = model.numHiddenLayers - 2; layer >= 0; --layer)
        m_alikeTo[asIndex(layer)] =
            m_kindOfLayer[asIndex(layer)] == m_kindOfLayer[asIndex(layer + 1)] ? m_alikeTo[asIndex(layer + 1)] : layer + 1;
    m_layersTo.assign(m_kinds.size(), std::vector<int>(asIndex(model.numHiddenLayers + 1), 0));
    for (std::size_t kind = 0; kind < m_kinds.size(); ++kind)
        for (int layer = 0; layer < model.numHiddenLayers; ++layer)
            m_layersTo[kind][asIndex(layer + 1)] =
                m_layersTo[kind][asIndex(layer)] + (m_kindOfLayer[asIndex(layer)] == static_cast<int>(kind) ? 1 : 0);
}

/// A layer's passes are priced once for all stages of ZeRO. Where stage 3 runs with other software, it is the same that does more
/// for each collective (deepspeed-2023 beside huggingface), so that the space's own is a floor of both.
Scenario Floors::withCheapestStack(Scenario scenario) const
{
    scenario.training.stack = m_space.base.training.stack;
    return scenario;
}

PartFloors Floors::priceParts(const Scenario& given, const PipelineGeometry& geometry) const
{
    Scenario scenario = withCheapestStack(given);
    scenario.training.offload.activationLayers = 0;
    const CostModel cost(scenario);
    const PassPricer price(given, cost, geometry.groups);
    Labels labels(Labels::Names::leftOut);
    const Sharding sharding = Sharding::of(scenario);
    PassBuilder builder(scenario, labels); // one for all: to make one counts the model's tensors

    std::map<ContentKey, StageContent> contents; // operators are the same whatever runs again
    const auto contentOf = [&](const ContentKey& key) -> StageContent& {
        const auto [at, isNew] = contents.try_emplace(key);
        if (isNew)
            at->second = makeStageContent(scenario, sharding, key);
        return at->second;
    };
    std::map<std::pair<ContentKey, int>, PassFloors> known;
    const auto makePasses = [&](const ContentKey& key, int recomputed) {
        scenario.training.recompute = recomputed > 0                                ? Recompute::full
                                      : given.training.recompute == Recompute::full ? Recompute::none
                                                                                    : given.training.recompute;
        scenario.training.recomputeLayers = recomputed;
        StageContent& content = contentOf(key);
        for (Bucket& bucket : content.buckets)
            bucket.recomputed = bucket.layer >= 0 && bucket.layer < recomputed;
        const PassReplay forward = price(builder.forward(content, {}, nullptr), true);
        const PassReplay backward = price(builder.backward(content, ActionKind::backward, {}), true);
        const PassReplay input = price(builder.backward(content, ActionKind::backwardInput, {}), false);
        const PassReplay weight = price(builder.backward(content, ActionKind::backwardWeight, {}), false);
        return PassFloors{.forward = forward.chainNs,
                          .backward = backward.chainNs,
                          .input = input.chainNs,
                          .weight = weight.chainNs,
                          .blockForward = forward.blockNs,
                          .blockBackward = backward.blockNs,
                          .blockWork = forward.blockWorkNs + backward.blockWorkNs,
                          .exchange = forward.exchangeNs + backward.exchangeNs,
                          .workForward = forward.workNs,
                          .workBackward = backward.workNs,
                          .workInput = input.workNs,
                          .workWeight = weight.workNs,
                          .kept = forward.keptBytes,
                          .transient = backward.peakBytes};
    };
    const auto passesOf = [&](const ContentKey& key, int recomputed) {
        const auto [at, isNew] = known.try_emplace({key, recomputed});
        if (isNew)
            at->second = makePasses(key, recomputed);
        return at->second;
    };
    const auto elementsOf = [&](const ContentKey& key) { return contentOf(key).parameters(); };

    const auto earlyOf = [&](const LayerKind& kind) {
        if (given.training.recompute != Recompute::selective) // a layer that runs again as a whole waits for the gradient
            return 0.0;
        scenario.training.recompute = Recompute::selective;
        const StageContent& content = contentOf({.layers = {kind}});
        return std::max(price.earlyNs(builder.backward(content, ActionKind::backward, {.receives = true})),
                        price.earlyNs(builder.backward(content, ActionKind::backwardInput, {.receives = true})));
    };

    PartFloors parts;
    const bool mayRecompute = given.training.recompute != Recompute::selective;
    std::vector<PassFloors> alone; // [kind], none run again
    for (const LayerKind& kind : m_kinds) {
        std::array<PassFloors, 2> more, trailing;
        for (int recomputed = 0; recomputed < (mayRecompute ? 2 : 1); ++recomputed) {
            const PassFloors one = passesOf({.layers = {kind}}, recomputed);
            if (recomputed == 0)
                alone.push_back(one);
            const PassFloors two = passesOf({.layers = {kind, kind}}, 2 * recomputed);
            more[asIndex(recomputed)] = two - one;
            more[asIndex(recomputed)].transient = one.transient;
            trailing[asIndex(recomputed)] = more[asIndex(recomputed)] - one;
        }
        parts.layer.push_back(more);
        parts.trailing.push_back(trailing);
        parts.layerElements.push_back(elementsOf({.layers = {kind}}));
        parts.early.push_back(earlyOf(kind));
    }
    const auto firstKind = asIndex(m_kindOfLayer.front()), lastKind = asIndex(m_kindOfLayer.back());
    const LayerKind first = m_kinds[firstKind], last = m_kinds[lastKind];
    parts.embedding = passesOf({.layers = {first}, .embedding = true}, 0) - alone[firstKind];
    parts.embedding.transient = 0;
    const int modules = scenario.model.numNextnPredictLayers; // of prediction, which may be run again, too
    const auto headOf = [&](bool owning) {
        const PassFloors with = passesOf({.layers = {last}, .head = true, .ownsEmbedding = owning}, 0);
        PassFloors head = with - alone[lastKind];
        if (mayRecompute && modules > 0) {
            const PassFloors again = passesOf({.layers = {last}, .head = true, .ownsEmbedding = owning}, 1 + modules);
            head.kept = std::min(head.kept, again.kept - passesOf({.layers = {last}}, 1).kept);
        }
        head.transient = with.transient;
        return head;
    };
    parts.head = headOf(false);
    const bool usesTwice = scenario.model.tieWordEmbeddings || scenario.model.numNextnPredictLayers > 0;
    parts.headOwning = usesTwice ? headOf(true) : parts.head;
    parts.embeddingAlone = passesOf({.layers = {}, .embedding = true}, 0);
    parts.headAlone.fill(passesOf({.layers = {}, .head = true}, 0));
    if (mayRecompute && modules > 0)
        parts.headAlone[1].kept = std::min(parts.headAlone[1].kept, passesOf({.layers = {}, .head = true}, modules).kept);
    parts.embeddingElements = elementsOf({.layers = {}, .embedding = true});
    parts.headElements = elementsOf({.layers = {}, .head = true});
    parts.headOwningElements = elementsOf({.layers = {}, .head = true, .ownsEmbedding = true});
    const std::int64_t sent = sentBytes(scenario, sharding);
    for (int tier = 0; tier < static_cast<int>(scenario.cluster.tiers.size()); ++tier)
        parts.sendNs.push_back(static_cast<double>(cost.sendNs(sent, tier)));
    return parts;
}

std::shared_ptr<const PartFloors> Floors::partsOf(const Choice& choice, const Scenario& scenario) const
{
    const auto geometry = geometryOf({choice.grid, choice.order, 0}, scenario);
    const auto shapeOf = [&](CommunicatorRole role) { return geometry->groups.shapes[asIndex(role)]; };
    const PlanGrid& grid = choice.grid;
    const Key key{grid.tp,
                  grid.cp,
                  grid.ep,
                  grid.etp,
                  choice.microBatch,
                  choice.sequenceParallel,
                  choice.recompute == Recompute::selective,
                  {shapeOf(CommunicatorRole::tp), shapeOf(CommunicatorRole::cp), shapeOf(CommunicatorRole::ep),
                   shapeOf(CommunicatorRole::exptTp)}};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_parts.find(key); found != m_parts.end())
            return found->second;
    }
    auto made = std::make_shared<const PartFloors>(priceParts(scenario, *geometry));
    const std::lock_guard guard(m_lock);
    return m_parts.try_emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const PipelineGeometry> Floors::geometryOf(const GeometryKey& key, const Scenario& scenario) const
{
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_geometries.find(key); found != m_geometries.end())
            return found->second;
    }
    const GroupsOf of = std::get<2>(key) == 0 ? GroupsOf::layers : GroupsOf::all;
    auto made = std::make_shared<const PipelineGeometry>(pipelineGeometry(scenario, of));
    const std::lock_guard guard(m_lock);
    return m_geometries.try_emplace(key, std::move(made)).first->second;
}

/// Stages of ZeRO that shard over as many ranks have the same groups.
std::shared_ptr<const PipelineGeometry> Floors::geometryOfShards(const Choice& choice, const Scenario& scenario) const
{
    return geometryOf({choice.grid, choice.order, communicatorSize(CommunicatorRole::dpShard, scenario)}, scenario);
}

ShardFloors Floors::priceShards(const Scenario& given, const PipelineGeometry& geometry) const
{
    Scenario scenario = given;
    scenario.training.recompute = Recompute::none;
    scenario.training.microBatchSize = 1;
    const CostModel cost(scenario);
    const PassPricer price(given, cost, geometry.groups);
    Labels labels(Labels::Names::leftOut);
    const Sharding sharding = Sharding::of(scenario);
    PassBuilder builder(scenario, labels);
    const auto reduceOf = [&](const StageContent& content) {
        return price.dataParallelNs(builder.backward(content, ActionKind::backward, {.reducesGradients = true}));
    };
    const auto gatherOf = [&](const StageContent& content) {
        return content.buckets.empty() ? 0 : price.dataParallelNs(builder.gather(content));
    };
    ShardFloors shards;
    for (const LayerKind& kind : m_kinds) {
        const StageContent content = makeStageContent(scenario, sharding, {.layers = {kind}});
        shards.layerReduce.push_back(reduceOf(content));
        shards.layerGather.push_back(gatherOf(content));
    }
    const StageContent embedding = makeStageContent(scenario, sharding, {.layers = {}, .embedding = true});
    const StageContent head = makeStageContent(scenario, sharding, {.layers = {}, .head = true});
    shards.embeddingReduce = reduceOf(embedding);
    shards.embeddingGather = gatherOf(embedding);
    shards.headReduce = reduceOf(head);
    shards.headGather = gatherOf(head);
    return shards;
}

std::shared_ptr<const ShardFloors> Floors::shardsOf(const Choice& choice, const Scenario& scenario) const
{
    const ShardKey key{choice.grid, choice.order, choice.zeroStage, choice.dpShard};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_shards.find(key); found != m_shards.end())
            return found->second;
    }
    auto made = std::make_shared<const ShardFloors>(priceShards(scenario, *geometryOfShards(choice, scenario)));
    const std::lock_guard guard(m_lock);
    return m_shards.try_emplace(key, std::move(made)).first->second;
}

double Floors::updateNs(const Choice& choice, const Scenario& scenario, const ShardFloors& shards,
                        ParameterElements elements) const
{
    const ParameterElements trained = elements.trained();
    const ShardFloors::UpdateKey key{trained.dense, trained.routed, m_space.familyOf(choice).modelCopies};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = shards.updates.find(key); found != shards.updates.end())
            return found->second;
    }
    const CostModel cost(scenario);
    Labels labels(Labels::Names::leftOut);
    PassBuilder builder(scenario, labels);
    const double ns =
        PassPricer(scenario, cost, geometryOfShards(choice, scenario)->groups).updateNs(builder.finish(trained, false, 0));
    const std::lock_guard guard(m_lock);
    return shards.updates.try_emplace(key, ns).first->second;
}

} // namespace sim
