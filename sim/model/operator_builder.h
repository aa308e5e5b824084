// How the operators of a part of the model are listed, one after another. Private to sim/model.
#pragma once

#include "sim/checked.h"
#include "sim/index.h"
#include "sim/model/operator_modules.h"
#include "sim/model/operators.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// What a product keeps of what goes into it.
enum class ProductInput : std::uint8_t {
    own,     ///< all of it
    ofCore,  ///< all of it, as fused attention keeps it too (Stack::sharesAttentionOutput)
    ofBlock, ///< as the rank holds it: a slice under sequence parallelism (gathered again in the backward pass), the whole tensor
             ///< without (Korthikanti et al. 2022, section 4.2.2)
    kept     ///< nothing: another product keeps the same
};

/// The two products of a layer's adapters, what lies before, between and behind them, and the addition.
struct AdapterOperators {
    std::string_view dropout, a, latent, b, output, add;
};
inline constexpr AdapterOperators kQkvAdapter{
    "attn.qkv.lora_dropout", "attn.qkv.lora_a", "attn.qkv.lora_gather", "attn.qkv.lora_b", {}, "attn.qkv.lora_add"};
inline constexpr AdapterOperators kOutAdapter{"attn.out.lora_dropout", "attn.out.lora_a",      "attn.out.lora_reduce",
                                              "attn.out.lora_b",       "attn.out.lora_output", "attn.out.lora_add"};
inline constexpr AdapterOperators kUpAdapter{"mlp.up.lora_dropout", "mlp.up.lora_a", "mlp.up.lora_gather", "mlp.up.lora_b", {},
                                             "mlp.up.lora_add"};
inline constexpr AdapterOperators kDownAdapter{"mlp.down.lora_dropout", "mlp.down.lora_a",      "mlp.down.lora_reduce",
                                               "mlp.down.lora_b",       "mlp.down.lora_output", "mlp.down.lora_add"};

