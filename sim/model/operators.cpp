#include "sim/model/operators.h"

#include "sim/checked.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

/// Appends operators of one rank; knows the sizes that recur.
class Builder {
public:
    Builder(const Model& model, const Sharding& sharding)
        : m_model(model), m_sharding(sharding), m_hidden(model.hiddenSize), m_tokens(sharding.tokens()),
          m_local(sharding.localTokens()), m_bytes(sharding.bytesPerElement)
    {
        m_list.inputBytes = m_local * m_hidden * m_bytes;
    }

    OperatorList take() { return std::move(m_list); }

    void norm(std::string_view name, Checked tokens, Checked width)
    {
        Operator op{.kind = OperatorKind::elementwise, .family = KernelFamily::norm, .name = name, .m = tokens, .n = width};
        const Checked tensor = tokens * width * m_bytes;
        op.forwardBytes = 2 * tensor;
        op.backwardBytes = 4 * tensor; // reads gradient, input and the normalised value, writes the gradient
        op.savedBytes = tensor;
        op.parameters = m_model.normalization == Normalization::layernorm ? 2 * width : width;
        add(op);
    }

    Operator gemmOperator(std::string_view name, Checked m, Checked n, Checked k, bool bias) const
    {
        Operator op{.kind = OperatorKind::gemm, .family = KernelFamily::gemm, .name = name, .m = m, .n = n, .k = k};
        op.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        op.savedInputBytes = m * k * m_bytes;
        op.savedGradientBytes = m * n * m_bytes;
        op.parameters = n * k + (bias ? n : Checked(0));
        return op;
    }

    void elementwise(std::string_view name, std::int64_t forwardBytes, std::int64_t backwardBytes, std::int64_t savedBytes,
                     bool attentionCore = false, bool routed = false)
    {
        Operator op{.kind = OperatorKind::elementwise, .name = name};
        op.forwardBytes = forwardBytes;
        op.backwardBytes = backwardBytes;
        op.savedBytes = savedBytes;
        op.attentionCore = attentionCore;
        op.routed = routed;
        add(op);
    }

    /// Says what the last operator is to a measured profile.
    void classify(KernelFamily family, std::int64_t rows, std::int64_t columns)
    {
        Operator& op = m_list.operators.back();
        op.family = family;
        op.m = rows;
        op.n = columns;
    }

    void collective(OperatorKind kind, std::string_view name, std::int64_t bytes)
    {
        Operator op{.kind = kind, .name = name};
        op.commBytes = bytes;
        add(op);
    }

    void enterTensorParallel(std::string_view name)
    {
        if (m_sharding.tp > 1)
            collective(OperatorKind::enterTensorParallel, name, m_tokens * m_hidden * m_bytes);
    }
    void leaveTensorParallel(std::string_view name)
    {
        if (m_sharding.tp > 1)
            collective(OperatorKind::leaveTensorParallel, name, m_tokens * m_hidden * m_bytes);
    }

    void residual(std::string_view name)
    {
        const Checked tensor = m_local * m_hidden * m_bytes;
        const Checked mask = usesDropout(m_model) ? m_local * m_hidden : Checked(0);
        elementwise(name, 3 * tensor + mask, (mask > 0 ? 2 * tensor : tensor) + mask, mask);
        classify(KernelFamily::residual, m_local, m_hidden);
    }

    void add(const Operator& op) { m_list.operators.push_back(op); }

    void attention();
    void denseMlp(std::string_view up, std::string_view activation, std::string_view down, Checked width);
    void experts();

    const Model& m_model;
    const Sharding& m_sharding;
    Checked m_hidden, m_tokens, m_local, m_bytes;
    OperatorList m_list;

private:
    void queryKeyValue();
    void attentionCore(Checked heads, Checked qkDim, Checked vDim, Checked keyValueBytes);
};

/// The input of a column-parallel layer is kept as the rank holds it: a slice under sequence parallelism (gathered again in the
/// backward pass), the whole tensor without (Korthikanti et al. 2022, section 4.2.2).
std::int64_t columnInputBytes(const Builder& b)
{
    return b.m_local * b.m_hidden * b.m_bytes;
}

