#include "sim/model/operators.h"

#include "sim/checked.h"
#include "sim/index.h"
#include "sim/model/attention_pairs.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

/// What a product keeps of what goes into it.
enum class Input : std::uint8_t {
    own,     ///< all of it
    ofBlock, ///< as the rank holds it: a slice under sequence parallelism (gathered again in the backward pass), the whole tensor
             ///< without (Korthikanti et al. 2022, section 4.2.2)
    kept     ///< nothing: another product keeps the same
};

using Module = RecomputeModule;
struct ModuleRow {
    std::string_view name;
    RecomputeModules modules;
    RecomputeModules keepsInputOf = {};
    std::optional<Module> inputFrom = {};
};
/// Megatron Core's modules (transformer_config.py, recompute_modules) as operators. Norms of latent vectors are none of
/// layernorm's. Without compressed queries these are projected up from the norm's output.
constexpr std::array kModuleRows{
    ModuleRow{"attn.norm", {Module::layernorm}},
    ModuleRow{"attn.qkv", {}, {}, Module::layernorm},
    ModuleRow{"attn.qkv.lora_a", {}, {}, Module::layernorm},
    ModuleRow{"attn.q_down", {}, {}, Module::layernorm},
    ModuleRow{"attn.q", {Module::mlaUpProjection}, {}, Module::layernorm},
    ModuleRow{"attn.q_up", {Module::mlaUpProjection}},
    ModuleRow{"attn.kv_up", {Module::mlaUpProjection}},
    ModuleRow{"attn.rope", {Module::mlaUpProjection}},
    ModuleRow{"attn.ring", {Module::coreAttention}},
    ModuleRow{"attn.keys", {Module::coreAttention}},
    ModuleRow{"attn.core", {Module::coreAttention}},
    ModuleRow{"attn.scores", {Module::coreAttention}},
    ModuleRow{"attn.softmax", {Module::coreAttention}},
    ModuleRow{"attn.dropout", {Module::coreAttention}},
    ModuleRow{"attn.context", {Module::coreAttention}},
    ModuleRow{"mlp.norm", {Module::layernorm}},
    ModuleRow{"mlp.gather", {Module::mlp}},
    ModuleRow{"mlp.up", {Module::mlp}, {Module::mlp}, Module::layernorm},
    ModuleRow{"mlp.up.lora_a", {Module::mlp}, {Module::mlp}, Module::layernorm},
    ModuleRow{"mlp.up.lora_gather", {Module::mlp}},
    ModuleRow{"mlp.up.lora_b", {Module::mlp}},
    ModuleRow{"mlp.up.lora_add", {Module::mlp}},
    ModuleRow{"mlp.act", {Module::mlp}},
    ModuleRow{"mlp.down", {Module::mlp}},
    ModuleRow{"mlp.down.lora_a", {Module::mlp}},
    ModuleRow{"mlp.down.lora_reduce", {Module::mlp}},
    ModuleRow{"mlp.down.lora_b", {Module::mlp}},
    ModuleRow{"mlp.down.lora_output", {Module::mlp}},
    ModuleRow{"mlp.down.lora_add", {Module::mlp}},
    ModuleRow{"mlp.reduce", {Module::mlp}},
    ModuleRow{"moe.norm", {Module::layernorm}},
    ModuleRow{"moe.router", {Module::moe}, {Module::moe}, Module::layernorm},
    ModuleRow{"moe.permute", {Module::moe}},
    ModuleRow{"moe.dispatch", {Module::moe}},
    ModuleRow{"moe.gather", {Module::moe}},
    ModuleRow{"moe.up", {Module::moe}},
    ModuleRow{"moe.act", {Module::moe, Module::moeActivation}},
    ModuleRow{"moe.down", {Module::moe}, {}, Module::moeActivation},
    ModuleRow{"moe.reduce", {Module::moe}},
    ModuleRow{"moe.combine", {Module::moe}},
    ModuleRow{"moe.unpermute", {Module::moe}},
    ModuleRow{"shared.gather", {Module::moe, Module::sharedExperts}},
    ModuleRow{"shared.up", {Module::moe, Module::sharedExperts}, {Module::sharedExperts}, Module::layernorm},
    ModuleRow{"shared.act", {Module::moe, Module::sharedExperts}},
    ModuleRow{"shared.down", {Module::moe, Module::sharedExperts}},
    ModuleRow{"shared.reduce", {Module::moe, Module::sharedExperts}}};

