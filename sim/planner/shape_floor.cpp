// Floors of a pipeline's shape, and of that with its parameters sharded.
#include "sim/planner/floors.h"

#include "sim/index.h"
#include "sim/planner/uneven_stages.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <span>

namespace sim {
namespace {

constexpr std::size_t kMostRememberedPasses = 4 << 20;
constexpr double kNoReduction = 1e300;
enum LastReduced : unsigned { kNothing, kEmbedding, kHead, kFirstLayer };

double statesBytes(const Scenario& scenario, const ParameterElements& held)
{
    const ModelStates states = modelStates(scenario, held);
    return static_cast<double>(states.parameters + states.gradients + states.optimizer + states.buffers);
}

bool sameElements(const ParameterElements& a, const ParameterElements& b)
{
    return a.dense == b.dense && a.routed == b.routed && a.frozenDense == b.frozenDense && a.frozenRouted == b.frozenRouted &&
           a.narrow == b.narrow;
}

/// How a kind of schedule deals parts to ranks, and what of two passes may hide the other's.
struct PipelineOf {
    int ranks = 1;
    bool isV = false;
    /// Two passes as one block hide each other's communication.
    bool blocks = false;
    /// Input and weight gradients apart may end on a weight's.
    bool splits = false;

    static PipelineOf of(const Scenario& scenario, const ScheduleFamily& family)
    {
        const std::string_view kind = family.kind;
        return {.ranks = scenario.layout.pp,
                .isV = kind == "zb-v" || kind == "v-half" || kind == "v-min" || kind == "dualpipe-v",
                .blocks = overlapsBlocks(scenario, family),
                .splits = family.modelCopies > 1 || kind == "dualpipe-v" || scenario.training.overlap.epComm ||
                          kind.starts_with("zb") || kind.starts_with("v-") || kind == "interleaved-zb" || family.isSearched};
    }
    int rankOf(int stage) const { return isV && stage >= ranks ? 2 * ranks - 1 - stage : stage % ranks; }
};

/// The first stage with a backward pass: adapters lie in layers, and before the first nothing is trained.
int firstTrainedStage(const Scenario& scenario)
{
    const std::vector<int>& layers = scenario.schedule.layersPerStage;
    if (!scenario.model.lora.isOn())
        return 0;
    return static_cast<int>(std::find_if(layers.begin(), layers.end(), [](int count) { return count > 0; }) - layers.begin());
}

/// Whether a stage is made of the same layers as the one before it, and neither has an end of the model.
class LikeBefore {
public:
    explicit LikeBefore(int stages) : m_stages(stages) {}
    /// Of one after the other. `kind`: of all its layers, or -1.
    bool operator()(int stage, int kind, int count)
    {
        const bool isLike = stage > 1 && stage < m_stages - 1 && kind >= 0 && kind == m_kind && count == m_count;
        m_kind = kind;
        m_count = count;
        return isLike;
    }

private:
    int m_stages, m_kind = -1, m_count = 0;
};

/// One part of the model.
struct PartOfShape {
    PassFloors passes;
    ParameterElements elements;
    double early = 0;             ///< of the backward pass, at most: before its message is there
    double backwardPeak = 0;      ///< bytes above what is held when it begins, while one of its layers runs
    ParameterElements leastLayer; ///< of its layers
    std::vector<int> layers;      ///< [kind]
    int embeddings = 0, heads = 0;
    unsigned lastReduced = kNothing;
};

} // namespace

std::shared_ptr<const PassOrder> Floors::orderOf(const Choice& choice, const Scenario& scenario) const
{
    const ScheduleFamily& family = m_space.familyOf(choice);
    if (family.plansByCost || family.isSearched || family.isWrittenOut || family.cutsSequences())
        return nullptr;
    const std::array<int, 5> key{choice.kind, choice.grid.pp, choice.chunks, scenario.microbatches(),
                                 scenario.schedule.microbatchGroup};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_orders.find(key); found != m_orders.end())
            return found->second;
    }
    std::shared_ptr<const PassOrder> made;
    try {
        made = std::make_shared<const PassOrder>(sim::orderOf(planSchedule(scenario)));
    } catch (const Error&) { // laying it out says why
    }
    const std::lock_guard guard(m_lock);
    if (made)
        m_orderedPasses += made->passes.size();
    if (m_orderedPasses > kMostRememberedPasses) { // they are made again
        m_orders.clear();
        m_orderedPasses = made ? made->passes.size() : 0;
    }
    return m_orders.try_emplace(key, std::move(made)).first->second;
}

