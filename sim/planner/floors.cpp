#include "sim/planner/floors.h"

#include "sim/checked.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/planner/stream_clock.h"
#include "sim/schedule/schedule.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sim {
namespace {

/// When the last kernel of a pass has ended, counted from when its kernels may begin; messages are there already.
struct PassReplay {
    double chainNs = 0, kernelNs = 0, workNs = 0;
    double blockNs = 0, blockWorkNs = 0, exchangeNs = 0;
    double keptBytes = 0, peakBytes = 0;
};

class PassPricer {
public:
    PassPricer(const Scenario& scenario, const CostModel& cost, const GroupGeometry& groups)
        : m_cost(cost), m_groups(groups), m_besideTransfers(scenario.cluster.efficiency.besideTransfers)
    {
    }

    /// `asHalf`: of a block, too.
    PassReplay operator()(const Pass& pass, bool asHalf) const
    {
        PassReplay replay;
        double bytes = 0;
        std::vector<std::int64_t> durations(pass.ops.size(), 0);
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            const Op& op = pass.ops[i];
            bytes += static_cast<double>(op.allocBytes);
            replay.peakBytes = std::max(replay.peakBytes, bytes);
            bytes -= static_cast<double>(op.freeBytes);
            if (op.kind == OpKind::compute) {
                durations[i] = m_cost.kernelNs(pass.shapes[i]);
                replay.kernelNs += static_cast<double>(durations[i]);
            } else if (op.kind == OpKind::collective) {
                durations[i] = m_cost.collectiveNs(pass.shapes[i], m_groups.shapes[asIndex(op.group)], op.group);
            }
        }
        StreamClock clock(m_besideTransfers, StreamClock::Begin::ofPass);
        const PricedPass priced = pricePass(m_cost, pass, durations, m_groups, nullptr);
        clock.run(priced, 0, priced.ops.size(), 0, OpPorts{});
        replay.chainNs = clock.tail(Stream::compute);
        replay.workNs = clock.workNs();
        if (asHalf)
            addBlock(priced, replay);
        replay.keptBytes = bytes;
        return replay;
    }
    /// Of a block: pieces between the experts' transfers, which are there by then.
    void addBlock(const PricedPass& priced, PassReplay& replay) const
    {
        if (std::none_of(priced.ops.begin(), priced.ops.end(), [](const PricedOp& op) { return op.stream == Stream::ep; })) {
            replay.blockNs = replay.chainNs;
            replay.blockWorkNs = replay.workNs;
            return;
        }
        PricedPass piece;
        piece.ports = priced.ports;
        const auto end = [&] {
            StreamClock clock(m_besideTransfers, StreamClock::Begin::ofPass);
            clock.run(piece, 0, piece.ops.size(), 0, OpPorts{});
            replay.blockNs += clock.tail(Stream::compute);
            replay.blockWorkNs += clock.workNs();
            piece.ops.clear();
        };
        for (const PricedOp& op : priced.ops) {
            if (op.stream != Stream::ep) {
                piece.ops.push_back(op);
                continue;
            }
            replay.exchangeNs += op.ns;
            if (!piece.ops.empty())
                end();
        }
        end();
    }
    /// What may run before its message is there.
    double earlyNs(const Pass& pass) const
    {
        const Pass early = beforeMessage(pass);
        std::vector<std::int64_t> durations(early.ops.size(), 0);
        for (std::size_t i = 0; i < early.ops.size(); ++i)
            if (early.ops[i].kind == OpKind::compute)
                durations[i] = m_cost.kernelNs(early.shapes[i]);
            else if (early.ops[i].kind == OpKind::collective)
                durations[i] =
                    m_cost.collectiveNs(early.shapes[i], m_groups.shapes[asIndex(early.ops[i].group)], early.ops[i].group);
        StreamClock clock(m_besideTransfers, StreamClock::Begin::ofPass);
        const PricedPass priced = pricePass(m_cost, early, durations, m_groups, nullptr);
        clock.run(priced, 0, priced.ops.size(), 0, OpPorts{});
        return std::max(0.0, clock.endNs());
    }
    /// Kernels alone, and memory.
    PassReplay kernelsOf(const Pass& pass) const
    {
        PassReplay replay;
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            if (pass.ops[i].kind == OpKind::compute)
                replay.kernelNs += static_cast<double>(m_cost.kernelNs(pass.shapes[i]));
            replay.keptBytes += static_cast<double>(pass.ops[i].allocBytes) - static_cast<double>(pass.ops[i].freeBytes);
        }
        return replay;
    }
    /// Until the last kernel, or what it waits for, has ended; at the prices of a pass with its launches.
    double updateNs(Pass pass) const
    {
        Program program;
        program.passes.push_back(std::move(pass));
        const OpDurations durations = m_cost.price(program, m_groups);
        const std::vector<PassLaunches> launches = m_cost.launches(program);
        HostClock host;
        std::array<std::int64_t, kStreamCount> tail{};
        const Pass& of = program.passes.front();
        for (std::size_t i = 0; i < of.ops.size(); ++i) {
            std::int64_t start = tail[asIndex(of.ops[i].stream)];
            for (unsigned waits = of.ops[i].waits; waits != 0; waits &= waits - 1)
                start = std::max(start, tail[asIndex(std::countr_zero(waits))]);
            if (!launches.empty())
                start = host.beginNs(launches[0].ops[i], of.ops[i].stream == Stream::compute, start);
            tail[asIndex(of.ops[i].stream)] = checkedAdd(start, durations[0][i]);
        }
        return static_cast<double>(tail[asIndex(Stream::compute)]);
    }
    /// Of the streams of data parallelism alone.
    double dataParallelNs(const Pass& pass) const
    {
        double ns = 0;
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (const Op& op = pass.ops[i]; op.kind == OpKind::collective && op.stream == Stream::dp)
                ns += static_cast<double>(m_cost.collectiveNs(pass.shapes[i], m_groups.shapes[asIndex(op.group)], op.group));
        return ns;
    }