const ModuleRow* moduleRow(std::string_view name)
{
    const auto found =
        std::find_if(kModuleRows.begin(), kModuleRows.end(), [name](const ModuleRow& row) { return row.name == name; });
    return found == kModuleRows.end() ? nullptr : &*found;
}

/// The two products of a layer's adapters, what lies between and behind them, and the addition.
struct AdapterOperators {
    std::string_view a, latent, b, output, add;
};
constexpr AdapterOperators kQkvAdapter{"attn.qkv.lora_a", "attn.qkv.lora_gather", "attn.qkv.lora_b", {}, "attn.qkv.lora_add"};
constexpr AdapterOperators kOutAdapter{"attn.out.lora_a", "attn.out.lora_reduce", "attn.out.lora_b", "attn.out.lora_output",
                                       "attn.out.lora_add"};
constexpr AdapterOperators kUpAdapter{"mlp.up.lora_a", "mlp.up.lora_gather", "mlp.up.lora_b", {}, "mlp.up.lora_add"};
constexpr AdapterOperators kDownAdapter{"mlp.down.lora_a", "mlp.down.lora_reduce", "mlp.down.lora_b", "mlp.down.lora_output",
                                        "mlp.down.lora_add"};

/// Appends operators of one rank; knows the sizes that recur.
class Builder {
public:
    Builder(const Model& model, const Sharding& sharding, ModelPart part, LayerKind kind = {})
        : m_model(model), m_sharding(sharding), m_kind(kind), m_tensors(tensorsOf(model, part)), m_hidden(model.hiddenSize),
          m_tokens(sharding.tokens()), m_local(sharding.localTokens()), m_bytes(sharding.bytesPerElement),
          m_asked(!sharding.beginsTraining)
    {
        m_list.inputBytes = activation();
    }

    OperatorList take();

    /// Bytes of a tensor between two blocks.
    Checked activation() const { return m_local * m_hidden * m_bytes; }

    /// This rank's part of the tensors that an operator uses: side by side in one product.
    struct Used {
        Checked inputs, outputs, elements;
        int experts = 0;
        bool rowParallel = false;
    };
    Used used(std::string_view name) const
    {
        Used out;
        for (const Tensor& whole : m_tensors) {
            if (whole.usedBy != name)
                continue;
            const Tensor tensor = whole.ofRank(m_sharding.tp, m_sharding.etp, m_sharding.ep);
            out.inputs = tensor.rows;
            out.outputs += tensor.columns;
            out.elements += tensor.elementCount() * tensor.copies(Experts::all);
            out.experts = tensor.experts;
            out.rowParallel = tensor.split == TensorSplit::rows;
        }
        return out;
    }

    /// Tokens times the matrices that it uses; those of experts are taken to receive equally many.
    Operator& product(std::string_view name, Checked tokens, Input input = Input::own)
    {
        const auto [k, n, elements, experts, rowParallel] = used(name);
        Operator op{.kind = OperatorKind::gemm, .family = KernelFamily::gemm, .name = name, .m = tokens, .n = n, .k = k};
        op.flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(n) * static_cast<double>(k);
        op.parameters = elements;
        op.lowPrecision = name != "moe.router" && name != "head.logits";
        const std::int64_t whole = input == Input::own ? tokens * k * m_bytes : activation();
        const bool isNarrower = op.lowPrecision && m_sharding.keptNarrower > 1; // a copy that nobody else has
        if (!isFrozen())                                                        // else the input gradient reads the weights alone
            op.savedInputBytes = isNarrower ? whole / m_sharding.keptNarrower : input == Input::kept ? 0 : whole;
        if (isFrozen() || (isNarrower && input != Input::kept))
            op.moduleInputBytes = whole;
        // After the reduction every rank of a tensor-parallel group sees the same gradient, whole or in slices.
        op.savedGradientBytes =
            (rowParallel && experts == 0 ? activation() : tokens * n * m_bytes) / (isNarrower ? m_sharding.keptNarrower : 1);
        if (experts > 0) {
            op.family = KernelFamily::groupedGemm;
            op.m = std::max<std::int64_t>(1, ceilDivide(tokens, experts));
            op.batch = experts;
            op.routed = true;
        }
        return add(op);
    }