bool overlapsBlocks(const Scenario& scenario, const ScheduleFamily& family)
{
    const bool hasBlocks = family.modelCopies > 1 || family.kind == "dualpipe-v" || scenario.training.overlap.epComm;
    return hasBlocks && scenario.model.numExperts > 0;
}

ShapeFloor Floors::shapeOf(const Choice& choice, const Scenario& scenario, const PartFloors& parts, const PassOrder* order) const
{
    const ScheduleFamily& family = m_space.familyOf(choice);
    const Overlap& overlap = scenario.training.overlap;
    const double sendNs = parts.sendNs[asIndex(geometryOf({choice.grid, choice.order, 0}, scenario)->sendTier)];
    const int ranks = choice.grid.pp, copies = family.modelCopies;
    const int microbatches = scenario.microbatches();
    const int stages = ranks * choice.chunks / copies;
    const std::string_view kind = family.kind;
    ShapeFloor shape;
    const PipelineOf pipeline = PipelineOf::of(scenario, m_space.familyOf(choice));
    const bool blocks = shape.isBlocks = pipeline.blocks, splits = shape.isSplit = pipeline.splits;
    const auto rankOf = [&](int s) { return pipeline.rankOf(s); };
    const bool usesTwice = shape.usesTwice = scenario.model.tieWordEmbeddings || scenario.model.numNextnPredictLayers > 0;
    const bool owning = usesTwice && (copies > 1 ? ranks == 1 || stages == ranks : rankOf(stages - 1) == 0);

    thread_local std::vector<PartOfShape> room; // most of the time would go to finding it
    if (room.size() < asIndex(stages))
        room.resize(asIndex(stages));
    const std::span<PartOfShape> all(room.data(), asIndex(stages));
    const PartOfShape nothing{.layers = std::vector<int>(m_kinds.size(), 0)};
    int layer = 0;
    LikeBefore likeBefore(stages);
    for (int s = 0; s < stages; ++s) {
        PartOfShape& part = all[asIndex(s)];
        const int count = scenario.schedule.layersPerStage[asIndex(s)];
        if (likeBefore(s, kindOfStage(layer, count), count)) {
            part = all[asIndex(s - 1)];
            layer += count;
            continue;
        }
        part = nothing;
        const int again = choice.recompute != Recompute::full ? 0
                          : choice.recomputeLayers > 0        ? std::min(count, choice.recomputeLayers)
                                                              : count;
        double keptBehind = 0; // of layers that are not run again: they are behind those that are
        for (std::size_t k = 0; k < m_kinds.size(); ++k) {
            const std::vector<int>& to = m_layersTo[k];
            const int recomputed = to[asIndex(layer + again)] - to[asIndex(layer)];
            const int both = to[asIndex(layer + count)] - to[asIndex(layer)];
            if (recomputed > 0)
                part.passes += parts.layer[k][1] * recomputed;
            if (both > recomputed)
                part.passes += parts.layer[k][0] * (both - recomputed);
            keptBehind += parts.layer[k][0].kept * (both - recomputed);
            const ParameterElements& of = parts.layerElements[k];
            part.elements += {.dense = of.dense * both,
                              .routed = of.routed * both,
                              .frozenDense = of.frozenDense * both,
                              .frozenRouted = of.frozenRouted * both,
                              .narrow = of.narrow * both};
            part.layers[k] = both;
            if (const auto sizeOf = [](const ParameterElements& e) { return e.dense + e.routed; };
                both > 0 && (sizeOf(part.leastLayer) == 0 || sizeOf(of) < sizeOf(part.leastLayer)))
                part.leastLayer = of;
        }
        const bool begins = s == 0, ends = s == stages - 1;
        if (count > 0) {
            const auto kindAt = [&](int of) { return asIndex(m_kindOfLayer[asIndex(layer + of)]); };
            const double kept = part.passes.kept;
            part.passes = part.passes - parts.trailing[kindAt(count - 1)][again == count ? 1 : 0];
            part.passes.kept = kept;
            // The last layer's backward pass comes first, but for the head's.
            part.backwardPeak = parts.layer[kindAt(count - 1)][again == count ? 1 : 0].transient;
            part.early = ends ? 0 : parts.early[kindAt(count - 1)]; // the loss has no message
            if (again > 0 && again < count)
                part.backwardPeak = std::max(part.backwardPeak, parts.layer[kindAt(again - 1)][1].transient - keptBehind);
            if (ends)
                part.backwardPeak -= std::max(0.0, (owning ? parts.headOwning : parts.head).kept);
            if (begins)
                part.passes += parts.embedding;
            if (ends)
                part.passes += owning ? parts.headOwning : parts.head;
            part.lastReduced = kFirstLayer + static_cast<unsigned>(kindAt(0));
        } else {
            if (begins)
                part.passes = parts.embeddingAlone;
            else if (ends)
                part.passes = parts.headAlone[choice.recompute == Recompute::full ? 1 : 0];
            part.lastReduced = ends ? kHead : kNothing;
        }
        if (begins) {
            part.elements += parts.embeddingElements;
            part.embeddings = 1;
            part.lastReduced = kEmbedding;
        }
        if (ends) {
            part.elements += owning ? parts.headOwningElements : parts.headElements;
            part.heads = owning ? 0 : 1;
        }
        layer += count;
    }
    shape.entersAtBothEnds = blocks || copies > 1;
    shape.startsWithEmbedding = all[0].lastReduced != kNothing;

    const double m = microbatches / static_cast<double>(copies);
    const double lost = 1 - 1 / scenario.cluster.efficiency.besideTransfers; // of each moment beside a collective
    double before = 0, after = 0;
    shape.firstTrained = firstTrainedStage(scenario);
    for (int rank = 0; rank < ranks; ++rank) {
        ShapeFloor::Rank here;
        here.layers.resize(m_kinds.size());
        double work = 0, block = 0, blockWork = 0, exchange = 0, kept = 0, beside = 0;
        int chunksHere = 0;
        const auto take = [&](int s) {
            const PartOfShape& of = all[asIndex(s)];
            work += m * (of.passes.forward +
                         (splits ? std::min(of.passes.backward, of.passes.input + of.passes.weight) : of.passes.backward));
            block += m * (of.passes.blockForward + of.passes.blockBackward);
            blockWork += m * of.passes.blockWork;
            exchange += m * of.passes.exchange;
            beside += m * (of.passes.workForward +
                           (splits ? std::min(of.passes.workBackward, of.passes.workInput + of.passes.workWeight)
                                   : of.passes.workBackward));
            kept = chunksHere == 0 ? of.passes.kept : std::min(kept, of.passes.kept);
            here.held += of.elements;
            for (std::size_t k = 0; k < here.layers.size(); ++k)
                here.layers[k] += of.layers[k];
            here.embeddings += of.embeddings;
            here.heads += of.heads;
            here.lastReduced |= std::uint64_t{1} << std::min(of.lastReduced, 63U);
            ++chunksHere;
        };
        for (int chunk = 0; chunk * ranks + rank < stages; ++chunk)
            take(pipeline.isV && chunk == 1 ? 2 * ranks - 1 - rank : chunk * ranks + rank);
        if (copies > 1)
            take(stages - 1 - rank);
        here.endNs = blocks ? std::max({block, blockWork + lost * exchange, exchange}) : copies > 1 ? work : before + work;
        here.workNs = blocks ? blockWork : copies > 1 ? beside : before / scenario.cluster.efficiency.besideTransfers + beside;
        here.behindFirstNs = splits ? 0 : after;
        if (rank < stages) {
            before += all[asIndex(rank)].passes.forward + sendNs;
            if (rank >= shape.firstTrained)
                after += std::max(0.0, all[asIndex(rank)].passes.backward - all[asIndex(rank)].early) + sendNs;
        }
        // Passes whose activations a rank holds at once: of a chunk each, the least of them. Others hold one at least.
        double inFlight = 1;
        if (kind == "1f1b" || kind == "zb-h1")
            inFlight = std::min(microbatches, ranks - rank);
        else if (kind == "gpipe")
            inFlight = microbatches;
        else if (kind == "looped-bfs")
            inFlight = static_cast<double>(microbatches) * choice.chunks;
        else if (kind == "interleaved-1f1b" && scenario.schedule.microbatchGroup == ranks && !overlap.epComm)
            inFlight = std::min(microbatches * choice.chunks, 2 * (ranks - rank - 1) + (choice.chunks - 1) * ranks + 1);
        here.activations[0] = inFlight * kept;
        for (std::size_t moment = 0; order != nullptr && moment < here.activations.size(); ++moment) {
            const HeldPasses& held = order->held[asIndex(rank)][moment];
            double sum = 0;
            for (const auto& [part, passes] : held.passes)
                sum += passes * all[asIndex(part)].passes.kept;
            if (held.backwardPart >= 0 && all[asIndex(held.backwardPart)].backwardPeak > 0) {
                sum += all[asIndex(held.backwardPart)].backwardPeak;
                here.gathered[moment] = all[asIndex(held.backwardPart)].leastLayer;
            }
            for (const int part : held.gradients)
                here.gradients[moment] += all[asIndex(part)].elements.trained();
            here.activations[moment] = std::max(here.activations[moment], sum);
        }
        if (scenario.training.offload.activationLayers > 0) // they lie with the host
            here.activations = {};
        shape.ranks.push_back(std::move(here));
    }
    if (order != nullptr && !order->passes.empty()) {
        std::vector<PartTimes> times;
        times.reserve(all.size());
        for (const PartOfShape& part : all)
            times.push_back({.forward = part.passes.forward,
                             .backward = part.passes.backward,
                             .input = part.passes.input,
                             .weight = part.passes.weight,
                             .blockForward = blocks ? part.passes.blockForward : part.passes.forward,
                             .blockBackward = blocks ? part.passes.blockBackward : part.passes.backward,
                             .early = part.early});
        const std::vector<double> ends = endsOfRanks(*order, times, sendNs);
        for (std::size_t rank = 0; rank < ends.size(); ++rank)
            shape.ranks[rank].endNs = std::max(shape.ranks[rank].endNs, ends[rank]);
    }
    for (const PartOfShape& of : all)
        shape.chainNs += blocks ? 0 : of.passes.forward + std::max(0.0, std::min(of.passes.backward, of.passes.input) - of.early);
    shape.leastNs = shape.chainNs;
    for (const ShapeFloor::Rank& rank : shape.ranks)
        shape.leastNs = std::max(shape.leastNs, rank.endNs + rank.behindFirstNs);
    return shape;
}

