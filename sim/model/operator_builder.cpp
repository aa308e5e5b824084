#include "sim/model/operator_builder.h"

#include "sim/model/attention_pairs.h"
#include "sim/model/operator_policy.h"
#include "sim/model/token_copies.h"
#include "sim/scenario/head_exchange.h"

namespace sim {

/// What has no backward pass keeps nothing for it, and modules of such operators are not run again.
OperatorList OperatorBuilder::take()
{
    std::vector<Operator>& operators = m_list.operators;
    if (m_isLayer && m_sharding.rerunsOperators)
        assignOperatorPolicy(m_list, m_sharding, m_tensors, activation());
    const auto isIdle = [](const Operator& op) { return !op.needsInputGradient; };
    for (const RecomputeModule module : kRecomputeModules)
        if (std::all_of(operators.begin(), operators.end(),
                        [&](const Operator& op) { return isIdle(op) || !op.modules.has(module); }))
            for (Operator& op : operators) {
                op.modules.remove(module);
                op.keepsInputOf.remove(module);
            }
    for (Operator& op : operators)
        if (isIdle(op)) {
            op.savedBytes = op.savedHeadBytes = op.rerunBytes = 0;
            op.inputFrom.reset();
        }
    m_list.endsBackward = !m_asked;
    if (m_list.endsBackward)
        m_list.inputBytes = 0;
    return std::move(m_list);
}

/// Down projections and norms of latent vectors are whole on every rank. Megatron-Core has them work on what the rank holds, and
/// gathers latents, the keys' rotated part by itself (MLASelfAttention.get_query_key_value_tensors); torchtitan gathers what
/// attention reads, and all ranks do the same work (its plan for DeepSeek-V3: NoParallel).
void OperatorBuilder::latentQueryKeyValue()
{
    const bool gathersLatents = !m_sharding.plainTensorParallel;
    const Checked down = gathersLatents ? m_local : m_tokens;
    const ProductInput up = gathersLatents ? ProductInput::ofBlock : ProductInput::own;
    const auto enter = [&](std::string_view name, Checked width) {
        if (gathersLatents)
            enterTensorParallel(name, width);
    };
    if (m_model.qLoraRank > 0) {
        product("attn.q_down", down, ProductInput::ofBlock);
        norm("attn.q_norm", down);
        enter("attn.q_gather", m_model.qLoraRank);
        product("attn.q_up", m_tokens, up);
    } else {
        enter("attn.gather", m_hidden);
        product("attn.q", m_tokens, ProductInput::ofBlock);
    }
    product("attn.kv_down", down, ProductInput::kept); // the query's
    norm("attn.kv_norm", down);
    if (m_model.qkRopeHeadDim > 0)
        enter("attn.k_rope_gather", m_model.qkRopeHeadDim);
    enter("attn.kv_gather", m_model.kvLoraRank);
    product("attn.kv_up", m_tokens, up);
}

void OperatorBuilder::queryKeyValue(Checked heads, Checked keyValueHeads)
{
    if (m_model.isLatentAttention()) {
        latentQueryKeyValue();
        return;
    }
    product("attn.qkv", m_tokens, ProductInput::ofBlock);
    adaptColumns(kQkvAdapter, ProductInput::ofBlock);
    if (m_sharding.gathersHeads && m_sharding.tp > m_model.numKeyValueHeads) {
        const Checked all = m_model.numAttentionHeads + 2 * m_model.numKeyValueHeads;
        collective(OperatorKind::gatherHeads, "attn.qkv.gather", m_tokens * all * m_model.headDim * m_bytes);
    }
    if (m_model.qkNorm || m_model.attentionSinks) {
        const std::string_view name = m_model.qkNorm ? "attn.qk_norm" : "attn.sinks";
        const Checked tensor = m_model.qkNorm ? m_tokens * (heads + keyValueHeads) * m_model.headDim * m_bytes : m_tokens * heads;
        elementwise(name, 2 * tensor, 4 * tensor, m_model.qkNorm ? tensor : Checked(0));
        if (m_model.qkNorm)
            classify(KernelFamily::norm, m_tokens * (heads + keyValueHeads), m_model.headDim);
    }
}

/// Scores, softmax and weighted values of this rank's heads over the whole sequence; with context parallelism in cp blocks, each
/// computed while the next one's keys and values travel (Ring Attention; causal work balanced by zig-zag order). Windows and
/// chunks do not go with a ring (Transformer Engine refuses them, attention/dot_product_attention/context_parallel.py): their
/// keys and values are gathered first, those that nobody looks at too.
void OperatorBuilder::attentionCore(Checked heads, Checked qkDim, Checked vDim, Checked keyValueBytes)
{
    const Checked b = m_sharding.microBatchSize;
    // Exchanged for heads, blocks are whole sequences.
    const bool exchanges = m_sharding.exchangesHeads;
    const int blocks = exchanges ? 1 : m_sharding.cp;
    const Checked ownHeads = heads, ownKeyValueBytes = keyValueBytes;
    if (exchanges) {
        heads = heads / m_sharding.cp;
        const Checked oneHead = m_tokens * (qkDim + vDim) * m_bytes;
        keyValueBytes = oneHead * exchangedKeyHeads(ownHeads, keyValueBytes / oneHead, m_sharding.cp);
    }
    const Checked queries = m_sharding.sequenceLength / m_sharding.slices / blocks;
    // Blocks of keys that a query sees on average: of the whole sequence's own block half, and all of earlier slices'.
    const std::int64_t slice = m_sharding.sequenceLength / m_sharding.slices, first = m_sharding.slice * slice;
    const double seenBlocks = attentionPairs(m_model, m_kind.type, first, first + slice, m_sharding.causal) /
                              (static_cast<double>(slice) * static_cast<double>(slice));
    const double blockPairs = static_cast<double>(b * heads) * static_cast<double>(queries) * static_cast<double>(queries);

    const Checked tokens = exchanges ? m_tokens * m_sharding.cp : m_tokens;
    const Checked queryBytes = tokens * heads * qkDim * m_bytes;
    if (exchanges)
        collective(OperatorKind::exchangeHeads, "attn.exchange", queryBytes + keyValueBytes);
    const bool gathers = blocks > 1 && (!m_sharding.flashAttention || m_kind.type != LayerType::full);
    if (gathers)
        collective(OperatorKind::gatherKeys, "attn.keys", keyValueBytes * m_sharding.cp);
    // Of causal attention a rank has two parts, one from either end; they read what their windows reach.
    std::int64_t readKeys = 0;
    const int parts = gathers ? 2 * m_sharding.cp : 1;
    for (std::int64_t part = 0; part < parts; ++part)
        readKeys += keysSeen(m_model, m_kind.type, m_sharding.sequenceLength, first + slice * part / parts,
                             first + slice * (part + 1) / parts, m_sharding.causal);
    const Checked readKeyValueBytes = checkedScale(keyValueBytes, static_cast<double>(readKeys) / static_cast<double>(slice));
    if (m_sharding.flashAttention) {
        const int together = gathers ? m_sharding.cp : 1; // blocks
        for (int block = 0; block < blocks / together; ++block) {
            if (block > 0)
                collective(OperatorKind::ringExchange, "attn.ring", keyValueBytes);
            Operator op{.kind = OperatorKind::attention, .family = KernelFamily::attention, .name = "attn.core"};
            op.m = queries;
            op.n = static_cast<std::int64_t>(2 * seenBlocks * static_cast<double>(queries) * together);
            op.k = qkDim;
            op.batch = b * heads;
            op.flops = 2.0 * blockPairs * static_cast<double>(qkDim + vDim) * seenBlocks * together;
            // Scores again, and gradients of queries and of keys: three products over a head of queries; gradients of scores and
            // of values: two over one of values (cudnn-frontend, benchmark_single_sdpa.py, flops). 2.5 times the forward pass
            // where both are as long.
            op.backwardFlopsFactor = static_cast<double>(3 * qkDim + 2 * vDim) / static_cast<double>(qkDim + vDim);
            op.forwardBytes = queryBytes + readKeyValueBytes + tokens * heads * vDim * m_bytes;
            op.backwardBytes = 2 * op.forwardBytes;
            op.windowed = m_kind.type == LayerType::sliding;
            op.overlapsRing = block > 0;
            if (block == 0) // queries, keys, values, and the log-sum-exp in single precision
                op.savedBytes = queryBytes + keyValueBytes + tokens * heads * 4;
            if (block == 0)
                op.savedHeadBytes = queryBytes + keyValueBytes;
            if (exchanges) // and its output, as the projection has what is exchanged back
                op.savedBytes = Checked(op.savedBytes) + tokens * heads * vDim * m_bytes;
            if (exchanges)
                keepsExchanged(op, m_tokens * ownHeads * qkDim * m_bytes + ownKeyValueBytes);
            add(op);
        }
        if (exchanges)
            collective(OperatorKind::exchangeHeads, "attn.exchange_back", tokens * heads * vDim * m_bytes);
        if (const std::int64_t joined = blocks / together - 1; joined > 0) {
            const Checked outputs = m_tokens * heads * vDim * joined, gradients = (queryBytes + keyValueBytes) / m_bytes * joined;
            elementwise("attn.merge", checkedScale(outputs, m_sharding.ringMergeBytes),
                        checkedScale(gradients, m_sharding.ringGradientBytes), 0);
            classify(KernelFamily::ringMerge, m_tokens * joined, heads * vDim);
        }
        return;
    }
    // Unfused: the score matrix is written and kept (the 5as/h term of Korthikanti et al.); masks skip no work.
    const Checked keys = queries * (m_sharding.slices > 1 ? m_sharding.slice + 1 : blocks);
    const Checked scores = b * heads * queries * keys;
    const bool dropout = m_model.attentionDropout > 0;
    Operator qk{.kind = OperatorKind::gemm,
                .family = KernelFamily::scores,
                .name = "attn.scores",
                .m = queries,
                .n = keys,
                .k = qkDim,
                .batch = b * heads};
    qk.weightless = true;
    qk.flops = 2.0 * static_cast<double>(scores) * static_cast<double>(qkDim);
    qk.savedBytes = queryBytes + keyValueBytes / 2 * blocks;
    qk.savedHeadBytes = queryBytes + keyValueBytes / 2;
    if (exchanges)
        keepsExchanged(qk, m_tokens * ownHeads * qkDim * m_bytes + ownKeyValueBytes / 2);
    add(qk);
    elementwise("attn.softmax", scores * (2 * m_bytes), scores * (3 * m_bytes), scores * m_bytes);
    classify(KernelFamily::softmax, b * heads * queries, keys);
    if (dropout) {
        elementwise("attn.dropout", scores * (2 * m_bytes + 1), scores * (2 * m_bytes + 1), scores * (m_bytes + 1));
        classify(KernelFamily::softmax, b * heads * queries, keys);
    }
    Operator av{.kind = OperatorKind::gemm,
                .family = KernelFamily::scores,
                .name = "attn.context",
                .m = queries,
                .n = vDim,
                .k = keys,
                .batch = b * heads};
    av.weightless = true;
    av.flops = 2.0 * static_cast<double>(scores) * static_cast<double>(vDim);
    av.savedBytes = keyValueBytes / 2 * blocks;
    av.savedHeadBytes = keyValueBytes / 2;
    if (exchanges)
        keepsExchanged(av, ownKeyValueBytes / 2);
    add(av);
    if (exchanges)
        collective(OperatorKind::exchangeHeads, "attn.exchange_back", tokens * heads * vDim * m_bytes);
}

void OperatorBuilder::attention()
{
    const bool latent = m_model.isLatentAttention();
    const Checked heads = ceilDivide(m_model.numAttentionHeads, m_sharding.tp);
    Checked keyValueHeads = latent ? heads : Checked(ceilDivide(m_model.numKeyValueHeads, m_sharding.tp));
    const Checked qkDim = HeadSize::of(m_model).queryKey, vDim = HeadSize::of(m_model).value;

    norm("attn.norm", m_local);
    if (!latent || m_sharding.plainTensorParallel)
        enterTensorParallel("attn.gather", m_hidden);
    if (!latent && m_sharding.gathersApart)
        reduceApart(static_cast<int>(tensorsUsedBy("attn.qkv")));
    queryKeyValue(heads, keyValueHeads);
    if (latent || (m_model.positionEmbedding == PositionEmbedding::rope && m_kind.rope)) {
        const Checked rotated = latent ? heads * m_model.qkRopeHeadDim : (heads + keyValueHeads) * qkDim;
        elementwise("attn.rope", 2 * m_tokens * rotated * m_bytes, 2 * m_tokens * rotated * m_bytes, 0);
        classify(KernelFamily::rope, m_tokens, rotated);
    }
    if (m_sharding.repeatsKeys && keyValueHeads < heads) {
        const Checked each = m_tokens * (qkDim + vDim) * m_bytes;
        elementwise("attn.repeat_kv", (keyValueHeads + heads) * each, (keyValueHeads + heads) * each, 0);
        classify(KernelFamily::rope, m_tokens, heads * (qkDim + vDim));
        keyValueHeads = heads;
    }
    attentionCore(heads, qkDim, vDim, m_tokens * keyValueHeads * (qkDim + vDim) * m_bytes);
    const bool adapted = adaptRows(kOutAdapter);
    // A fused kernel's backward pass reads its output; an adapter keeps it, or a product that is trained, unless those keep
    // a copy that is narrow, or has elements dropped. Of heads that are exchanged back it has kept its own.
    const bool copiesNarrow = m_sharding.keptNarrower > 1 && !m_sharding.sharesAttentionOutput;
    if ((isFrozen() || copiesNarrow) && (!adapted || dropsAdapterInputs()) && m_sharding.flashAttention &&
        !m_sharding.exchangesHeads)
        keepAttentionOutput(m_tokens * heads * vDim * m_bytes);
    product("attn.out", m_tokens, m_sharding.sharesAttentionOutput ? ProductInput::ofCore : ProductInput::own);
    leaveTensorParallel("attn.reduce");
    if (adapted)
        addAdapted(kOutAdapter.add, m_local * m_hidden, m_tokens * heads * vDim);
    residual("attn.residual");
}

/// Up, what lies between, and down.
void OperatorBuilder::mlp(std::string_view up, std::string_view between, std::string_view down, Checked tokens,
                          ProductInput input)
{
    const bool routed = product(up, tokens, input).routed, isDense = up == "mlp.up";
    if (isDense)
        adaptColumns(kUpAdapter, input);
    const Checked projections = m_model.gatedMlp ? 2 : 1, width = used(down).inputs;
    const Checked tensor = tokens * width * m_bytes;
    Checked forward = (projections + 1) * tensor, backward = (2 * projections + 1) * tensor;
    if (routed && m_sharding.fusesExperts) { // what comes of the first product is read for the gradient alone
        forward = 0;
        backward = projections * tensor;
    } else if (routed &&
               m_model.hasExpertBias()) { // clamped and put together by kernels of their own, in weighted_bias_quick_geglu_impl
        forward += 4 * projections * tensor;
        backward += 5 * projections * tensor;
    }
    elementwise(between, forward, backward, projections * tensor, routed);
    classify(KernelFamily::activation, tokens, width);
    if (isDense)
        adaptRows(kDownAdapter);
    product(down, tokens);
}

/// What putting tokens in the order of experts moves, forward: each is read, and written once for each of its experts. A plain
/// all-to-all leaves them ordered by the ranks that they came from, and they are put in order once more (Megatron-Core,
/// MoEAlltoAllTokenDispatcher, sort_chunks_by_idxs), and once more to bring each expert's to a multiple that products in 8 bits
/// take (Transformer Engine, Fp8Padding). Where a rank takes one copy of a token, copies are made behind the
/// dispatch alone (DeepEP and HybridEP, MoEFlexTokenDispatcher).
std::int64_t OperatorBuilder::permutedBytes(Checked routedBytes) const
{
    const int chosen = std::max(1, m_model.numExpertsPerTok);
    if (m_sharding.ep > 1 && m_sharding.moe.sendOncePerNode)
        return routedBytes +
               checkedScale(routedBytes, sharedCopies(reachablePlaces(m_sharding.ep, m_model.expertGroups, m_model.chosenGroups),
                                                      chosen, static_cast<double>(m_model.numExperts) / m_sharding.ep));
    const bool isSorted = m_sharding.ep > 1 && m_model.numExperts > m_sharding.ep;
    const bool isPadded = m_sharding.keptNarrower > 1;
    return routedBytes + routedBytes / chosen + (isSorted ? 2 * routedBytes : Checked(0)) +
           (isPadded ? 2 * routedBytes : Checked(0));
}

/// Router, dispatch, grouped GEMMs, combine. Each rank dispatches its own part of the tokens: under sequence parallelism what it
/// holds; without, of what all of a tensor-parallel group hold (as DeepSpeed's MOELayer drops tokens), and sums of the experts'
/// outputs are gathered behind. DeepSpeed itself gathers the outputs before it adds them up.
void OperatorBuilder::experts()
{
    const Checked own = m_sharding.routedTokens();
    const bool dropsTokens = m_sharding.tp > 1 && !m_sharding.sequenceParallel;
    // Every rank is taken as the busiest: the others wait for it. What is told of a mean one goes by workOverMean().
    const Checked routedTokens = checkedScale(own * m_model.numExpertsPerTok, m_sharding.moe.imbalanceOver(m_sharding.ep));
    const Checked routedElements = routedTokens * m_hidden, routedBytes = routedElements * m_bytes;
    const Checked etp = m_sharding.etp;

    product("moe.router", m_local).savedGradientBytes = m_local * m_model.numExperts * 4; // logits in single precision
    if (dropsTokens)
        collective(OperatorKind::dropTokens, "moe.drop", activation());
    const std::int64_t moved = permutedBytes(routedBytes);
    elementwise("moe.permute", moved, moved, 0, true);
    classify(KernelFamily::permute, routedTokens, m_hidden);
    if (m_sharding.ep > 1)
        collective(OperatorKind::dispatchTokens, "moe.dispatch", routedElements * m_sharding.moe.dispatchBytes);
    if (etp > 1)
        collective(OperatorKind::enterExpertTensor, "moe.gather", routedBytes * etp);
    mlp("moe.up", "moe.act", "moe.down", routedTokens * etp, ProductInput::own);
    if (m_model.hasExpertBias() && !m_sharding.fusesExperts) {
        // Each expert's bias times the weight of a token, in single precision and piece by piece (Megatron-Core,
        // TEGroupedMLP._apply_bias): product, sum, concatenation and cast move 28 bytes forward; the gradients of all three 36.
        const Checked elements = routedElements * etp;
        elementwise("moe.bias", 28 * elements, 36 * elements, 0, true);
        classify(KernelFamily::activation, routedTokens * etp, m_hidden);
    }
    if (etp > 1)
        collective(OperatorKind::leaveExpertTensor, "moe.reduce", routedBytes * etp);
    if (m_sharding.ep > 1)
        collective(OperatorKind::combineTokens, "moe.combine", routedElements * m_sharding.moe.combineBytes);
    elementwise("moe.unpermute", moved, moved + routedBytes, routedBytes, true);
    classify(KernelFamily::unpermute, own, m_model.numExpertsPerTok * m_hidden);
    if (dropsTokens)
        collective(OperatorKind::gatherOutput, "moe.collect", activation());
}

} // namespace sim