/// Appends operators of one rank; knows the sizes that recur.
class OperatorBuilder {
public:
    OperatorBuilder(const Model& model, const Sharding& sharding, ModelPart part, LayerKind kind = {})
        : m_model(model), m_sharding(sharding), m_kind(kind), m_isLayer(part != ModelPart::embedding && part != ModelPart::head),
          m_tensors(tensorsOf(model, part)), m_hidden(model.hiddenSize), m_tokens(sharding.tokens()),
          m_local(sharding.localTokens()), m_bytes(sharding.bytesPerElement), m_asked(!sharding.beginsTraining)
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
        bool rowParallel = false, isNarrowed = false;
    };
    Used used(std::string_view name) const
    {
        Used out;
        const TensorCut cut{.tp = m_sharding.tp,
                            .etp = m_sharding.etp,
                            .ep = m_sharding.ep,
                            .copiesHeads = !m_sharding.gathersHeads,
                            .wholeEmbedding = m_sharding.wholeEmbedding,
                            .wholeHead = m_sharding.wholeHead};
        for (const Tensor& whole : m_tensors) {
            if (whole.usedBy != name)
                continue;
            const Tensor tensor = whole.ofRank(cut);
            out.inputs = tensor.rows;
            out.outputs += tensor.columns;
            out.elements += tensor.elementCount() * tensor.copies(Experts::all);
            out.experts = tensor.experts;
            out.rowParallel = tensor.split == TensorSplit::rows;
            out.isNarrowed = tensor.isNarrowed();
        }
        return out;
    }

    /// Tokens times the matrices that it uses; those of experts are taken to receive equally many.
    Operator& product(std::string_view name, Checked tokens, ProductInput input = ProductInput::own)
    {
        const auto [k, n, elements, experts, rowParallel, isNarrowed] = used(name);
        Operator op{.kind = OperatorKind::gemm, .family = KernelFamily::gemm, .name = name, .m = tokens, .n = n, .k = k};
        op.flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(n) * static_cast<double>(k);
        op.parameters = elements;
        op.lowPrecision = isNarrowed;
        const bool isSlice = input == ProductInput::kept || (input == ProductInput::ofBlock && !m_sharding.plainTensorParallel);
        const bool gathersApart = input == ProductInput::ofBlock && m_sharding.sequenceParallel && m_sharding.gathersApart;
        const Checked copies = gathersApart ? std::max<std::int64_t>(1, tensorsUsedBy(name)) : 1; // each has one of its own
        const std::int64_t whole = (isSlice ? m_local : tokens * copies) * k * m_bytes;
        const bool isNarrower = op.lowPrecision && m_sharding.keptNarrower > 1;
        const bool isCopied = isNarrower && input != ProductInput::ofCore; // narrow, and nobody else has it
        if (!isFrozen())                                                   // else the input gradient reads the weights alone
            op.savedInputBytes = isCopied ? whole / m_sharding.keptNarrower : input == ProductInput::kept ? 0 : whole;
        if (isFrozen() || (isCopied && input != ProductInput::kept))
            op.moduleInputBytes = whole;
        // After the reduction every rank of a tensor-parallel group sees the same gradient, whole or in slices.
        op.savedGradientBytes =
            (rowParallel && experts == 0 ? activation() : tokens * n * m_bytes) / (isNarrower ? m_sharding.keptNarrower : 1);
        if (isNarrowed && m_sharding.widensBase) { // made wide by a kernel, for this product alone (bitsandbytes, MatMul4Bit)
            op.passingBytes = elements * m_bytes;
            op.forwardBytes = op.backwardBytes =
                checkedScale(elements, m_model.lora.baseBytes(m_sharding.bytesPerElement) + m_sharding.bytesPerElement);
        }
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
    Operator& adapterProduct(std::string_view name, std::int64_t savedInputBytes)
    {
        Operator& op = product(name, m_tokens);
        op.frozen = false;
        op.savedInputBytes = savedInputBytes;
        op.moduleInputBytes = 0;
        op.savedGradientBytes = m_tokens * op.n * m_bytes;
        return op;
    }
    bool dropsAdapterInputs() const { return m_model.lora.dropout > 0; }
    /// The product with A, which reads so many elements. Where some are dropped, each A has a copy of its own and a mask (PEFT,
    /// lora/layer.py: lora_dropout is of every target), and what both the layer and A have read is kept by others.
    void productWithA(const AdapterOperators& names, Checked inputs)
    {
        if (!dropsAdapterInputs()) {
            adapterProduct(names.a, inputs * m_bytes);
            return;
        }
        const Checked dropped = inputs * tensorsUsedBy(names.a);
        elementwise(names.dropout, dropped * (2 * m_bytes + 1), dropped * (2 * m_bytes + 1), dropped);
        Operator& a = adapterProduct(names.a, dropped * m_bytes);
        a.keepsInputOf = {};
        a.inputFrom.reset();
    }
    /// What adapters make is added to what the layer makes; and, backwards, the gradients of what both read.
    void addAdapted(std::string_view name, Checked outputs, Checked inputs)
    {
        elementwise(name, 3 * outputs * m_bytes, 3 * inputs * m_bytes, 0);
        m_asked = true; // what comes behind lies behind what is trained
    }
    /// Latent vectors of a token: of each A that the operator has.
    Checked latentBytes(std::string_view a) const { return m_tokens * tensorsUsedBy(a) * m_model.lora.rank * m_bytes; }
    std::int64_t tensorsUsedBy(std::string_view name) const
    {
        return std::count_if(m_tensors.begin(), m_tensors.end(), [name](const Tensor& t) { return t.usedBy == name; });
    }

    /// Behind a column-parallel product, as Megatron Bridge's ParallelLinearAdapter.
    void adaptColumns(const AdapterOperators& names, ProductInput input)
    {
        const Checked latent = latentBytes(names.a);
        if (latent == 0)
            return;
        const Checked inputs = m_tokens * used(names.a).inputs;
        if (!dropsAdapterInputs())
            m_list.operators.back().moduleInputBytes = 0; // which A keeps
        productWithA(names, input == ProductInput::ofBlock ? activation() / m_bytes : inputs);
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
        const Checked latent = latentBytes(names.a);
        if (latent == 0)
            return false;
        productWithA(names, m_tokens * used(names.a).inputs);
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

    /// What an exchange of heads has brought is there besides what went into it: kept until attention's backward pass, whatever
    /// makes the latter again. Run again as a whole, attention begins with the exchange, and keeps what goes in.
    static void keepsExchanged(Operator& op, std::int64_t exchangedBytes)
    {
        op.savedHeadBytes = 0;
        op.moduleInputBytes = exchangedBytes;
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

    /// `width`: elements of a token.
    void enterTensorParallel(std::string_view name, Checked width)
    {
        if (m_sharding.tp > 1)
            collective(OperatorKind::enterTensorParallel, name, m_tokens * width * m_bytes);
    }
    /// So many products read what the last operator has brought, and reduce their gradients of it by themselves.
    void reduceApart(int products)
    {
        if (m_sharding.tp > 1 && m_sharding.plainTensorParallel && (!m_sharding.sequenceParallel || m_sharding.gathersApart))
            m_list.operators.back().reductions = products;
    }
    /// What all have whole has no gradient to add up.
    void enterWhole(std::string_view name)
    {
        if (m_sharding.tp == 1 || !m_sharding.sequenceParallel)
            return;
        enterTensorParallel(name, m_hidden);
        m_list.operators.back().reductions = 0;
    }
    void leaveEmbedding(std::string_view name)
    {
        if (!m_sharding.wholeEmbedding)
            leaveTensorParallel(name);
        else if (m_sharding.tp > 1 && m_sharding.sequenceParallel)
            collective(OperatorKind::dropTokens, name, m_tokens * m_hidden * m_bytes);
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
        assignModules(added);
        return added;
    }

    void attention();
    void mlp(std::string_view up, std::string_view between, std::string_view down, Checked tokens, ProductInput);
    void experts();
    std::int64_t permutedBytes(Checked routedBytes) const;

    const Model& m_model;
    const Sharding& m_sharding;
    const LayerKind m_kind;
    const bool m_isLayer; ///< its operators may run again
    const std::vector<Tensor> m_tensors;
    Checked m_hidden, m_tokens, m_local, m_bytes;
    bool m_asked = true; ///< for the gradient of what the next operator reads
    OperatorList m_list;

private:
    void queryKeyValue(Checked heads, Checked keyValueHeads);
    void latentQueryKeyValue();
    void attentionCore(Checked heads, Checked qkDim, Checked vDim, Checked keyValueBytes);
};

} // namespace sim
