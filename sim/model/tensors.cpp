#include "sim/model/tensors.h"

#include "sim/index.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

/// What the matrices of an MLP are called, and the operators that work with them.
struct MlpNames {
    std::string_view gate, up, down, upOperator, downOperator;
};
/// Adapters of what lies side by side in one product lie side by side, too. PEFT has them apart for query, key and value, as has
/// Megatron Bridge's CanonicalLoRA; its LoRA has one beside linear_qkv and one beside linear_fc1 (Lora::fused), which is one A,
/// and B of all their columns.
struct AdapterNames {
    std::string_view a, b, usesA, usesB;
};
constexpr std::array<AdapterNames, kLoraTargets.size()> kAdapters{
    {{"query adapter A", "query adapter B", "attn.qkv.lora_a", "attn.qkv.lora_b"},
     {"key adapter A", "key adapter B", "attn.qkv.lora_a", "attn.qkv.lora_b"},
     {"value adapter A", "value adapter B", "attn.qkv.lora_a", "attn.qkv.lora_b"},
     {"attention output adapter A", "attention output adapter B", "attn.out.lora_a", "attn.out.lora_b"},
     {"MLP gate adapter A", "MLP gate adapter B", "mlp.up.lora_a", "mlp.up.lora_b"},
     {"MLP up adapter A", "MLP up adapter B", "mlp.up.lora_a", "mlp.up.lora_b"},
     {"MLP down adapter A", "MLP down adapter B", "mlp.down.lora_a", "mlp.down.lora_b"}}};
constexpr MlpNames kDenseMlp{"MLP gate", "MLP up", "MLP down", "mlp.up", "mlp.down"};
constexpr MlpNames kExpert{"expert gate", "expert up", "expert down", "moe.up", "moe.down"};
constexpr MlpNames kSharedExpert{"shared expert gate", "shared expert up", "shared expert down", "shared.up", "shared.down"};

class Table {
public:
    explicit Table(const Model& model) : m_model(model), m_hidden(model.hiddenSize), m_head(HeadSize::of(model)) {}

    std::vector<Tensor> take() { return std::move(m_tensors); }

    void embedding()
    {
        add({.name = "token embedding",
             .usedBy = "embed",
             .role = TensorRole::lookup,
             .rows = m_model.vocabSize,
             .columns = m_hidden,
             .split = TensorSplit::rows});
        if (m_model.positionEmbedding == PositionEmbedding::learned)
            add({.name = "position embedding", .usedBy = "embed", .rows = m_model.maxPositionEmbeddings, .columns = m_hidden});
    }

    void layer(bool moe)
    {
        norm("attention norm", "attn.norm", m_hidden);
        if (m_model.isLatentAttention())
            latentAttention();
        else
            attention();
        matrix("attention output", "attn.out", TensorRole::attention, TensorSplit::rows, heads() * m_head.value, m_hidden,
               m_model.bias || m_model.outputBias);
        adapter(LoraTarget::output, m_tensors.back());
        norm("MLP norm", moe ? "moe.norm" : "mlp.norm", m_hidden);
        if (!moe)
            return mlp(kDenseMlp, m_model.intermediateSize, m_model.bias);
        matrix("router", "moe.router", TensorRole::router, TensorSplit::whole, m_hidden, m_model.numExperts, m_model.routerBias);
        mlp(kExpert, m_model.moeIntermediateSize, m_model.hasExpertBias(), true);
        if (m_model.numSharedExperts > 0)
            mlp(kSharedExpert, std::int64_t{m_model.numSharedExperts} * m_model.moeIntermediateSize, m_model.bias);
    }

    /// DeepSeek-V3, section 2.2. The projection is cut by columns, as Megatron Core cuts it.
    void prediction(bool moe)
    {
        add({.name = "token embedding",
             .usedBy = "mtp.embed",
             .role = TensorRole::lookup,
             .rows = m_model.vocabSize,
             .columns = m_hidden,
             .split = TensorSplit::rows,
             .ofMainModel = true});
        norm("embedding norm", "mtp.embedding_norm", m_hidden);
        norm("hidden state norm", "mtp.hidden_norm", m_hidden);
        matrix("projection", "mtp.projection", TensorRole::projection, TensorSplit::columns, 2 * m_hidden, m_hidden, false);
        layer(moe);
        head();
        m_tensors.back().ofMainModel = true;
    }

