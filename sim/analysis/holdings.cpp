#include "sim/analysis/holdings.h"

#include "sim/checked.h"
#include "sim/program/states.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sim {
namespace {

class HoldingsMaker {
public:
    HoldingsMaker(const Simulation& simulation, int rank)
        : m_simulation(simulation), m_model(simulation.scenario().model), m_layout(simulation.scenario().layout),
          m_at(simulation.mesh().coordinates(rank))
    {
        m_out.rank = rank;
        m_out.zeroStage = m_layout.zeroStage;
    }

    Holdings make()
    {
        findOwners();
        findShards();
        findLayers();
        shareOut();
        return std::move(m_out);
    }

private:
    void findOwners();
    void findShards();
    void findLayers();
    void shareOut();

    void add(TensorHolding);
    void whole(std::string_view name, std::int64_t rows, std::int64_t columns, bool biased = false)
    {
        add({.name = name, .rows = rows, .columns = columns, .biased = biased});
    }
    void columnParallel(std::string_view name, std::int64_t rows, std::int64_t columns, bool biased)
    {
        add({.name = name,
             .rows = rows,
             .columns = columns,
             .biased = biased,
             .split = TensorSplit::columns,
             .pieces = m_layout.tp,
             .piece = m_at.tp});
    }
    void rowParallel(std::string_view name, std::int64_t rows, std::int64_t columns, bool biased)
    {
        add({.name = name,
             .rows = rows,
             .columns = columns,
             .biased = biased,
             .split = TensorSplit::rows,
             .pieces = m_layout.tp,
             .piece = m_at.tp});
    }
    void norm(std::string_view name, std::int64_t width)
    {
        whole(name, 1, width, m_model.normalization == Normalization::layernorm);
    }
    void keyValue(std::string_view name);
    void expert(std::string_view name, TensorSplit, std::int64_t rows, std::int64_t columns);
    void attention();
    void latentAttention();
    void experts();
    void layer(HoldingGroup::Kind);
    void embedding();
    void head(bool ownsEmbedding);