void Builder::queryKeyValue()
{
    const Checked heads = ceilDivide(m_model.numAttentionHeads, m_sharding.tp);
    if (m_model.isLatentAttention()) {
        const Checked qkDim = m_model.qkNopeHeadDim + m_model.qkRopeHeadDim;
        const Checked kvRank = m_model.kvLoraRank;
        const bool bias = m_model.bias || m_model.qkvBias;
        if (m_model.qLoraRank > 0) {
            add(gemmOperator("attn.q_down", m_tokens, m_model.qLoraRank, m_hidden, bias));
            m_list.operators.back().savedInputBytes = columnInputBytes(*this);
            norm("attn.q_norm", m_tokens, m_model.qLoraRank);
            add(gemmOperator("attn.q_up", m_tokens, heads * qkDim, m_model.qLoraRank, bias));
        } else {
            add(gemmOperator("attn.q", m_tokens, heads * qkDim, m_hidden, bias));
            m_list.operators.back().savedInputBytes = columnInputBytes(*this);
        }
        add(gemmOperator("attn.kv_down", m_tokens, kvRank + m_model.qkRopeHeadDim, m_hidden, bias));
        m_list.operators.back().savedInputBytes = 0; // the same input as the query's
        norm("attn.kv_norm", m_tokens, kvRank);
        add(gemmOperator("attn.kv_up", m_tokens, heads * (m_model.qkNopeHeadDim + m_model.vHeadDim), kvRank, bias));
        return;
    }
    // Fewer key-value heads than ranks: each is replicated (Megatron-LM).
    const Checked keyValueHeads = std::max<std::int64_t>(1, ceilDivide(m_model.numKeyValueHeads, m_sharding.tp));
    Operator qkv = gemmOperator("attn.qkv", m_tokens, (heads + 2 * keyValueHeads) * m_model.headDim, m_hidden,
                                m_model.bias || m_model.qkvBias);
    qkv.savedInputBytes = columnInputBytes(*this);
    add(qkv);
    if (m_model.qkNorm || m_model.attentionSinks) {
        Operator op{.kind = OperatorKind::elementwise, .name = m_model.qkNorm ? "attn.qk_norm" : "attn.sinks"};
        const Checked tensor = m_model.qkNorm ? m_tokens * (heads + keyValueHeads) * m_model.headDim * m_bytes : m_tokens * heads;
        op.forwardBytes = 2 * tensor;
        op.backwardBytes = 4 * tensor;
        op.savedBytes = m_model.qkNorm ? tensor : Checked(0);
        op.parameters = (m_model.qkNorm ? std::int64_t{2} * m_model.headDim : 0) + (m_model.attentionSinks ? heads : Checked(0));
        add(op);
    }
}