    void head()
    {
        norm("final norm", "head.norm", m_hidden);
        matrix("output projection", "head.logits", TensorRole::head, TensorSplit::columns, m_hidden, m_model.vocabSize, false)
            .tiedToEmbedding = m_model.tieWordEmbeddings;
    }

private:
    std::int64_t heads() const { return m_model.numAttentionHeads; }

    Tensor& add(const Tensor& tensor) { return m_tensors.emplace_back(tensor); }

    void norm(std::string_view name, std::string_view usedBy, std::int64_t width)
    {
        add({.name = name, .usedBy = usedBy, .columns = width, .biased = m_model.normalization == Normalization::layernorm});
    }

    Tensor& matrix(std::string_view name, std::string_view usedBy, TensorRole role, TensorSplit split, std::int64_t rows,
                   std::int64_t columns, bool biased)
    {
        return add(
            {.name = name, .usedBy = usedBy, .role = role, .rows = rows, .columns = columns, .biased = biased, .split = split});
    }

    /// Beside `base`, cut as Megatron Bridge cuts its ParallelLinearAdapter: A like a column-parallel layer beside such a one,
    /// like a row-parallel one beside that; B always by columns.
    void adapter(LoraTarget target, Tensor base)
    {
        if (!m_model.lora.has(target))
            return;
        const AdapterNames& names = kAdapters[asIndex(target)];
        const std::int64_t rank = m_model.lora.rank;
        const bool hasA = m_model.lora.fused && std::any_of(m_tensors.begin(), m_tensors.end(), [&names](const Tensor& tensor) {
                              return tensor.usedBy == names.usesA;
                          });
        if (!hasA)
            matrix(names.a, names.usesA, TensorRole::adapter, base.split, base.rows, rank, false);
        matrix(names.b, names.usesB, TensorRole::adapter, TensorSplit::columns, rank, base.columns, false).heads = base.heads;
    }

    Tensor& input(std::string_view name, std::string_view usedBy, TensorSplit split, std::int64_t rows, std::int64_t columns)
    {
        return matrix(name, usedBy, TensorRole::attention, split, rows, columns, m_model.bias || m_model.qkvBias);
    }

    void attention()
    {
        const std::int64_t dim = m_model.headDim;
        adapter(LoraTarget::query, input("query", "attn.qkv", TensorSplit::columns, m_hidden, heads() * dim));
        for (const auto& [name, target] : {std::pair{"key", LoraTarget::key}, std::pair{"value", LoraTarget::value}}) {
            Tensor& tensor = input(name, "attn.qkv", TensorSplit::columns, m_hidden, m_model.numKeyValueHeads * dim);
            tensor.heads = m_model.numKeyValueHeads;
            adapter(target, tensor);
        }
        if (m_model.qkNorm)
            add({.name = "query-key norm", .usedBy = "attn.qk_norm", .rows = 2, .columns = dim});
        if (m_model.attentionSinks)
            add({.name = "attention sinks",
                 .usedBy = m_model.qkNorm ? "attn.qk_norm" : "attn.sinks",
                 .columns = heads(),
                 .split = TensorSplit::columns});
    }

    /// DeepSeek-V2, section 2.1: what leads down to the latent vectors is whole, what leads up is cut by heads.
    void latentAttention()
    {
        const std::int64_t queryWidth = heads() * m_head.queryKey, queryRank = m_model.qLoraRank, rank = m_model.kvLoraRank;
        if (queryRank > 0) {
            input("query down", "attn.q_down", TensorSplit::whole, m_hidden, queryRank);
            norm("query norm", "attn.q_norm", queryRank);
            input("query up", "attn.q_up", TensorSplit::columns, queryRank, queryWidth);
        } else {
            input("query", "attn.q", TensorSplit::columns, m_hidden, queryWidth);
        }
        input("key-value down", "attn.kv_down", TensorSplit::whole, m_hidden, rank + m_model.qkRopeHeadDim);
        norm("key-value norm", "attn.kv_norm", rank);
        input("key-value up", "attn.kv_up", TensorSplit::columns, rank, heads() * (m_model.qkNopeHeadDim + m_head.value));
    }