    bool isFrozen() const { return m_model.lora.isOn(); }

    /// One of an adapter's products, in the precision of activations. A keeps the input that the frozen layer need not keep.
    void adapterProduct(std::string_view name, std::int64_t savedInputBytes)
    {
        Operator& op = product(name, m_tokens);
        op.frozen = op.lowPrecision = false;
        op.savedInputBytes = savedInputBytes;
        op.moduleInputBytes = 0;
        op.savedGradientBytes = m_tokens * op.n * m_bytes;
    }
    /// What adapters make is added to what the layer makes; and, backwards, the gradients of what both read.
    void addAdapted(std::string_view name, Checked outputs, Checked inputs)
    {
        elementwise(name, 3 * outputs * m_bytes, 3 * inputs * m_bytes, 0);
        m_asked = true; // what comes behind lies behind what is trained
    }
    /// Latent vectors of a token: of each target that the operator B stands beside.
    Checked latentBytes(std::string_view b) const
    {
        const auto targets = std::count_if(m_tensors.begin(), m_tensors.end(), [b](const Tensor& t) { return t.usedBy == b; });
        return m_tokens * static_cast<std::int64_t>(targets) * m_model.lora.rank * m_bytes;
    }

    /// Behind a column-parallel product, as Megatron Bridge's ParallelLinearAdapter.
    void adaptColumns(const AdapterOperators& names, Input input)
    {
        const Checked latent = latentBytes(names.b);
        if (latent == 0)
            return;
        const Checked inputs = m_tokens * used(names.a).inputs;
        m_list.operators.back().moduleInputBytes = 0; // which A keeps
        adapterProduct(names.a, input == Input::ofBlock ? activation() : inputs * m_bytes);
        const bool asked = std::exchange(m_asked, true);
        if (m_sharding.tp > 1)
            collective(OperatorKind::gatherLatent, names.latent, latent);
        adapterProduct(names.b, latent);
        m_asked = asked;
        addAdapted(names.add, m_tokens * used(names.b).outputs, inputs);
    }
    /// Before a row-parallel product, so that its reduction follows it; `addAdapted` comes behind that.
    bool adaptRows(const AdapterOperators& names)
    {
        const Checked latent = latentBytes(names.b);
        if (latent == 0)
            return false;
        adapterProduct(names.a, m_tokens * used(names.a).inputs * m_bytes);
        const bool asked = std::exchange(m_asked, true);
        if (m_sharding.tp > 1)
            collective(OperatorKind::reduceLatent, names.latent, latent);
        adapterProduct(names.b, latent);
        if (m_sharding.tp > 1)
            collective(OperatorKind::gatherOutput, names.output, m_tokens * m_hidden * m_bytes);
        m_asked = asked; // the frozen product beside it reads the same
        return true;
    }

    void keepAttentionOutput(std::int64_t bytes)
    {
        const auto core = std::find_if(m_list.operators.begin(), m_list.operators.end(),
                                       [](const Operator& op) { return op.kind == OperatorKind::attention; });
        if (core != m_list.operators.end())
            core->savedBytes = checkedAdd(core->savedBytes, bytes);
    }

    void norm(std::string_view name, Checked tokens)
    {
        const Checked width = used(name).outputs, tensor = tokens * width * m_bytes;
        // Backward reads gradient, input and the normalised value, and writes the gradient.
        elementwise(name, 2 * tensor, 4 * tensor, tensor);
        classify(KernelFamily::norm, tokens, width);
    }

