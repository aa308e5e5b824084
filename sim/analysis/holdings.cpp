#include "sim/analysis/holdings.h"

#include "sim/checked.h"
#include "sim/index.h"
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

    /// Of the part's tensors what this rank has, in all these layers.
    void add(ModelPart, std::vector<int> layers, bool ownsEmbedding = false);
    TensorHolding held(const Tensor&, bool ownsEmbedding) const;

    const Simulation& m_simulation;
    const Model& m_model;
    const Layout& m_layout;
    Coordinates m_at;
    std::vector<int> m_tensorOwners; ///< [place in the tensor-parallel group]
    std::vector<int> m_expertOwners; ///< [expert block * etp + place in the expert tensor group]
    Holdings m_out;
};

/// Ranks that together with this one hold all pieces of a tensor.
void HoldingsMaker::findOwners()
{
    const Mesh& mesh = m_simulation.mesh();
    const auto groupOf = [&](ProcessGroup kind) { return mesh.members(kind, mesh.groupOf(kind, m_out.rank)); };
    m_tensorOwners.resize(asIndex(m_layout.tp), m_out.rank);
    for (const int rank : groupOf(ProcessGroup::tp))
        m_tensorOwners[asIndex(mesh.coordinates(rank).tp)] = rank;
    m_expertOwners.resize(asIndex(m_layout.ep * m_layout.etp), m_out.rank);
    if (m_model.numExperts > 0)
        for (const int rank : groupOf(ProcessGroup::tp_ep)) {
            const Coordinates at = mesh.coordinates(rank);
            m_expertOwners[asIndex(at.ep * m_layout.etp + at.exptTp)] = rank;
        }
}

