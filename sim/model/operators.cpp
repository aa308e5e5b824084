#include "sim/model/operators.h"

#include "sim/checked.h"
#include "sim/index.h"
#include "sim/model/operator_builder.h"
#include "sim/scenario/head_exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sim {

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

std::int64_t OperatorList::narrowWeights() const
{
    std::int64_t sum = 0;
    for (const Operator& op : operators)
        if (op.lowPrecision)
            sum = checkedAdd(sum, checkedMultiply(checkedMultiply(op.k, op.n), op.batch));
    return sum;
}

std::int64_t OperatorList::frozenParameters(bool routed) const
{
    return std::accumulate(operators.begin(), operators.end(), Checked(), [routed](Checked sum, const Operator& op) {
        return sum + (op.frozen && op.routed == routed ? op.parameters : 0);
    });
}

std::int64_t OperatorList::savedBytes() const
{
    return std::accumulate(operators.begin(), operators.end(), Checked(),
                           [](Checked sum, const Operator& op) { return sum + op.savedBytes + op.savedInputBytes; });
}

int narrowingOf(Precision precision)
{
    return precision == Precision::nvfp4 ? 4 : isNarrow(precision) ? 2 : 1;
}

std::optional<StackPart> stackPartOf(KernelFamily family)
{
    using Part = std::optional<StackPart>;
    static constexpr std::array<Part, kKernelFamilyCount> kParts = {{
        {},                 // other
        StackPart::product, // gemm
        StackPart::product, // groupedGemm
        StackPart::attention,
        StackPart::norm,
        StackPart::activation,
        StackPart::residual,
        {}, // ringMerge
        StackPart::rope,
        StackPart::embedding,
        StackPart::loss,
        StackPart::permute,
        StackPart::permute, // unpermute
        {},                 // optimizer
        StackPart::product, // scores
        StackPart::softmax,
    }};
    return kParts[asIndex(family)];
}

namespace {

/// What stacks say of 16 bits, in single precision: a copy in it takes no more than what it would be a copy of, which it then is.
/// A norm keeps 1, and copies of twice the bytes that now have as many; the loss keeps blocks of 4 bytes a logit, beside which
/// logits in 16 bits count half, and which is one at least.
void keepWide(Sharding& sharding)
{
    double &norm = sharding.saved[asIndex(StackPart::norm)], &loss = sharding.saved[asIndex(StackPart::loss)];
    if (norm > 1)
        norm = 1 + (norm - 1) / 2;
    if (loss > 0)
        loss = std::max(1.0, std::floor(loss));
}

} // namespace

Sharding Sharding::of(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    const Training& training = scenario.training;
    const Model& model = scenario.model;
    Sharding sharding{.tp = layout.tp,
                      .cp = layout.cp,
                      .ep = layout.ep,
                      .etp = layout.etp,
                      .sequenceParallel = layout.sequenceParallel && layout.tp > 1,
                      .sequenceLength = training.sequenceLength,
                      .microBatchSize = training.microBatchSize,
                      .slices = scenario.schedule.sequenceSlices,
                      .causal = training.causal,
                      .flashAttention = training.flashAttention,
                      .padsVocabulary = training.stack.padsVocabulary,
                      .ringMergeBytes = training.stack.ringMergeBytes,
                      .ringGradientBytes = training.stack.ringGradientBytes,
                      .repeatsKeys = training.stack.repeatsKeys,
                      .plainTensorParallel = training.stack.plainTensorParallel,
                      .gathersApart = training.stack.gathersApart && training.stack.plainTensorParallel,
                      .wholeEmbedding = wholeEnds(scenario).embedding,
                      .wholeHead = wholeEnds(scenario).head,
                      .gathersLogits = training.stack.gathersLogits,
                      .gathersHeads = training.stack.gathersHeads,
                      .exchangesHeads = dealsHeads(scenario),
                      .fusesExperts = training.stack.fusesExperts,
                      .keepsUnread = training.stack.keepsUnread,
                      .lossChunkTokens = training.lossChunkTokens,
                      .widensBase = model.lora.isOn() && (model.lora.base == LoraBase::nf4 ||
                                                          (model.lora.base == LoraBase::fp8 && !isNarrow(training.precision))),
                      .rerunsOperators = training.recomputeModules.has(RecomputeModule::operators),
                      .bytesPerElement = elementBytes(training.precision),
                      .sharesAttentionOutput = training.stack.sharesAttentionOutput,
                      .moe = training.moe};
    if (training.stack.narrowSaved && isNarrow(training.precision))
        sharding.keptNarrower = narrowingOf(training.precision);
    for (std::size_t part = 0; part < sharding.saved.size(); ++part)
        sharding.saved[part] = training.stack.parts[part].saved;
    if (layout.tp > 1 && !training.stack.gathersLogits && !sharding.wholeHead && training.stack.shardedLossSaved > 0)
        sharding.saved[asIndex(StackPart::loss)] = training.stack.shardedLossSaved;
    if (sharding.bytesPerElement >= 4)
        keepWide(sharding);
    return sharding;
}