/// Scores, softmax and weighted values of this rank's heads over the whole sequence; with context parallelism in cp blocks, each
/// computed while the next one's keys and values travel (Ring Attention; causal work balanced by zig-zag order).
void Builder::attentionCore(Checked heads, Checked qkDim, Checked vDim, Checked keyValueBytes)
{
    const Checked b = m_sharding.microBatchSize;
    const Checked queries = m_sharding.sequenceLength / m_sharding.slices / m_sharding.cp;
    // Of its own block's keys a query sees half on average; of earlier slices' all.
    const double seenBlocks = m_sharding.slice + (m_sharding.causal ? 0.5 : 1.0);
    const Checked readKeyValueBytes = keyValueBytes * (m_sharding.slice + 1);
    const double blockPairs = static_cast<double>(b * heads) * static_cast<double>(queries) * static_cast<double>(queries);

    const Checked queryBytes = m_tokens * heads * qkDim * m_bytes;
    if (m_sharding.flashAttention) {
        for (int block = 0; block < m_sharding.cp; ++block) {
            if (block > 0)
                collective(OperatorKind::ringExchange, "attn.ring", keyValueBytes);
            Operator op{.kind = OperatorKind::attention, .family = KernelFamily::attention, .name = "attn.core"};
            op.m = queries;
            op.n = static_cast<std::int64_t>(2 * seenBlocks * static_cast<double>(queries));
            op.k = qkDim;
            op.batch = b * heads;
            op.flops = 2.0 * blockPairs * static_cast<double>(qkDim + vDim) * seenBlocks;
            op.backwardFlopsFactor = 2.5;
            op.forwardBytes = queryBytes + readKeyValueBytes + m_tokens * heads * vDim * m_bytes;
            op.backwardBytes = 2 * op.forwardBytes;
            op.attentionCore = true;
            op.overlapsRing = block > 0;
            if (block == 0) // queries, keys, values, and the log-sum-exp in single precision
                op.savedBytes = queryBytes + keyValueBytes + m_tokens * heads * 4;
            add(op);
        }
        return;
    }
    // Unfused: the score matrix is written and kept (the 5as/h term of Korthikanti et al.); masks skip no work.
    // With context parallelism keys and values are gathered first.
    const Checked keys = queries * (m_sharding.slices > 1 ? m_sharding.slice + 1 : m_sharding.cp);
    if (m_sharding.cp > 1)
        for (int block = 1; block < m_sharding.cp; ++block)
            collective(OperatorKind::ringExchange, "attn.ring", keyValueBytes);
    const Checked scores = b * heads * queries * keys;
    const bool dropout = usesDropout(m_model);
    Operator qk{.kind = OperatorKind::gemm, .name = "attn.scores", .m = queries, .n = keys, .k = qkDim, .batch = b * heads};
    qk.weightless = true;
    qk.attentionCore = true;
    qk.overlapsRing = m_sharding.cp > 1;
    qk.flops = 2.0 * static_cast<double>(scores) * static_cast<double>(qkDim);
    qk.savedBytes = queryBytes + keyValueBytes / 2 * m_sharding.cp;
    add(qk);
    elementwise("attn.softmax", scores * (2 * m_bytes), scores * (3 * m_bytes), scores * m_bytes, true);
    if (dropout)
        elementwise("attn.dropout", scores * (2 * m_bytes + 1), scores * (2 * m_bytes + 1), scores * (m_bytes + 1), true);
    Operator av{.kind = OperatorKind::gemm, .name = "attn.context", .m = queries, .n = vDim, .k = keys, .batch = b * heads};
    av.weightless = true;
    av.attentionCore = true;
    av.flops = 2.0 * static_cast<double>(scores) * static_cast<double>(vDim);
    av.savedBytes = keyValueBytes / 2 * m_sharding.cp;
    add(av);
}

void Builder::attention()
{
    norm("attn.norm", m_local, m_hidden);
    enterTensorParallel("attn.gather");
    queryKeyValue();
    const Checked heads = ceilDivide(m_model.numAttentionHeads, m_sharding.tp);
    Checked outputWidth = 0;
    if (m_model.isLatentAttention()) {
        const Checked qkDim = m_model.qkNopeHeadDim + m_model.qkRopeHeadDim;
        const Checked keyValueBytes = m_tokens * heads * (qkDim + m_model.vHeadDim) * m_bytes;
        elementwise("attn.rope", 2 * m_tokens * heads * m_model.qkRopeHeadDim * m_bytes,
                    2 * m_tokens * heads * m_model.qkRopeHeadDim * m_bytes, 0);
        classify(KernelFamily::rope, m_tokens, heads * m_model.qkRopeHeadDim);
        attentionCore(heads, qkDim, m_model.vHeadDim, keyValueBytes);
        outputWidth = heads * m_model.vHeadDim;
    } else {
        const Checked keyValueHeads = std::max<std::int64_t>(1, ceilDivide(m_model.numKeyValueHeads, m_sharding.tp));
        const Checked dim = m_model.headDim;
        if (m_model.positionEmbedding == PositionEmbedding::rope) {
            const Checked rotated = m_tokens * (heads + keyValueHeads) * dim * m_bytes;
            elementwise("attn.rope", 2 * rotated, 2 * rotated, 0);
            classify(KernelFamily::rope, m_tokens, (heads + keyValueHeads) * dim);
        }
        attentionCore(heads, dim, dim, 2 * m_tokens * keyValueHeads * dim * m_bytes);
        outputWidth = heads * dim;
    }
    Operator projection = gemmOperator("attn.out", m_tokens, m_hidden, outputWidth, m_model.bias || m_model.outputBias);
    // After the reduction every rank of a tensor-parallel group sees the same gradient, whole or in slices.
    projection.savedGradientBytes = m_local * m_hidden * m_bytes;
    add(projection);
    leaveTensorParallel("attn.reduce");
    residual("attn.residual");
}