    void mlp(const MlpNames& names, std::int64_t width, bool biased, bool routed = false)
    {
        const auto projection = [&](std::string_view name, std::string_view usedBy, TensorSplit split, std::int64_t rows,
                                    std::int64_t columns, LoraTarget target) {
            Tensor& tensor = matrix(name, usedBy, TensorRole::mlp, split, rows, columns, biased);
            tensor.experts = routed ? m_model.numExperts : 0;
            tensor.chosen = routed ? m_model.numExpertsPerTok : 0;
            if (&names == &kDenseMlp)
                adapter(target, tensor);
        };
        if (m_model.gatedMlp)
            projection(names.gate, names.upOperator, TensorSplit::columns, m_hidden, width, LoraTarget::gate);
        projection(names.up, names.upOperator, TensorSplit::columns, m_hidden, width, LoraTarget::up);
        projection(names.down, names.downOperator, TensorSplit::rows, width, m_hidden, LoraTarget::down);
    }

    const Model& m_model;
    std::int64_t m_hidden;
    HeadSize m_head;
    std::vector<Tensor> m_tensors;
};

} // namespace

int partCount(const Model& model, ModelPart part)
{
    if (part == ModelPart::embedding || part == ModelPart::head)
        return 1;
    if (part == ModelPart::prediction)
        return model.numNextnPredictLayers;
    int moe = 0;
    for (int layer = 0; layer < model.numHiddenLayers; ++layer)
        moe += model.isMoeLayer(layer) ? 1 : 0;
    return part == ModelPart::moe ? moe : model.numHiddenLayers - moe;
}

HeadSize HeadSize::of(const Model& model)
{
    if (model.isLatentAttention())
        return {.queryKey = model.qkNopeHeadDim + model.qkRopeHeadDim, .value = model.vHeadDim};
    return {.queryKey = model.headDim, .value = model.headDim};
}

WholeEnds wholeEnds(const Scenario& scenario)
{
    const Stack& stack = scenario.training.stack;
    const bool tied = scenario.model.tieWordEmbeddings;
    return {.embedding = stack.wholeEmbedding || (tied && stack.wholeHead),
            .head = stack.wholeHead || (tied && stack.wholeEmbedding)};
}

TensorCut TensorCut::of(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    const Stack& stack = scenario.training.stack;
    const WholeEnds whole = wholeEnds(scenario);
    return {.tp = layout.tp,
            .etp = layout.etp,
            .ep = layout.ep,
            .copiesHeads = !stack.gathersHeads,
            .wholeEmbedding = whole.embedding,
            .wholeHead = whole.head};
}

std::int64_t TensorCut::embedded(std::int64_t vocabulary) const
{
    return wholeEmbedding ? vocabulary : ceilDivide(vocabulary, tp);
}

int Tensor::piecesOn(const TensorCut& cut) const
{
    if (split == TensorSplit::whole || (role == TensorRole::lookup && cut.wholeEmbedding) ||
        (role == TensorRole::head && cut.wholeHead))
        return 1;
    const int ranks = isRouted() ? cut.etp : cut.tp;
    return heads > 0 && cut.copiesHeads ? std::min(heads, ranks) : ranks;
}

Tensor Tensor::ofRank(const TensorCut& cut) const
{
    Tensor out = *this;
    if (split != TensorSplit::whole) {
        std::int64_t& side = split == TensorSplit::rows ? out.rows : out.columns;
        side = ceilDivide(side, piecesOn(cut));
    }
    out.experts = static_cast<int>(ceilDivide(experts, cut.ep));
    return out;
}

std::vector<Tensor> tensorsOf(const Model& model, ModelPart part)
{
    Table table(model);
    switch (part) {
    case ModelPart::embedding:
        table.embedding();
        break;
    case ModelPart::dense:
    case ModelPart::moe:
        table.layer(part == ModelPart::moe);
        break;
    case ModelPart::head:
        table.head();
        break;
    case ModelPart::prediction:
        table.prediction(model.predictionKind().moe);
        break;
    }
    return table.take();
}

double weightsOf(const Model& model, ModelPart part, TensorRole role, Experts experts)
{
    double weights = 0;
    for (const Tensor& tensor : tensorsOf(model, part))
        if (tensor.role == role)
            weights += tensor.weights() * tensor.copies(experts);
    return weights;
}

} // namespace sim