    void elementwise(std::string_view name, std::int64_t forwardBytes, std::int64_t backwardBytes, std::int64_t savedBytes,
                     bool routed = false)
    {
        Operator op{.kind = OperatorKind::elementwise, .name = name};
        op.forwardBytes = forwardBytes;
        op.backwardBytes = backwardBytes;
        op.savedBytes = savedBytes;
        op.routed = routed;
        op.parameters = used(name).elements;
        add(op);
    }

    /// Says what the last operator is to a measured profile.
    void classify(KernelFamily family, std::int64_t rows, std::int64_t columns)
    {
        Operator& op = m_list.operators.back();
        op.family = family;
        op.m = rows;
        op.n = columns;
        if (const auto part = stackPartOf(family))
            op.savedBytes = checkedScale(op.savedBytes, m_sharding.saved[asIndex(*part)]);
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
        const Checked tensor = activation();
        const Checked mask = m_model.hiddenDropout > 0 ? m_local * m_hidden : Checked(0);
        elementwise(name, 3 * tensor + mask, (mask > 0 ? 2 * tensor : tensor) + mask, mask);
        classify(KernelFamily::residual, m_local, m_hidden);
    }

    Operator& add(const Operator& op)
    {
        Operator& added = m_list.operators.emplace_back(op);
        added.frozen = isFrozen();
        added.needsInputGradient = m_asked;
        if (const ModuleRow* row = moduleRow(op.name)) {
            added.modules = row->modules;
            added.keepsInputOf = row->keepsInputOf;
            added.inputFrom = row->inputFrom;
        }
        return added;
    }

    void attention();
    void mlp(std::string_view up, std::string_view between, std::string_view down, Checked tokens, Input);
    void experts();

    const Model& m_model;
    const Sharding& m_sharding;
    const LayerKind m_kind;
    const std::vector<Tensor> m_tensors;
    Checked m_hidden, m_tokens, m_local, m_bytes;
    bool m_asked = true; ///< for the gradient of what the next operator reads
    OperatorList m_list;

private:
    void queryKeyValue(Checked heads, Checked keyValueHeads);
    void attentionCore(Checked heads, Checked qkDim, Checked vDim, Checked keyValueBytes);
};

/// What has no backward pass keeps nothing for it, and modules of such operators are not run again.
OperatorList Builder::take()
{
    std::vector<Operator>& operators = m_list.operators;
    const auto isIdle = [](const Operator& op) { return !op.needsInputGradient; };
    for (const Module module : kRecomputeModules)
        if (std::all_of(operators.begin(), operators.end(),
                        [&](const Operator& op) { return isIdle(op) || !op.modules.has(module); }))
            for (Operator& op : operators) {
                op.modules.remove(module);
                op.keepsInputOf.remove(module);
            }
    for (Operator& op : operators)
        if (isIdle(op)) {
            op.savedBytes = op.savedHeadBytes = 0;
            op.inputFrom.reset();
        }
    m_list.endsBackward = !m_asked;
    if (m_list.endsBackward)
        m_list.inputBytes = 0;
    return std::move(m_list);
}