void Builder::denseMlp(std::string_view up, std::string_view activation, std::string_view down, Checked width)
{
    const Checked local = ceilDivide(width, m_sharding.tp);
    const Checked projections = m_model.gatedMlp ? 2 : 1;
    Operator first = gemmOperator(up, m_tokens, projections * local, m_hidden, m_model.bias);
    first.savedInputBytes = columnInputBytes(*this);
    add(first);
    const Checked tensor = m_tokens * local * m_bytes;
    elementwise(activation, (projections + 1) * tensor, (2 * projections + 1) * tensor, projections * tensor);
    classify(KernelFamily::activation, m_tokens, local);
    Operator second = gemmOperator(down, m_tokens, m_hidden, local, m_model.bias);
    second.savedGradientBytes = m_local * m_hidden * m_bytes;
    add(second);
}

/// Router, dispatch, grouped GEMMs, combine; every expert is taken to receive equally many tokens. Tokens are routed from the
/// sequence-parallel region, so each rank dispatches its own slice.
void Builder::experts()
{
    const Checked topK = m_model.numExpertsPerTok;
    const Checked routedTokens = m_local * topK;
    const Checked routedBytes = routedTokens * m_hidden * m_bytes;

    Operator router = gemmOperator("moe.router", m_local, m_model.numExperts, m_hidden, m_model.routerBias);
    router.savedInputBytes = columnInputBytes(*this);
    router.savedGradientBytes = m_local * m_model.numExperts * 4; // logits in single precision
    add(router);
    elementwise("moe.permute", 2 * routedBytes, 2 * routedBytes, 0, false, true);
    classify(KernelFamily::permute, routedTokens, m_hidden);
    if (m_sharding.ep > 1)
        collective(OperatorKind::dispatchTokens, "moe.dispatch", routedBytes);
    const Checked etp = m_sharding.etp;
    if (etp > 1)
        collective(OperatorKind::enterExpertTensor, "moe.gather", routedBytes * etp);

    const Checked localExperts = std::max<std::int64_t>(1, m_model.numExperts / m_sharding.ep);
    const Checked tokens = routedTokens * etp;
    const Checked perExpert = std::max<std::int64_t>(1, ceilDivide(tokens, localExperts));
    const Checked width = ceilDivide(m_model.moeIntermediateSize, etp);
    const Checked projections = m_model.gatedMlp ? 2 : 1;
    const bool bias = m_model.bias || m_model.expertBias;
    const auto grouped = [&](std::string_view name, Checked n, Checked k) {
        Operator op = gemmOperator(name, perExpert, n, k, bias);
        op.family = KernelFamily::groupedGemm;
        op.batch = localExperts;
        op.routed = true;
        op.flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(n) * static_cast<double>(k);
        op.savedInputBytes = tokens * k * m_bytes;
        op.savedGradientBytes = tokens * n * m_bytes;
        op.parameters = localExperts * (n * k + (bias ? n : Checked(0)));
        return op;
    };
    add(grouped("moe.up", projections * width, m_hidden));
    const Checked tensor = tokens * width * m_bytes;
    elementwise("moe.act", (projections + 1) * tensor, (2 * projections + 1) * tensor, projections * tensor, false, true);
    classify(KernelFamily::activation, tokens, width);
    add(grouped("moe.down", m_hidden, width));
    if (etp > 1)
        collective(OperatorKind::leaveExpertTensor, "moe.reduce", routedBytes * etp);
    if (m_sharding.ep > 1)
        collective(OperatorKind::combineTokens, "moe.combine", routedBytes);
    elementwise("moe.unpermute", 2 * routedBytes, 3 * routedBytes, routedBytes, false, true);
    classify(KernelFamily::unpermute, m_local, topK * m_hidden);
}

} // namespace

std::int64_t OperatorList::parameters() const
{
    return std::accumulate(operators.begin(), operators.end(), Checked(),
                           [](Checked sum, const Operator& op) { return sum + op.parameters; });
}

std::int64_t OperatorList::routedParameters() const
{
    return std::accumulate(operators.begin(), operators.end(), Checked(),
                           [](Checked sum, const Operator& op) { return sum + (op.routed ? op.parameters : 0); });
}

std::int64_t OperatorList::savedBytes() const
{
    return std::accumulate(operators.begin(), operators.end(), Checked(),
                           [](Checked sum, const Operator& op) { return sum + op.savedBytes + op.savedInputBytes; });
}