private:
    const CostModel& m_cost;
    const GroupGeometry& m_groups;
    double m_besideTransfers;
};

} // namespace

GroupGeometry groupGeometryAt(const Scenario& scenario, const Mesh& mesh, const Placement& placement, int rank, GroupsOf of)
{
    GroupGeometry geometry;
    const auto set = [&](CommunicatorRole role, const std::vector<int>& members) {
        if (members.size() > 1)
            geometry.shapes[asIndex(role)] = placement.shape(members);
    };
    const auto membersOf = [&](ProcessGroup group) {
        const int index = mesh.groupOf(group, rank);
        return index < 0 ? std::vector<int>{} : mesh.members(group, index);
    };
    set(CommunicatorRole::tp, membersOf(ProcessGroup::tp));
    set(CommunicatorRole::cp, membersOf(ProcessGroup::cp));
    set(CommunicatorRole::ep, membersOf(ProcessGroup::ep));
    set(CommunicatorRole::exptTp, membersOf(ProcessGroup::expt_tp));
    if (of == GroupsOf::layers)
        return geometry;
    set(CommunicatorRole::embd, membersOf(ProcessGroup::embd));
    const auto at = mesh.coordinates(rank); // with one copy of the model nobody asks for those of two
    if (const int other = mesh.rank(at.tp, at.cp, at.dp, scenario.layout.pp - 1 - at.pp); other != rank)
        set(CommunicatorRole::copies, {std::min(rank, other), std::max(rank, other)});
    const auto setShards = [&](ProcessGroup group, CommunicatorRole sharing, CommunicatorRole replicating) {
        const std::vector<int> data = membersOf(group);
        const auto shard = asIndex(communicatorSize(sharing, scenario)), place = asIndex(mesh.indexInGroup(group, rank));
        std::vector<int> shards, replicas;
        for (std::size_t i = 0; i < data.size(); ++i) {
            if (i / shard == place / shard)
                shards.push_back(data[i]);
            if (i % shard == place % shard)
                replicas.push_back(data[i]);
        }
        set(sharing, shards);
        set(replicating, replicas);
    };
    setShards(ProcessGroup::dp_cp, CommunicatorRole::dpShard, CommunicatorRole::dpReplicate);
    setShards(ProcessGroup::expt_dp, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate);
    return geometry;
}

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

int gpusTogether(const Cluster& cluster)
{
    return std::max(cluster.gpusPerNode, cluster.tiers.front().span);
}

bool domainsHoldBlocks(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    std::pair<std::string_view, int> outermost{"", 1};
    for (std::size_t from = 0; from < layout.order.size();) {
        const std::size_t to = std::min(layout.order.find('-', from), layout.order.size());
        const std::string_view axis = std::string_view(layout.order).substr(from, to - from);
        for (const auto& [name, size] :
             {std::pair<std::string_view, int>{"tp", layout.tp}, {"cp", layout.cp}, {"pp", layout.pp}, {"dp", layout.dp}})
            if (axis == name && size > 1)
                outermost = {name, size};
        from = to + 1;
    }
    const auto world = layout.worldSize();
    const auto block = world / outermost.second;
    // Experts' groups are made of the ranks of a stage.
    const bool isWhole = scenario.model.numExperts == 0 || outermost.first == "pp";
    return std::all_of(scenario.cluster.tiers.begin(), scenario.cluster.tiers.end(), [&](const Tier& tier) {
        return tier.span <= gpusTogether(scenario.cluster) || tier.span >= world || (isWhole && tier.span % block == 0);
    });
}