/// Consecutive members of dp_cp share the states of dense parameters, and of expt_dp those of experts (as in the program).
void HoldingsMaker::findShards()
{
    const Mesh& mesh = m_simulation.mesh();
    const auto cut = [&](ProcessGroup kind, int size) {
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
    m_out.dense = cut(ProcessGroup::dp_cp, ranks.dense);
    m_out.routed = m_model.numExperts > 0 ? cut(ProcessGroup::expt_dp, ranks.routed) : ShardGroup{.ranks = {m_out.rank}};
}

void HoldingsMaker::findLayers()
{
    const Schedule& schedule = m_simulation.schedule();
    const std::vector<int>& layersPerStage = m_simulation.scenario().schedule.layersPerStage;
    m_out.stages = schedule.stagesOfRank(m_at.pp);
    std::map<ModelPart, std::vector<int>> layers;
    bool enters = false, leaves = false;
    for (const int stage : m_out.stages) {
        const int part = schedule.partOf(stage);
        const int first = std::accumulate(layersPerStage.begin(), layersPerStage.begin() + part, 0);
        for (int i = first; i < first + layersPerStage[asIndex(part)]; ++i) {
            layers[m_model.isMoeLayer(i) ? ModelPart::moe : ModelPart::dense].push_back(i);
            m_out.layers.push_back(i);
        }
        enters = enters || schedule.entersAt(stage);
        leaves = leaves || schedule.leavesAt(stage);
    }
    std::sort(m_out.layers.begin(), m_out.layers.end());
    if (enters)
        add(ModelPart::embedding, {});
    for (auto& [part, of] : layers) {
        std::sort(of.begin(), of.end());
        add(part, std::move(of));
    }
    if (leaves)
        add(ModelPart::head, {}, enters);
    std::vector<int> modules(leaves ? asIndex(m_model.numNextnPredictLayers) : 0);
    std::iota(modules.begin(), modules.end(), m_model.numHiddenLayers);
    if (!modules.empty())
        add(ModelPart::prediction, std::move(modules), enters);
}

TensorHolding HoldingsMaker::held(const Tensor& tensor, bool ownsEmbedding) const
{
    using Tied = TensorHolding::Tied;
    TensorHolding out{tensor};
    out.pieces = tensor.piecesOn(TensorCut::of(m_simulation.scenario()));
    if (tensor.isRouted()) {
        out.piece = m_at.exptTp;
        out.expertBlocks = m_layout.ep;
        out.expertBlock = m_at.ep;
        out.owners = m_expertOwners;
        return out;
    }
    // Where ranks share a piece, the first that has it stands for all; this rank for its own.
    const int sharing = m_layout.tp / out.pieces;
    out.piece = m_at.tp / sharing;
    for (int piece = 0; piece < out.pieces; ++piece)
        out.owners.push_back(piece == out.piece ? m_out.rank : m_tensorOwners[asIndex(piece * sharing)]);
    if (tensor.ofMainModel) {
        const bool isCopied = tensor.role == TensorRole::lookup && !ownsEmbedding && !m_model.tieWordEmbeddings;
        out.tied = isCopied ? Tied::copy : Tied::same;
        return out;
    }
    out.tied = !tensor.tiedToEmbedding ? Tied::no : ownsEmbedding ? Tied::same : Tied::copy;
    return out;
}

void HoldingsMaker::add(ModelPart part, std::vector<int> layers, bool ownsEmbedding)
{
    const auto times = static_cast<std::int64_t>(std::max<std::size_t>(1, layers.size()));
    HoldingGroup group{.part = part, .layers = std::move(layers)};
    for (const Tensor& tensor : tensorsOf(m_model, part)) {
        TensorHolding& holding = group.tensors.emplace_back(held(tensor, ownsEmbedding));
        const Tensor own = tensor.ofRank(TensorCut::of(m_simulation.scenario()));
        // All modules use one copy of the embedding.
        if (holding.tied != TensorHolding::Tied::same)
            holding.elements = own.elementCount() * own.copies(Experts::all) * (tensor.ofMainModel ? 1 : times);
        if (tensor.isNarrowed())
            holding.narrow = Checked(own.rows) * own.columns * own.copies(Experts::all) * times;
    }
    m_out.groups.push_back(std::move(group));
}

/// A shard is the same share of all elements, rounded up once; what a tensor has of it is the difference it makes to that.
void HoldingsMaker::shareOut()
{
    const StateBytes each = StateBytes::of(m_simulation.scenario().training);
    const ShardRanks ranks = ShardRanks::of(m_layout);
    const int zero = m_layout.zeroStage;
    const bool gathersForStep = zero >= 3 && !m_layout.reshardAfterForward;
    const bool dropsGathered = parameterGathering(m_simulation.scenario()) == ParameterGathering::eachUse;
    std::int64_t dense = 0, routed = 0, trainedDense = 0, trainedRouted = 0, optimizer = 0, narrow = 0;
    const double offloaded = m_simulation.scenario().training.offload.optimizer;
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
            const auto shardOf = [sharing](std::int64_t& first, std::int64_t elements) {
                const std::int64_t shard = ceilDivide(first + elements, sharing) - ceilDivide(first, sharing);
                first += elements;
                return shard;
            };
            const std::int64_t trained = tensor.isTrained(m_model) ? tensor.elements : 0;
            const std::int64_t trainedShard = shardOf(tensor.isRouted() ? trainedRouted : trainedDense, trained);
            const std::int64_t shard = shardOf(before, tensor.elements);
            tensor.bytes.parameters = (zero >= 3 ? shard : tensor.elements) * each.parameter;
            tensor.bytes.gradients = (zero >= 2 ? trainedShard : trained) * each.gradient;
            const std::int64_t states = (zero >= 1 ? trainedShard : trained) * each.optimizer;
            const std::int64_t ofHost = checkedScale(optimizer + states, offloaded) - checkedScale(optimizer, offloaded);
            optimizer += states;
            tensor.bytes.optimizer = states - ofHost;
            const std::int64_t copied = narrowCopyBytes(m_simulation.scenario(), narrow);
            narrow += dropsGathered && sharing > 1 ? 0 : tensor.narrow; // else made again with what is gathered
            tensor.narrowCopies = narrowCopyBytes(m_simulation.scenario(), narrow) - copied;
            tensor.bytes.buffers = (gathersForStep && sharing > 1 ? tensor.elements * each.computed : 0) + tensor.narrowCopies;
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

std::vector<std::string> tensorNames(const Model& model)
{
    std::vector<std::string> names;
    for (const ModelPart part : kModelParts)
        for (const Tensor& tensor : tensorsOf(model, part))
            names.emplace_back(tensor.name);
    return names;
}

} // namespace sim