void Builder::queryKeyValue(Checked heads, Checked keyValueHeads)
{
    if (m_model.isLatentAttention()) {
        if (m_model.qLoraRank > 0) {
            product("attn.q_down", m_tokens, Input::ofBlock);
            norm("attn.q_norm", m_tokens);
            product("attn.q_up", m_tokens);
        } else {
            product("attn.q", m_tokens, Input::ofBlock);
        }
        product("attn.kv_down", m_tokens, Input::kept); // the query's
        norm("attn.kv_norm", m_tokens);
        product("attn.kv_up", m_tokens);
        return;
    }
    product("attn.qkv", m_tokens, Input::ofBlock);
    adaptColumns(kQkvAdapter, Input::ofBlock);
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
void Builder::attentionCore(Checked heads, Checked qkDim, Checked vDim, Checked keyValueBytes)
{
    const Checked b = m_sharding.microBatchSize;
    const Checked queries = m_sharding.sequenceLength / m_sharding.slices / m_sharding.cp;
    // Blocks of keys that a query sees on average: of the whole sequence's own block half, and all of earlier slices'.
    const std::int64_t slice = m_sharding.sequenceLength / m_sharding.slices, first = m_sharding.slice * slice;
    const double seenBlocks = attentionPairs(m_model, m_kind.type, first, first + slice, m_sharding.causal) /
                              (static_cast<double>(slice) * static_cast<double>(slice));
    const double blockPairs = static_cast<double>(b * heads) * static_cast<double>(queries) * static_cast<double>(queries);

    const Checked queryBytes = m_tokens * heads * qkDim * m_bytes;
    const bool gathers = m_sharding.cp > 1 && (!m_sharding.flashAttention || m_kind.type != LayerType::full);
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
        for (int block = 0; block < m_sharding.cp / together; ++block) {
            if (block > 0)
                collective(OperatorKind::ringExchange, "attn.ring", keyValueBytes);
            Operator op{.kind = OperatorKind::attention, .family = KernelFamily::attention, .name = "attn.core"};
            op.m = queries;
            op.n = static_cast<std::int64_t>(2 * seenBlocks * static_cast<double>(queries) * together);
            op.k = qkDim;
            op.batch = b * heads;
            op.flops = 2.0 * blockPairs * static_cast<double>(qkDim + vDim) * seenBlocks * together;
            op.backwardFlopsFactor = 2.5;
            op.forwardBytes = queryBytes + readKeyValueBytes + m_tokens * heads * vDim * m_bytes;
            op.backwardBytes = 2 * op.forwardBytes;
            op.overlapsRing = block > 0;
            if (block == 0) // queries, keys, values, and the log-sum-exp in single precision
                op.savedBytes = queryBytes + keyValueBytes + m_tokens * heads * 4;
            if (block == 0)
                op.savedHeadBytes = queryBytes + keyValueBytes;
            add(op);
        }
        return;
    }
    // Unfused: the score matrix is written and kept (the 5as/h term of Korthikanti et al.); masks skip no work.
    const Checked keys = queries * (m_sharding.slices > 1 ? m_sharding.slice + 1 : m_sharding.cp);
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
    qk.savedBytes = queryBytes + keyValueBytes / 2 * m_sharding.cp;
    qk.savedHeadBytes = queryBytes + keyValueBytes / 2;
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
    av.savedBytes = keyValueBytes / 2 * m_sharding.cp;
    av.savedHeadBytes = keyValueBytes / 2;
    add(av);
}

void Builder::attention()
{
    const bool latent = m_model.isLatentAttention();
    const Checked heads = ceilDivide(m_model.numAttentionHeads, m_sharding.tp);
    const Checked keyValueHeads = latent ? heads : Checked(ceilDivide(m_model.numKeyValueHeads, m_sharding.tp));
    const Checked qkDim = HeadSize::of(m_model).queryKey, vDim = HeadSize::of(m_model).value;

    norm("attn.norm", m_local);
    enterTensorParallel("attn.gather");
    queryKeyValue(heads, keyValueHeads);
    if (latent || (m_model.positionEmbedding == PositionEmbedding::rope && m_kind.rope)) {
        const Checked rotated = latent ? heads * m_model.qkRopeHeadDim : (heads + keyValueHeads) * qkDim;
        elementwise("attn.rope", 2 * m_tokens * rotated * m_bytes, 2 * m_tokens * rotated * m_bytes, 0);
        classify(KernelFamily::rope, m_tokens, rotated);
    }
    attentionCore(heads, qkDim, vDim, m_tokens * keyValueHeads * (qkDim + vDim) * m_bytes);
    const bool adapted = adaptRows(kOutAdapter);
    // A fused kernel's backward pass reads its output; an adapter keeps it, or a product that is trained.
    if (isFrozen() && !adapted && m_sharding.flashAttention)
        keepAttentionOutput(m_tokens * heads * vDim * m_bytes);
    product("attn.out", m_tokens);
    leaveTensorParallel("attn.reduce");
    if (adapted)
        addAdapted(kOutAdapter.add, m_local * m_hidden, m_tokens * heads * vDim);
    residual("attn.residual");
}