double Floors::leastOfShape(const Choice& choice, const Scenario& scenario, const PartFloors& parts) const
{
    const int ranks = choice.grid.pp, copies = m_space.familyOf(choice).modelCopies, stages = ranks * choice.chunks / copies;
    const PipelineOf pipeline = PipelineOf::of(scenario, m_space.familyOf(choice));
    const double sendNs = parts.sendNs[asIndex(geometryOf({choice.grid, choice.order, 0}, scenario)->sendTier)];
    const double m = scenario.microbatches() / static_cast<double>(copies);
    struct Times {
        double forward = 0, backward = 0, early = 0;
    };
    thread_local std::vector<Times> roomForTimes;
    thread_local std::vector<double> roomForWork;
    roomForTimes.assign(asIndex(stages), {});
    roomForWork.assign(asIndex(ranks), 0);
    const std::span<Times> all = roomForTimes;
    const std::span<double> work = roomForWork;
    double chain = 0;
    const auto timesOf = [&](int s, int layer, int count) {
        Times times;
        const auto add = [&](const PassFloors& of, double layers) {
            if (pipeline.blocks) {
                times.forward += of.blockForward * layers;
                times.backward += of.blockBackward * layers;
                return;
            }
            times.forward += of.forward * layers;
            times.backward += (pipeline.splits ? std::min(of.backward, of.input + of.weight) : of.backward) * layers;
        };
        const int again = choice.recompute != Recompute::full ? 0
                          : choice.recomputeLayers > 0        ? std::min(count, choice.recomputeLayers)
                                                              : count;
        for (std::size_t k = 0; k < m_kinds.size(); ++k) {
            const std::vector<int>& to = m_layersTo[k];
            const int recomputed = to[asIndex(layer + again)] - to[asIndex(layer)];
            const int both = to[asIndex(layer + count)] - to[asIndex(layer)];
            if (recomputed > 0)
                add(parts.layer[k][1], recomputed);
            if (both > recomputed)
                add(parts.layer[k][0], both - recomputed);
        }
        if (count > 0 && !pipeline.blocks) { // a pass ends before what only a next layer waits for
            const PassFloors& trailing =
                parts.trailing[asIndex(m_kindOfLayer[asIndex(layer + count - 1)])][again == count ? 1 : 0];
            times.forward -= std::max(0.0, trailing.forward);
            times.backward -= std::max({0.0, trailing.backward, trailing.input + trailing.weight});
        }
        if (count > 0 && s < stages - 1)
            times.early = parts.early[asIndex(m_kindOfLayer[asIndex(layer + count - 1)])];
        if (count > 0 && s == 0)
            add(parts.embedding, 1);
        if (count > 0 && s == stages - 1 && !scenario.model.tieWordEmbeddings && scenario.model.numNextnPredictLayers == 0)
            add(parts.head, 1);
        return times;
    };
    const std::vector<int>& counts = scenario.schedule.layersPerStage;
    const bool isOneKind = m_kinds.size() == 1;
    for (int s = 0, layer = 0; s < stages;) { // most stages are like the one before
        const int count = counts[asIndex(s)], kind = kindOfStage(layer, count);
        const Times times = all[asIndex(s)] = timesOf(s, layer, count);
        layer += count;
        const bool repeats = s > 0 && kind >= 0;
        for (++s; repeats && s < stages - 1 && counts[asIndex(s)] == count && (isOneKind || kindOfStage(layer, count) == kind);
             ++s) {
            all[asIndex(s)] = times;
            layer += count;
        }
    }
    if (!pipeline.blocks && !pipeline.splits)
        for (const Times& of : all)
            chain += of.forward;
    for (int s = 0; s < stages;) // each chunk of all ranks
        for (int rank = 0; rank < ranks && s < stages; ++rank, ++s) {
            const Times& of = all[asIndex(s)];
            work[asIndex(pipeline.isV && s >= ranks ? 2 * ranks - 1 - s : rank)] += m * (of.forward + of.backward);
            if (copies > 1 && stages - 1 - s < ranks)
                work[asIndex(stages - 1 - s)] += m * (of.forward + of.backward);
        }
    const bool oneWay = !pipeline.blocks && copies == 1;
    double least = chain, before = 0, after = 0;
    const int firstTrained = firstTrainedStage(scenario);
    for (int rank = 0; rank < ranks; ++rank) {
        least = std::max(least, work[asIndex(rank)] + (oneWay ? before : 0) + (pipeline.splits ? 0 : after));
        if (rank < stages) {
            before += std::max(0.0, all[asIndex(rank)].forward) + sendNs;
            if (rank >= firstTrained)
                after += std::max(0.0, all[asIndex(rank)].backward - all[asIndex(rank)].early) + sendNs;
        }
    }
    return least;
}