    const Simulation& m_simulation;
    const Model& m_model;
    const Layout& m_layout;
    Coordinates m_at;
    std::vector<int> m_tensorOwners; ///< [place in the tensor-parallel group]
    std::vector<int> m_expertOwners; ///< [expert block * etp + place in the expert tensor group]
    HoldingGroup m_group;            ///< under way
    Holdings m_out;
};

/// Ranks that together with this one hold all pieces of a tensor.
void HoldingsMaker::findOwners()
{
    const Mesh& mesh = m_simulation.mesh();
    const auto groupOf = [&](GroupKind kind) { return mesh.members(kind, mesh.groupOf(kind, m_out.rank)); };
    m_tensorOwners.resize(static_cast<std::size_t>(m_layout.tp), m_out.rank);
    for (const int rank : groupOf(GroupKind::tp))
        m_tensorOwners[static_cast<std::size_t>(mesh.coordinates(rank).tp)] = rank;
    m_expertOwners.resize(static_cast<std::size_t>(m_layout.ep * m_layout.etp), m_out.rank);
    if (m_model.numExperts > 0)
        for (const int rank : groupOf(GroupKind::tp_ep)) {
            const Coordinates at = mesh.coordinates(rank);
            m_expertOwners[static_cast<std::size_t>(at.ep * m_layout.etp + at.exptTp)] = rank;
        }
}

/// Consecutive members of dp_cp share the states of dense parameters, all of expt_dp those of experts (as in the program).
void HoldingsMaker::findShards()
{
    const Mesh& mesh = m_simulation.mesh();
    const auto cut = [&](GroupKind kind, int size) {
        ShardGroup shard{.ranks = {m_out.rank}};
        if (m_layout.zeroStage == 0 || size <= 1)
            return shard;
        const int group = mesh.groupOf(kind, m_out.rank), place = mesh.indexInGroup(kind, m_out.rank);
        const int first = place / size * size;
        shard.ranks.clear();
        for (int i = 0; i < size; ++i)
            shard.ranks.push_back(mesh.member(kind, group, first + i));
        shard.index = place - first;
        return shard;
    };
    const ShardRanks ranks = ShardRanks::of(m_layout);
    m_out.dense = cut(GroupKind::dp_cp, ranks.dense);
    m_out.routed = m_model.numExperts > 0 ? cut(GroupKind::expt_dp, ranks.routed) : ShardGroup{.ranks = {m_out.rank}};
}

void HoldingsMaker::findLayers()
{
    const Schedule& schedule = m_simulation.schedule();
    const std::vector<int>& layersPerStage = m_simulation.scenario().schedule.layersPerStage;
    m_out.stages = schedule.stagesOfRank(m_at.pp);
    std::map<HoldingGroup::Kind, std::vector<int>> layers;
    bool enters = false, leaves = false;
    for (const int stage : m_out.stages) {
        const int part = stage % schedule.chainLength();
        const int first = std::accumulate(layersPerStage.begin(), layersPerStage.begin() + part, 0);
        for (int i = first; i < first + layersPerStage[static_cast<std::size_t>(part)]; ++i) {
            layers[m_model.isMoeLayer(i) ? HoldingGroup::Kind::moe : HoldingGroup::Kind::dense].push_back(i);
            m_out.layers.push_back(i);
        }
        enters = enters || schedule.entersAt(stage);
        leaves = leaves || schedule.leavesAt(stage);
    }
    std::sort(m_out.layers.begin(), m_out.layers.end());
    if (enters)
        embedding();
    for (auto& [kind, of] : layers) {
        std::sort(of.begin(), of.end());
        m_group = {.kind = kind, .layers = std::move(of)};
        layer(kind);
        m_out.groups.push_back(std::move(m_group));
    }
    if (leaves)
        head(enters);
}

void HoldingsMaker::add(TensorHolding tensor)
{
    if (!tensor.isRouted() && tensor.split != TensorSplit::whole) {
        // Where ranks share a piece, the first that has it stands for all; this rank for its own.
        const int sharing = std::max(1, m_layout.tp / tensor.pieces);
        for (int piece = 0; piece < tensor.pieces; ++piece)
            tensor.owners.push_back(piece == tensor.piece ? m_out.rank
                                                          : m_tensorOwners[static_cast<std::size_t>(piece * sharing)]);
    } else if (tensor.isRouted()) {
        tensor.owners = m_expertOwners;
    } else {
        tensor.owners = {m_out.rank};
    }
    const std::int64_t columns = tensor.columnRange().length();
    const std::int64_t one = tensor.rowRange().length() * columns + (tensor.biased ? columns : 0);
    const auto layers = static_cast<std::int64_t>(std::max<std::size_t>(1, m_group.layers.size()));
    if (tensor.tied != TensorHolding::Tied::same)
        tensor.elements = one * layers * (tensor.isRouted() ? tensor.expertRange().length() : 1);
    m_group.tensors.push_back(std::move(tensor));
}

/// Fewer key-value heads than ranks: each is kept by several (Megatron-LM).
void HoldingsMaker::keyValue(std::string_view name)
{
    const int pieces = std::min(m_layout.tp, m_model.numKeyValueHeads);
    add({.name = name,
         .rows = m_model.hiddenSize,
         .columns = std::int64_t{m_model.numKeyValueHeads} * m_model.headDim,
         .biased = m_model.bias || m_model.qkvBias,
         .split = TensorSplit::columns,
         .pieces = pieces,
         .piece = m_at.tp * pieces / m_layout.tp});
}

/// DeepSeek-V2, section 2.1: what leads down to the latent vectors is whole, what leads up is cut by heads.
void HoldingsMaker::latentAttention()
{
    const std::int64_t hidden = m_model.hiddenSize, heads = m_model.numAttentionHeads;
    const std::int64_t queryWidth = heads * (m_model.qkNopeHeadDim + m_model.qkRopeHeadDim);
    const bool biased = m_model.bias || m_model.qkvBias;
    if (m_model.qLoraRank > 0) {
        whole("query down", hidden, m_model.qLoraRank, biased);
        norm("query norm", m_model.qLoraRank);
        columnParallel("query up", m_model.qLoraRank, queryWidth, biased);
    } else {
        columnParallel("query", hidden, queryWidth, biased);
    }
    whole("key-value down", hidden, m_model.kvLoraRank + m_model.qkRopeHeadDim, biased);
    norm("key-value norm", m_model.kvLoraRank);
    columnParallel("key-value up", m_model.kvLoraRank, heads * (m_model.qkNopeHeadDim + m_model.vHeadDim), biased);
    rowParallel("attention output", heads * m_model.vHeadDim, hidden, m_model.bias || m_model.outputBias);
}

void HoldingsMaker::attention()
{
    norm("attention norm", m_model.hiddenSize);
    if (m_model.isLatentAttention())
        return latentAttention();
    const std::int64_t width = std::int64_t{m_model.numAttentionHeads} * m_model.headDim;
    columnParallel("query", m_model.hiddenSize, width, m_model.bias || m_model.qkvBias);
    keyValue("key");
    keyValue("value");
    if (m_model.qkNorm)
        whole("query-key norm", 2, m_model.headDim);
    if (m_model.attentionSinks)
        columnParallel("attention sinks", 1, m_model.numAttentionHeads, false);
    rowParallel("attention output", width, m_model.hiddenSize, m_model.bias || m_model.outputBias);
}

void HoldingsMaker::expert(std::string_view name, TensorSplit split, std::int64_t rows, std::int64_t columns)
{
    add({.name = name,
         .rows = rows,
         .columns = columns,
         .biased = m_model.bias || m_model.expertBias,
         .split = split,
         .pieces = m_layout.etp,
         .piece = m_at.exptTp,
         .experts = m_model.numExperts,
         .expertBlocks = m_layout.ep,
         .expertBlock = m_at.ep});
}

void HoldingsMaker::experts()
{
    const std::int64_t hidden = m_model.hiddenSize, width = m_model.moeIntermediateSize;
    const std::int64_t sharedWidth = std::int64_t{m_model.numSharedExperts} * width;
    whole("router", hidden, m_model.numExperts, m_model.routerBias);
    if (m_model.gatedMlp)
        expert("expert gate", TensorSplit::columns, hidden, width);
    expert("expert up", TensorSplit::columns, hidden, width);
    expert("expert down", TensorSplit::rows, width, hidden);
    if (sharedWidth == 0)
        return;
    if (m_model.gatedMlp)
        columnParallel("shared expert gate", hidden, sharedWidth, m_model.bias);
    columnParallel("shared expert up", hidden, sharedWidth, m_model.bias);
    rowParallel("shared expert down", sharedWidth, hidden, m_model.bias);
}

void HoldingsMaker::layer(HoldingGroup::Kind kind)
{
    attention();
    norm("MLP norm", m_model.hiddenSize);
    if (kind == HoldingGroup::Kind::moe)
        return experts();
    if (m_model.gatedMlp)
        columnParallel("MLP gate", m_model.hiddenSize, m_model.intermediateSize, m_model.bias);
    columnParallel("MLP up", m_model.hiddenSize, m_model.intermediateSize, m_model.bias);
    rowParallel("MLP down", m_model.intermediateSize, m_model.hiddenSize, m_model.bias);
}

void HoldingsMaker::embedding()
{
    m_group = {.kind = HoldingGroup::Kind::embedding};
    rowParallel("token embedding", m_model.vocabSize, m_model.hiddenSize, false);
    if (m_model.positionEmbedding == PositionEmbedding::learned)
        whole("position embedding", m_model.maxPositionEmbeddings, m_model.hiddenSize);
    m_out.groups.push_back(std::move(m_group));
}

void HoldingsMaker::head(bool ownsEmbedding)
{
    using Tied = TensorHolding::Tied;
    m_group = {.kind = HoldingGroup::Kind::head};
    norm("final norm", m_model.hiddenSize);
    add({.name = "output projection",
         .rows = m_model.hiddenSize,
         .columns = m_model.vocabSize,
         .split = TensorSplit::columns,
         .pieces = m_layout.tp,
         .piece = m_at.tp,
         .tied = !m_model.tieWordEmbeddings ? Tied::no
                 : ownsEmbedding            ? Tied::same
                                            : Tied::copy});
    m_out.groups.push_back(std::move(m_group));
}

/// A shard is the same share of all elements, rounded up once; what a tensor has of it is the difference it makes to that.
void HoldingsMaker::shareOut()
{
    const StateBytes each = StateBytes::of(m_simulation.scenario().training);
    const ShardRanks ranks = ShardRanks::of(m_layout);
    const int zero = m_layout.zeroStage;
    const bool gathersForStep = zero >= 3 && m_layout.pp > 1;
    std::int64_t dense = 0, routed = 0;
    const auto addTo = [](MemoryBreakdown& sum, const MemoryBreakdown& part) {
        sum.parameters += part.parameters;
        sum.gradients += part.gradients;
        sum.optimizer += part.optimizer;
        sum.buffers += part.buffers;
    };
    for (HoldingGroup& group : m_out.groups) {
        for (TensorHolding& tensor : group.tensors) {
            std::int64_t& before = tensor.isRouted() ? routed : dense;
            const int sharing = tensor.isRouted() ? ranks.routed : ranks.dense;
            const std::int64_t shard = ceilDivide(before + tensor.elements, sharing) - ceilDivide(before, sharing);
            before += tensor.elements;
            tensor.bytes.parameters = (zero >= 3 ? shard : tensor.elements) * each.parameter;
            tensor.bytes.gradients = (zero >= 2 ? shard : tensor.elements) * each.gradient;
            tensor.bytes.optimizer = (zero >= 1 ? shard : tensor.elements) * each.optimizer;
            tensor.bytes.buffers = gathersForStep ? tensor.elements * each.parameter : 0;
            addTo(group.bytes, tensor.bytes);
        }
        addTo(m_out.bytes, group.bytes);
    }
    m_out.elements = dense + routed;
    m_out.routedElements = routed;
}

} // namespace

IndexRange TensorHolding::part(std::int64_t size, int pieces, int piece)
{
    const std::int64_t length = ceilDivide(size, std::max(1, pieces));
    return {piece * length, (piece + 1) * length};
}

Holdings holdingsOf(const Simulation& simulation, int rank)
{
    return HoldingsMaker(simulation, rank).make();
}

} // namespace sim