int elementBytes(Precision precision)
{
    return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

bool usesDropout(const Model& model)
{
    return model.bias;
}

Sharding Sharding::of(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    const Training& training = scenario.training;
    return {.tp = layout.tp,
            .cp = layout.cp,
            .ep = layout.ep,
            .etp = layout.etp,
            .sequenceParallel = layout.sequenceParallel && layout.tp > 1,
            .sequenceLength = training.sequenceLength,
            .microBatchSize = training.microBatchSize,
            .slices = scenario.schedule.sequenceSlices,
            .causal = training.causal,
            .flashAttention = training.flashAttention,
            .bytesPerElement = elementBytes(training.precision)};
}

namespace {

OperatorList madeLayer(const Model& model, const Sharding& sharding, LayerKind kind)
{
    Builder builder(model, sharding);
    builder.attention();
    if (kind == LayerKind::dense) {
        builder.norm("mlp.norm", builder.m_local, builder.m_hidden);
        builder.enterTensorParallel("mlp.gather");
        builder.denseMlp("mlp.up", "mlp.act", "mlp.down", model.intermediateSize);
        builder.leaveTensorParallel("mlp.reduce");
        builder.residual("mlp.residual");
        return builder.take();
    }
    builder.norm("moe.norm", builder.m_local, builder.m_hidden);
    builder.experts();
    if (model.numSharedExperts > 0) {
        builder.enterTensorParallel("shared.gather");
        builder.denseMlp("shared.up", "shared.act", "shared.down",
                         std::int64_t{model.numSharedExperts} * model.moeIntermediateSize);
        builder.leaveTensorParallel("shared.reduce");
    }
    builder.residual("moe.residual");
    return builder.take();
}

OperatorList madeEmbedding(const Model& model, const Sharding& sharding)
{
    Builder builder(model, sharding);
    builder.m_list.inputBytes = builder.m_tokens * 8; // token ids
    const Checked tensor = builder.m_tokens * builder.m_hidden * builder.m_bytes;
    Operator lookup{.kind = OperatorKind::elementwise, .family = KernelFamily::embedding, .name = "embed"};
    lookup.m = builder.m_tokens;
    lookup.n = builder.m_hidden;
    lookup.forwardBytes = 2 * tensor;
    lookup.backwardBytes = 2 * tensor;
    lookup.savedBytes = builder.m_tokens * 8 + (usesDropout(model) ? builder.m_local * builder.m_hidden : Checked(0));
    lookup.parameters = ceilDivide(model.vocabSize, sharding.tp) * builder.m_hidden;
    if (model.positionEmbedding == PositionEmbedding::learned)
        lookup.parameters += std::int64_t{model.maxPositionEmbeddings} * builder.m_hidden;
    builder.add(lookup);
    builder.leaveTensorParallel("embed.reduce");
    return builder.take();
}

OperatorList madeHead(const Model& model, const Sharding& sharding, bool ownsEmbedding)
{
    Builder builder(model, sharding);
    builder.norm("head.norm", builder.m_local, builder.m_hidden);
    builder.enterTensorParallel("head.gather");
    const Checked vocabulary = ceilDivide(model.vocabSize, sharding.tp);
    Operator projection = builder.gemmOperator("head.logits", builder.m_tokens, vocabulary, builder.m_hidden, false);
    projection.savedInputBytes = columnInputBytes(builder);
    if (ownsEmbedding)
        projection.parameters = 0;
    builder.add(projection);
    // Logits and their softmax in single precision; the gradient overwrites them (Korthikanti et al. 2022, section 4.3: 4sbV/t).
    const Checked logits = builder.m_tokens * vocabulary;
    builder.elementwise("loss", logits * (builder.m_bytes + 3 * 4), logits * (4 + builder.m_bytes), logits * 4);
    builder.classify(KernelFamily::loss, builder.m_tokens, vocabulary);
    if (sharding.tp > 1)
        builder.collective(OperatorKind::syncLoss, "loss.sync", builder.m_tokens * 12);
    return builder.take();
}

} // namespace

OperatorList layerOperators(const Model& model, const Sharding& sharding, LayerKind kind)
{
    return countedAs("work of a layer", [&] { return madeLayer(model, sharding, kind); });
}

OperatorList embeddingOperators(const Model& model, const Sharding& sharding)
{
    return countedAs("work of the embedding", [&] { return madeEmbedding(model, sharding); });
}

OperatorList headOperators(const Model& model, const Sharding& sharding, bool ownsEmbedding)
{
    return countedAs("work of the output head", [&] { return madeHead(model, sharding, ownsEmbedding); });
}

} // namespace sim