/// Up, what lies between, and down.
void Builder::mlp(std::string_view up, std::string_view between, std::string_view down, Checked tokens, Input input)
{
    const bool routed = product(up, tokens, input).routed, isDense = up == "mlp.up";
    if (isDense)
        adaptColumns(kUpAdapter, input);
    const Checked projections = m_model.gatedMlp ? 2 : 1, width = used(down).inputs;
    const Checked tensor = tokens * width * m_bytes;
    elementwise(between, (projections + 1) * tensor, (2 * projections + 1) * tensor, projections * tensor, routed);
    classify(KernelFamily::activation, tokens, width);
    if (isDense)
        adaptRows(kDownAdapter);
    product(down, tokens);
}

/// Router, dispatch, grouped GEMMs, combine. Tokens are routed from the sequence-parallel region, so each rank dispatches its own
/// slice.
void Builder::experts()
{
    // Every rank is taken as the busiest: the others wait for it.
    const Checked routedTokens = checkedScale(m_local * m_model.numExpertsPerTok, m_sharding.moe.imbalance);
    const Checked routedElements = routedTokens * m_hidden, routedBytes = routedElements * m_bytes;
    const Checked etp = m_sharding.etp;

    product("moe.router", m_local).savedGradientBytes = m_local * m_model.numExperts * 4; // logits in single precision
    elementwise("moe.permute", 2 * routedBytes, 2 * routedBytes, 0, true);
    classify(KernelFamily::permute, routedTokens, m_hidden);
    if (m_sharding.ep > 1)
        collective(OperatorKind::dispatchTokens, "moe.dispatch", routedElements * m_sharding.moe.dispatchBytes);
    if (etp > 1)
        collective(OperatorKind::enterExpertTensor, "moe.gather", routedBytes * etp);
    mlp("moe.up", "moe.act", "moe.down", routedTokens * etp, Input::own);
    if (etp > 1)
        collective(OperatorKind::leaveExpertTensor, "moe.reduce", routedBytes * etp);
    if (m_sharding.ep > 1)
        collective(OperatorKind::combineTokens, "moe.combine", routedElements * m_sharding.moe.combineBytes);
    elementwise("moe.unpermute", 2 * routedBytes, 3 * routedBytes, routedBytes, true);
    classify(KernelFamily::unpermute, m_local, m_model.numExpertsPerTok * m_hidden);
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

int elementBytes(Precision precision)
{
    return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

RecomputeModules modulesOf(std::string_view operatorName)
{
    const ModuleRow* row = moduleRow(operatorName);
    return row != nullptr ? row->modules : RecomputeModules();
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

Sharding Sharding::of(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    const Training& training = scenario.training;
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
                      .bytesPerElement = elementBytes(training.precision),
                      .moe = training.moe};
    if (training.stack.narrowSaved && isNarrow(training.precision))
        sharding.keptNarrower = narrowingOf(training.precision);
    for (std::size_t part = 0; part < sharding.saved.size(); ++part)
        sharding.saved[part] = training.stack.parts[part].saved;
    return sharding;
}

namespace {

/// `moe`: what follows attention.
void layer(Builder& builder, const Model& model, bool moe)
{
    builder.attention();
    if (moe) {
        builder.norm("moe.norm", builder.m_local);
        builder.experts();
    } else {
        builder.norm("mlp.norm", builder.m_local);
        builder.enterTensorParallel("mlp.gather");
        builder.mlp("mlp.up", "mlp.act", "mlp.down", builder.m_tokens, Input::ofBlock);
        builder.leaveTensorParallel("mlp.reduce");
        if (model.lora.has(LoraTarget::down))
            builder.addAdapted(kDownAdapter.add, builder.m_local * builder.m_hidden,
                               builder.m_tokens * builder.used("mlp.down").inputs);
    }
    if (moe && model.numSharedExperts > 0) {
        builder.enterTensorParallel("shared.gather");
        builder.mlp("shared.up", "shared.act", "shared.down", builder.m_tokens, Input::kept); // the router's
        builder.leaveTensorParallel("shared.reduce");
    }
    builder.residual(moe ? "moe.residual" : "mlp.residual");
}

/// The next token's embedding and the hidden state, each normed, side by side through a projection, and a layer. Megatron Core
/// cuts the projection by columns and gathers its result (multi_token_prediction.py).
OperatorList prediction(Builder builder, const Model& model, bool ownsEmbedding)
{
    const Checked tensor = builder.m_tokens * builder.m_hidden * builder.m_bytes, state = builder.activation();
    builder.m_list.inputBytes = builder.m_tokens * 8; // the head before it keeps the hidden state
    const bool asked = std::exchange(builder.m_asked, builder.m_asked && !builder.isFrozen());
    builder.elementwise("mtp.embed", 2 * tensor, 2 * tensor, builder.m_tokens * 8);
    builder.classify(KernelFamily::embedding, builder.m_tokens, builder.m_hidden);
    if (ownsEmbedding)
        builder.m_list.operators.back().parameters = 0;
    builder.leaveTensorParallel("mtp.embed.reduce");
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

OperatorList embedding(Builder builder, const Model& model)
{
    builder.m_asked = !builder.isFrozen();
    builder.m_list.inputBytes = builder.m_tokens * 8; // token ids
    const Checked tensor = builder.m_tokens * builder.m_hidden * builder.m_bytes;
    const Checked mask = model.hiddenDropout > 0 ? builder.m_local * builder.m_hidden : Checked(0);
    builder.elementwise("embed", 2 * tensor, 2 * tensor, builder.m_tokens * 8 + mask);
    builder.classify(KernelFamily::embedding, builder.m_tokens, builder.m_hidden);
    builder.leaveTensorParallel("embed.reduce");
    return builder.take();
}

OperatorList head(Builder builder, bool ownsEmbedding, bool tensorParallel)
{
    builder.norm("head.norm", builder.m_local);
    builder.enterTensorParallel("head.gather");
    Operator& projection = builder.product("head.logits", builder.m_tokens, Input::ofBlock);
    const Checked vocabulary = projection.n;
    // Most frameworks pad what a rank has of the vocabulary: tensor cores read rows of an odd one slowly.
    constexpr std::int64_t kPadding = 64;
    projection.n = builder.m_sharding.padsVocabulary ? ceilDivide(projection.n, kPadding) * kPadding
                                                     : std::max(1, builder.m_model.vocabSize / builder.m_sharding.tp);
    if (ownsEmbedding)
        projection.parameters = 0;
    // Logits and their softmax in single precision; the gradient overwrites them (Korthikanti et al. 2022, section 4.3: 4sbV/t).
    const Checked logits = builder.m_tokens * vocabulary;
    builder.elementwise("loss", logits * (builder.m_bytes + 3 * 4), logits * (4 + builder.m_bytes), logits * 4);
    builder.classify(KernelFamily::loss, builder.m_tokens, vocabulary);
    if (tensorParallel)
        builder.collective(OperatorKind::syncLoss, "loss.sync", builder.m_tokens * 12);
    return builder.take();
}

} // namespace

OperatorList operatorsOf(const Model& model, const Sharding& sharding, ModelPart part, bool ownsEmbedding)
{
    switch (part) {
    case ModelPart::embedding:
        return countedAs("work of the embedding", [&] { return embedding(Builder(model, sharding, part), model); });
    case ModelPart::dense:
    case ModelPart::moe:
        return operatorsOf(model, sharding, LayerKind{.moe = part == ModelPart::moe});
    case ModelPart::prediction:
        return countedAs("work of multi-token prediction", [&] {
            return prediction(Builder(model, sharding, part, model.predictionKind()), model, ownsEmbedding);
        });
    case ModelPart::head:
        break;
    }
    return countedAs("work of the output head",
                     [&] { return head(Builder(model, sharding, part), ownsEmbedding, sharding.tp > 1); });
}

OperatorList operatorsOf(const Model& model, const Sharding& sharding, LayerKind kind)
{
    const ModelPart part = kind.moe ? ModelPart::moe : ModelPart::dense;
    return countedAs("work of a layer", [&] {
        Builder builder(model, sharding, part, kind);
        layer(builder, model, kind.moe);
        return builder.take();
    });
}

} // namespace sim