std::vector<std::vector<int>> Floors::unevenOf(const Choice& choice, const Scenario& scenario, const PartFloors& parts,
                                               std::span<const std::pair<int, int>> shardings, double capacityBytes) const
{
    const int ranks = choice.grid.pp;
    if (ranks == 1 || m_space.familyOf(choice).modelCopies > 1)
        return {};
    const PipelineOf pipeline = PipelineOf::of(scenario, m_space.familyOf(choice));
    const bool runsAgain = choice.recompute == Recompute::full;
    const auto partOf = [&](const PassFloors& time, const PassFloors& memory) {
        return DealtPipeline::Part{.ns = time.forward +
                                         (pipeline.splits ? std::min(time.backward, time.input + time.weight) : time.backward),
                                   .kept = memory.kept};
    };
    DealtPipeline dealt;
    const int stages = ranks * choice.chunks;
    for (int s = 0; s < stages; ++s)
        dealt.rankOfStage.push_back(pipeline.rankOf(s));
    // How many layers run again is chosen afterwards: as few as fit, at most all.
    const bool allRunAgain = runsAgain && choice.recomputeLayers == 0;
    for (const int kind : m_kindOfLayer) {
        const auto& of = parts.layer[asIndex(kind)];
        dealt.layers.push_back(partOf(of[allRunAgain ? 1 : 0], of[runsAgain ? 1 : 0]));
    }
    dealt.embedding = partOf(parts.embedding, parts.embedding);
    dealt.head = partOf(parts.head, parts.head);
    const auto order = orderOf(choice, scenario);
    for (int rank = 0; rank < ranks; ++rank) {
        double held = 1;
        if (order) {
            double passes = 0;
            for (const auto& [part, count] : order->held[asIndex(rank)][0].passes)
                passes += count;
            held = std::max(1.0, passes / choice.chunks);
        }
        dealt.held.push_back(held);
    }
    std::vector<std::vector<int>> deals;
    const auto take = [&] {
        for (std::vector<int>& deal : unevenDeals(dealt))
            if (deal != scenario.schedule.layersPerStage && std::find(deals.begin(), deals.end(), deal) == deals.end())
                deals.push_back(std::move(deal));
    };
    dealt.capacityBytes = std::numeric_limits<double>::infinity();
    take();
    dealt.capacityBytes = capacityBytes;
    Scenario sharded = scenario;
    for (const auto& [zero, shard] : shardings) {
        sharded.layout.zeroStage = zero;
        sharded.layout.dpShard = shard;
        for (std::size_t layer = 0; layer < dealt.layers.size(); ++layer)
            dealt.layers[layer].states = statesBytes(sharded, parts.layerElements[asIndex(m_kindOfLayer[layer])]);
        dealt.embedding.states = statesBytes(sharded, parts.embeddingElements);
        dealt.head.states = statesBytes(sharded, parts.headElements);
        take();
    }
    return deals;
}