namespace {

/// What no collective of either group is faster on. Of uneven ones neither need be: one may touch fewer domains, the other have
/// more members in its smallest.
GroupShape bestOf(const GroupShape& a, const GroupShape& b)
{
    const auto place = [](const GroupShape& of) { return std::pair(of.spanningTier(), of.domains); };
    GroupShape best = place(b) < place(a) ? b : a;
    if ((a.isUniform() && b.isUniform()) || a.size != b.size)
        return best;
    best.fewest.clear();
    best.most.clear();
    for (std::size_t tier = 0; tier < best.domains.size(); ++tier) {
        best.fewest.push_back(static_cast<int>(std::max(a.fewestIn(tier), b.fewestIn(tier))));
        best.most.push_back(std::max(best.fewest[tier], static_cast<int>(std::min(a.mostIn(tier), b.mostIn(tier)))));
    }
    return best;
}

} // namespace

PipelineGeometry pipelineGeometry(const Scenario& scenario, GroupsOf of)
{
    const Layout& layout = scenario.layout;
    const Mesh mesh(layout);
    const Placement placement(layout, scenario.cluster);
    PipelineGeometry geometry{.groups = groupGeometryAt(scenario, mesh, placement, 0, of),
                              .sharers = nicSharers(layout, scenario.cluster)};
    int tier = static_cast<int>(scenario.cluster.tiers.size()) - 1;
    const bool repeats = layout.placement == PlacementRule::packed && domainsHoldBlocks(scenario);
    for (int p = 1; p < layout.pp; ++p) {
        const int rank = mesh.rank(0, 0, 0, p), before = mesh.rank(0, 0, 0, p - 1);
        tier = std::min(tier, placement.tierBetween(before, rank));
        const int stride = rank - before;
        if (repeats && stride % gpusTogether(scenario.cluster) == 0)
            continue; // lies on its nodes as the one before does
        const GroupGeometry here = groupGeometryAt(scenario, mesh, placement, rank, of);
        for (std::size_t role = 0; role < here.shapes.size(); ++role) {
            if (here.shapes[role].size > 1)
                geometry.groups.shapes[role] = bestOf(geometry.groups.shapes[role], here.shapes[role]);
        }
    }
    if (layout.pp > 1 && layout.placement != PlacementRule::packed) // chunks that go round send from the last to the first
        tier = std::min(tier, placement.tierBetween(mesh.rank(0, 0, 0, layout.pp - 1), mesh.rank(0, 0, 0, 0)));
    geometry.sendTier = tier;
    return geometry;
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
    const std::int64_t sendBytes = sharding.localTokens() * scenario.model.hiddenSize * sharding.bytesPerElement /
                                   (scattersSends(scenario) ? scenario.layout.tp : 1);
    for (int tier = 0; tier < static_cast<int>(scenario.cluster.tiers.size()); ++tier)
        parts.sendNs.push_back(static_cast<double>(cost.sendNs(sendBytes, tier)));
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
                   shapeOf(CommunicatorRole::exptTp)},
                  geometry->sharers};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_parts.find(key); found != m_parts.end())
            return found->second;
    }
    auto made = std::make_shared<const PartFloors>(priceParts(scenario, *geometry));
    const std::lock_guard guard(m_lock);
    return m_parts.try_emplace(key, std::move(made)).first->second;
}

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

std::map<Recompute, LayoutFloor> Floors::leastOf(const Choice& choice, const Scenario& scenario) const
{
    std::vector<std::array<const HalfFloors*, 2>> halves; // [kind]
    for (std::size_t k = 0; k < m_kinds.size(); ++k)
        halves.push_back({&halfOf(HalfOfLayer::attention, k, choice, scenario), &halfOf(HalfOfLayer::rest, k, choice, scenario)});
    // Some rank has so many layers, all of which hold the activations of a micro-batch when its last forward pass ends.
    const int most = (scenario.model.numHiddenLayers + choice.grid.pp - 1) / choice.grid.pp;
    std::map<Recompute, LayoutFloor> floors;
    for (const Recompute recompute : m_space.recomputes()) {
        LayoutFloor& floor = floors[recompute];
        double leastKept = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < m_kinds.size(); ++k) {
            double kernelNs = 0, kept = 0;
            for (const HalfFloors* half : halves[k]) {
                kernelNs += half->at(recompute == Recompute::full ? Recompute::none : recompute).kernelNs;
                kept += half->at(recompute).kept;
            }
            floor.stepNs += m_layersTo[k].back() * kernelNs;
            leastKept = std::min(leastKept, kept);
        }
        floor.stepNs *= scenario.microbatches() / static_cast<double>(choice.grid.pp);
        if (scenario.training.offload.activationLayers == 0)
            floor.bytes = most * leastKept;
    }
    return floors;
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