namespace {

/// `moe`: what follows attention.
void layer(OperatorBuilder& builder, const Model& model, bool moe)
{
    builder.attention();
    builder.m_list.secondHalf = builder.m_list.operators.size();
    if (moe) {
        builder.norm("moe.norm", builder.m_local);
        builder.experts();
    } else {
        builder.norm("mlp.norm", builder.m_local);
        builder.enterTensorParallel("mlp.gather", builder.m_hidden);
        if (model.gatedMlp)
            builder.reduceApart(2);
        builder.mlp("mlp.up", "mlp.act", "mlp.down", builder.m_tokens, ProductInput::ofBlock);
        builder.leaveTensorParallel("mlp.reduce");
        if (model.lora.has(LoraTarget::down))
            builder.addAdapted(kDownAdapter.add, builder.m_local * builder.m_hidden,
                               builder.m_tokens * builder.used("mlp.down").inputs);
    }
    if (moe && model.numSharedExperts > 0) {
        builder.enterTensorParallel("shared.gather", builder.m_hidden);
        if (model.gatedMlp)
            builder.reduceApart(2);
        builder.mlp("shared.up", "shared.act", "shared.down", builder.m_tokens, ProductInput::kept); // the router's
        builder.leaveTensorParallel("shared.reduce");
    }
    builder.residual(moe ? "moe.residual" : "mlp.residual");
}

/// The next token's embedding and the hidden state, each normed, side by side through a projection, and a layer. Megatron Core
/// cuts the projection by columns and gathers its result (multi_token_prediction.py).
OperatorList prediction(OperatorBuilder builder, const Model& model, bool ownsEmbedding)
{
    const Checked tensor = builder.m_tokens * builder.m_hidden * builder.m_bytes, state = builder.activation();
    builder.m_list.inputBytes = builder.m_tokens * 8; // the head before it keeps the hidden state
    const bool asked = std::exchange(builder.m_asked, builder.m_asked && !builder.isFrozen());
    builder.elementwise("mtp.embed", 2 * tensor, 2 * tensor, builder.m_tokens * 8);
    builder.classify(KernelFamily::embedding, builder.m_tokens, builder.m_hidden);
    if (ownsEmbedding)
        builder.m_list.operators.back().parameters = 0;
    builder.leaveEmbedding("mtp.embed.reduce");
    builder.norm("mtp.embedding_norm", builder.m_local);
    builder.m_asked = asked;
    builder.norm("mtp.hidden_norm", builder.m_local);
    builder.m_list.operators.back().savedBytes = 0; // the head before it keeps what it reads
    builder.elementwise("mtp.concat", 4 * state, 4 * state, 0);
    if (builder.m_sharding.tp > 1)
        builder.collective(OperatorKind::enterTensorParallel, "mtp.gather", 2 * tensor);
    builder.product("mtp.projection", builder.m_tokens).savedInputBytes = 2 * state / builder.m_sharding.keptNarrower;
    if (builder.m_sharding.tp > 1)
        builder.collective(OperatorKind::gatherOutput, "mtp.output", tensor);
    layer(builder, model, builder.m_kind.moe);
    return builder.take();
}

OperatorList embedding(OperatorBuilder builder, const Model& model)
{
    builder.m_asked = !builder.isFrozen();
    builder.m_list.inputBytes = builder.m_tokens * 8; // token ids
    const Checked tensor = builder.m_tokens * builder.m_hidden * builder.m_bytes;
    const Checked mask = model.hiddenDropout > 0 ? builder.m_local * builder.m_hidden : Checked(0);
    builder.elementwise("embed", 2 * tensor, 2 * tensor, builder.m_tokens * 8 + mask);
    builder.classify(KernelFamily::embedding, builder.m_tokens, builder.m_hidden);
    builder.leaveEmbedding("embed.reduce");
    return builder.take();
}

/// Of the head's product and the loss, which take a chunk of tokens at a time: the logits of a chunk become their gradients, and
/// those the gradients of what the head reads and, in full, of its weights, which wait for the backward pass in place of inputs
/// and logits (Liger Kernel, fused_linear_cross_entropy.py; Hsu et al. 2024). The products of gradients are counted where they
/// are elsewhere, in the backward pass.
/// `from` is the first of the operators of a chunk, collectives among them.
void inChunks(OperatorBuilder& builder, std::size_t from, std::size_t lossIndex)
{
    const int chunk = builder.m_sharding.lossChunkTokens;
    const Checked pieces = ceilDivide(builder.m_tokens, chunk);
    for (std::size_t i = from; i < builder.m_list.operators.size(); ++i)
        builder.m_list.operators[i].pieces = static_cast<int>(std::int64_t{pieces});
    Operator &projection = builder.m_list.operators[from], &loss = builder.m_list.operators[lossIndex];
    const Checked weightGradient = builder.isFrozen() ? Checked(0) : Checked(projection.k) * projection.n * builder.m_bytes;
    projection.savedBytes = builder.activation() + weightGradient;
    projection.savedInputBytes = projection.moduleInputBytes = projection.savedGradientBytes = 0;
    loss.passingBytes = ceilDivide(std::exchange(loss.savedBytes, 0), pieces);
    // Of each chunk the weights' gradient is a product of its own, and in 16 bits a copy in single precision, before it is added.
    constexpr int kWide = 4;
    projection.passingBytes = weightGradient;
    if (builder.m_bytes < kWide)
        projection.passingBytes = weightGradient + weightGradient / builder.m_bytes * kWide;
}

OperatorList head(OperatorBuilder builder, bool ownsEmbedding)
{
    const bool tensorParallel = builder.m_sharding.tp > 1 && !builder.m_sharding.wholeHead;
    builder.norm("head.norm", builder.m_local);
    if (builder.m_sharding.wholeHead)
        builder.enterWhole("head.gather");
    else
        builder.enterTensorParallel("head.gather", builder.m_hidden);
    Operator& projection = builder.product("head.logits", builder.m_tokens, ProductInput::ofBlock);
    const std::size_t projectionIndex = builder.m_list.operators.size() - 1;
    const Checked vocabulary = projection.n;
    // Most frameworks pad what a rank has of the vocabulary: tensor cores read rows of an odd one slowly.
    constexpr std::int64_t kPadding = 64;
    projection.n = builder.m_sharding.padsVocabulary
                       ? ceilDivide(projection.n, kPadding) * kPadding
                       : std::max(1, builder.m_model.vocabSize / (tensorParallel ? builder.m_sharding.tp : 1));
    if (ownsEmbedding)
        projection.parameters = 0;
    // Logits and their softmax in single precision; the gradient overwrites them (Korthikanti et al. 2022, section 4.3: 4sbV/t).
    const bool gathers = tensorParallel && builder.m_sharding.gathersLogits;
    const Checked columns = gathers ? vocabulary * builder.m_sharding.tp : vocabulary;
    const Checked logits = builder.m_tokens * columns;
    if (gathers)
        builder.collective(OperatorKind::gatherLogits, "head.output", logits * builder.m_bytes);
    builder.elementwise("loss", logits * (builder.m_bytes + 3 * 4), logits * (4 + builder.m_bytes), logits * 4);
    builder.classify(KernelFamily::loss, builder.m_tokens, columns);
    const std::size_t lossIndex = builder.m_list.operators.size() - 1;
    if (tensorParallel && !gathers)
        builder.collective(OperatorKind::syncLoss, "loss.sync", builder.m_tokens * 12);
    if (builder.m_sharding.lossChunkTokens > 0)
        inChunks(builder, projectionIndex, lossIndex);
    return builder.take();
}

} // namespace

OperatorList operatorsOf(const Model& model, const Sharding& sharding, ModelPart part, bool ownsEmbedding)
{
    switch (part) {
    case ModelPart::embedding:
        return countedAs("work of the embedding", [&] { return embedding(OperatorBuilder(model, sharding, part), model); });
    case ModelPart::dense:
    case ModelPart::moe:
        return operatorsOf(model, sharding, LayerKind{.moe = part == ModelPart::moe});
    case ModelPart::prediction:
        return countedAs("work of multi-token prediction", [&] {
            return prediction(OperatorBuilder(model, sharding, part, model.predictionKind()), model, ownsEmbedding);
        });
    case ModelPart::head:
        break;
    }
    return countedAs("work of the output head", [&] { return head(OperatorBuilder(model, sharding, part), ownsEmbedding); });
}

OperatorList operatorsOf(const Model& model, const Sharding& sharding, LayerKind kind)
{
    const ModelPart part = kind.moe ? ModelPart::moe : ModelPart::dense;
    return countedAs("work of a layer", [&] {
        OperatorBuilder builder(model, sharding, part, kind);
        layer(builder, model, kind.moe);
        return builder.take();
    });
}

} // namespace sim