LayoutFloor Floors::shardedOf(const Choice& choice, const Scenario& scenario, const ShapeFloor& shape,
                              const ShardFloors& shards) const
{
    const Layout& layout = scenario.layout;
    const Overlap& overlap = scenario.training.overlap;
    const bool everyUse = parameterGathering(scenario) == ParameterGathering::eachUse;
    const bool everyStep = parameterGathering(scenario) == ParameterGathering::eachStep;
    const double m = scenario.microbatches() / static_cast<double>(m_space.familyOf(choice).modelCopies);
    const double reductions = !overlap.gradReduce ? 0 : reducesEveryMicrobatch(scenario) ? m : 1;
    // Prefetched or not, the weight gradient's pass gathers nothing; a frozen embedding's is not gathered for its backward pass.
    const double gathers = everyUse ? m : everyStep ? 1 : 0;
    const bool reduces = overlap.gradReduce && !shape.usesTwice; // shared weights may be reduced elsewhere
    const auto reductionOf = [&](unsigned what) {
        return what == kNothing     ? 0
               : what == kEmbedding ? shards.embeddingReduce
               : what == kHead      ? shards.headReduce
                                    : shards.layerReduce[what - kFirstLayer];
    };
    const bool waits = everyStep && overlap.paramGather && !shape.usesTwice && !shape.entersAtBothEnds &&
                       shape.startsWithEmbedding && shards.embeddingReduce > 0;
    const double begin = waits ? shards.embeddingGather : 0;

    const double lost = 1 - 1 / scenario.cluster.efficiency.besideTransfers; // of each moment beside a collective
    const ShardRanks cut = ShardRanks::of(layout);
    const StateBytes each = StateBytes::of(scenario.training);
    const auto wholeBytes = [](const ParameterElements& elements, double bytes) {
        return (static_cast<double>(elements.dense) + static_cast<double>(elements.routed)) * bytes;
    };

    // Shards are rounded up, of each bucket by itself: by less than an element of each kind.
    const auto beyondShards = [&](const ShapeFloor::Rank& rank, const ParameterElements& elements) {
        const int ends = 2 + 2 * scenario.model.numNextnPredictLayers; // heads that own an embedding, and prediction's modules
        const int buckets = std::accumulate(rank.layers.begin(), rank.layers.end(), rank.embeddings + rank.heads + ends);
        const double others = static_cast<double>(elements.dense) * (1 - 1.0 / cut.dense) +
                              static_cast<double>(elements.routed) * (1 - 1.0 / cut.routed);
        return std::max(0.0, others - 2.0 * buckets) * each.gradient;
    };

    LayoutFloor floor{.stepNs = shape.chainNs};
    double update = 0, states = 0, tailOfFirst = 0;
    const ShapeFloor::Rank* before = nullptr;
    for (const ShapeFloor::Rank& rank : shape.ranks) {
        if (before == nullptr || !sameElements(before->held, rank.held)) {
            update = updateNs(choice, scenario, shards, rank.held);
            states = statesBytes(scenario, rank.held);
        }
        double dp = rank.embeddings * (reductions * shards.embeddingReduce + gathers * shards.embeddingGather) +
                    rank.heads * (reductions * shards.headReduce + gathers * shards.headGather);
        // Each use is two: a layer's parameters are gathered for its backward pass again.
        const double uses = everyUse && rank.held.frozenDense == 0 && rank.held.frozenRouted == 0 ? 2 * m : gathers;
        for (std::size_t k = 0; k < rank.layers.size(); ++k)
            dp += rank.layers[k] * (reductions * shards.layerReduce[k] + uses * shards.layerGather[k]);
        double lastReduce = kNoReduction;
        for (std::uint64_t bits = rank.lastReduced; bits != 0; bits &= bits - 1)
            lastReduce = std::min(lastReduce, reductionOf(static_cast<unsigned>(std::countr_zero(bits))));
        const double tail = update + (reduces ? lastReduce : 0);
        if (&rank - shape.ranks.data() == shape.firstTrained)
            tailOfFirst = tail;
        floor.stepNs = std::max({floor.stepNs, begin + rank.endNs + tail,
                                 shape.isSplit ? 0 : begin + rank.endNs + rank.behindFirstNs + tailOfFirst,
                                 shape.usesTwice ? 0 : dp + update, shape.usesTwice ? 0 : rank.workNs + lost * dp + update});
        for (std::size_t moment = 0; moment < rank.activations.size(); ++moment) {
            double bytes = states + rank.activations[moment];
            if (addsUpWhole(scenario)) // whole until the last is there
                bytes += beyondShards(rank, rank.gradients[moment]);
            if (everyUse)
                bytes += wholeBytes(cut.cut(rank.gathered[moment]), each.computed) -
                         wholeBytes(cut.cut(rank.gathered[moment].matrices()), each.computed - frozenMatrixBytes(scenario));
            if (bytes > floor.bytes) {
                floor.bytes = bytes;
                floor.fullestRank = static_cast<int>(&rank - shape.ranks.data());
            }
        }
        before = &rank;
    }
    return floor;
}

} // namespace sim
