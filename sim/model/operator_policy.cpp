// torchtitan/distributed/activation_checkpoint.py, SelectiveAC: saved are the results of fused attention, of experts' products,
// of reduce-scatters and all-to-alls, and of products of two matrices but for every second one of a layer in the order in which
// they run; the router's runs again in any case. A layer's own input is kept as by every checkpoint. (That is the list
// of 2024, at 3f20451b; today's keeps unfused attention too.) Nothing is run again for the sum that leaves the layer, which no
// backward pass reads; what experts' tensor parallelism gathers is taken to be kept.
#include "sim/model/operator_policy.h"

#include "sim/checked.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim {
namespace {

/// They end in the sum that leaves the layer, which keeps nothing.
constexpr std::array<std::string_view, 9> kUnread{"mlp.down",      "mlp.reduce",  "mlp.residual", "shared.down", "shared.reduce",
                                                  "moe.unpermute", "moe.collect", "moe.residual", "moe.reduce"};

bool isUnreadAgain(std::string_view name)
{
    return std::find(kUnread.begin(), kUnread.end(), name) != kUnread.end();
}

/// Of a layer's tensors, in their order: whose product is not on the list.
std::vector<bool> secondProducts(const std::vector<Tensor>& tensors)
{
    std::vector<bool> second;
    int products = 0;
    for (const Tensor& tensor : tensors) {
        // A prediction module's projection is kept, and its head lies outside of what is checkpointed.
        const bool isProduct =
            tensor.isMultiplied() && !tensor.isRouted() && tensor.role != TensorRole::head && tensor.usedBy != "mtp.projection";
        const bool isRouter = tensor.usedBy == "moe.router";
        products += isProduct && !isRouter ? 1 : 0;
        second.push_back(isProduct && (isRouter || products % 2 == 0));
    }
    return second;
}

class Policy {
public:
    Policy(const Sharding& sharding, const std::vector<Tensor>& tensors, std::int64_t activationBytes)
        : m_sharding(sharding), m_tensors(tensors), m_second(secondProducts(tensors)), m_again(productsRunAgain(tensors)),
          m_activationBytes(activationBytes)
    {
    }

    /// Of the columns of what an operator multiplies with, or of one of its tensors, those that run again.
    double againOf(std::string_view usedBy, std::string_view name = {}) const
    {
        double again = 0, all = 0;
        for (std::size_t i = 0; i < m_tensors.size(); ++i) {
            const Tensor& tensor = m_tensors[i];
            if (tensor.usedBy != usedBy || !tensor.isMultiplied() || (!name.empty() && tensor.name != name))
                continue;
            all += static_cast<double>(tensor.columns);
            again += m_again[i] ? static_cast<double>(tensor.columns) : 0;
        }
        return all > 0 ? again / all : 0;
    }

    void assign(OperatorList& list) const
    {
        std::vector<Operator>& operators = list.operators;
        for (std::size_t i = 0; i < operators.size(); ++i) {
            Operator& op = operators[i];
            op.rerunShare = isUnreadAgain(op.name) ? 0 : shareOf(op);
            op.rerunBytes = bytesOf(op, list.inputBytes);
            op.unreadBytes = m_sharding.keepsUnread ? unreadBytesOf(op) : 0;
        }
        for (std::size_t i = 0; i < operators.size(); ++i)
            if (operators[i].kind == OperatorKind::enterTensorParallel && !isReadAgain(operators, i))
                operators[i].rerunShare = 0;
        for (Operator& op : operators)
            if (op.rerunShare > 0)
                op.modules.add(RecomputeModule::operators);
    }

private:
    /// Whether a product that reads what is gathered there runs again. Latents are read by the product that follows alone.
    static bool isReadAgain(const std::vector<Operator>& operators, std::size_t gathering)
    {
        constexpr std::array<std::string_view, 6> kReaders{"attn.qkv",     "attn.q_down", "attn.q",
                                                           "attn.kv_down", "mlp.up",      "shared.up"};
        constexpr std::array<std::string_view, 3> kLatents{"attn.q_gather", "attn.k_rope_gather", "attn.kv_gather"};
        if (std::find(kLatents.begin(), kLatents.end(), operators[gathering].name) != kLatents.end()) {
            const auto product = std::find_if(operators.begin() + static_cast<std::ptrdiff_t>(gathering), operators.end(),
                                              [](const Operator& op) { return op.kind == OperatorKind::gemm; });
            return product != operators.end() && product->rerunShare > 0;
        }
        for (std::size_t i = gathering + 1; i < operators.size() && operators[i].kind != OperatorKind::leaveTensorParallel; ++i)
            if (operators[i].rerunShare > 0 && std::find(kReaders.begin(), kReaders.end(), operators[i].name) != kReaders.end())
                return true;
        return false;
    }
    bool has(std::string_view usedBy) const
    {
        return std::any_of(m_tensors.begin(), m_tensors.end(),
                           [usedBy](const Tensor& tensor) { return tensor.usedBy == usedBy; });
    }

    /// Of a dense MLP's last product, where it is on the list.
    std::int64_t unreadBytesOf(const Operator& op) const
    {
        if ((op.name != "mlp.down" && op.name != "shared.down") || !isKept(op.name))
            return 0;
        return checkedMultiply(checkedMultiply(op.m, op.n), m_sharding.bytesPerElement);
    }

    bool isKept(std::string_view usedBy) const
    {
        for (std::size_t i = 0; i < m_tensors.size(); ++i)
            if (m_tensors[i].usedBy == usedBy && m_tensors[i].isMultiplied())
                return !m_second[i];
        return false;
    }

    double shareOf(const Operator& op) const
    {
        switch (op.kind) {
        case OperatorKind::gemm:
            return op.weightless ? 1 : againOf(op.name);
        case OperatorKind::leaveTensorParallel:
            return m_sharding.sequenceParallel ? 0 : 1; // a reduce-scatter is kept, an all-reduce is not
        case OperatorKind::attention:
        case OperatorKind::ringExchange:
        case OperatorKind::gatherKeys:
        case OperatorKind::exchangeHeads:
        case OperatorKind::dispatchTokens:
        case OperatorKind::combineTokens:
        case OperatorKind::enterExpertTensor:
        case OperatorKind::leaveExpertTensor:
            return 0;
        default:
            return 1;
        }
    }

    std::int64_t bytesOf(const Operator& op, std::int64_t layerInput) const
    {
        if (op.kind == OperatorKind::attention)
            return checkedScale(op.savedHeadBytes, headsAgain({"query", "key", "value"}));
        if (op.kind == OperatorKind::gemm) {
            const bool isExchanged = m_sharding.exchangesHeads && op.weightless; // results of an all-to-all are kept
            if (isExchanged)
                return 0;
            const bool readsKept = ((op.name == "attn.out" || op.name == "attn.out.lora_a") &&
                                    (m_sharding.flashAttention || m_sharding.exchangesHeads)) ||
                                   (op.name == "moe.up" && m_sharding.ep > 1);
            const std::int64_t ofHeads = op.name == "attn.scores" ? checkedScale(op.savedHeadBytes, headsAgain({"query", "key"}))
                                         : op.name == "attn.context" ? checkedScale(op.savedHeadBytes, headsAgain({"value"}))
                                                                     : op.savedHeadBytes;
            return op.savedBytes - op.savedHeadBytes + ofHeads + (readsKept ? 0 : op.savedInputBytes);
        }
        if (op.name == "attn.norm") // a prediction module's reads its projection, which is kept
            return has("mtp.projection") ? 0 : std::max<std::int64_t>(0, op.savedBytes - layerInput);
        // The sum behind attention is made again of the layer's input and of what came out of attention: kept where the product
        // is, or its reduce-scatter.
        const bool keepsAttention = againOf("attn.out") == 0 || (m_sharding.tp > 1 && m_sharding.sequenceParallel);
        if ((op.name == "mlp.norm" || op.name == "moe.norm") && keepsAttention)
            return std::max<std::int64_t>(0, op.savedBytes - m_activationBytes);
        if (op.name == "attn.q_norm")
            return checkedScale(op.savedBytes, againOf("attn.q_down"));
        if (op.name == "attn.kv_norm")
            return checkedScale(op.savedBytes, againOf("attn.kv_down"));
        if (op.name == "attn.qk_norm")
            return checkedScale(op.savedBytes, headsAgain({"query", "key"}, false));
        for (const auto& [act, up] : {std::pair{"mlp.act", "mlp.up"}, {"moe.act", "moe.up"}, {"shared.act", "shared.up"}})
            if (op.name == act) // what lies beside what a fused kernel keeps is made again
                return checkedScale(op.savedBytes,
                                    1 - (1 - againOf(up)) / std::max(1.0, m_sharding.saved[asIndex(StackPart::activation)]));
        return op.rerunShare > 0 ? op.savedBytes : 0;
    }

    /// Of the bytes of these, as attention reads them: behind norms of their own queries and keys are made again of what the
    /// norms keep. Latent attention's come of two products, or of three.
    double headsAgain(const std::vector<std::string_view>& names, bool behindNorms = true) const
    {
        double again = 0, all = 0;
        const bool isLatent = has("attn.kv_up");
        for (std::size_t i = 0; i < m_tensors.size(); ++i) {
            const Tensor& tensor = m_tensors[i];
            const bool isLatentHead = tensor.usedBy == "attn.q" || tensor.usedBy == "attn.q_up" || tensor.usedBy == "attn.kv_up";
            const bool isHead = tensor.usedBy == "attn.qkv" && std::find(names.begin(), names.end(), tensor.name) != names.end();
            if (!tensor.isMultiplied() || !(isLatent ? isLatentHead : isHead))
                continue;
            const bool isNormed = behindNorms && has("attn.qk_norm") && tensor.name != "value";
            const auto columns = static_cast<double>(tensor.columns);
            all += columns;
            again += m_again[i] || isNormed ? columns : 0;
        }
        return all > 0 ? again / all : 0;
    }

    const Sharding& m_sharding;
    const std::vector<Tensor>& m_tensors;
    const std::vector<bool> m_second; ///< every second product, which is not on the list
    const std::vector<bool> m_again;
    const std::int64_t m_activationBytes;
};

} // namespace

std::vector<bool> productsRunAgain(const std::vector<Tensor>& tensors)
{
    std::vector<bool> again = secondProducts(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        again[i] = again[i] && !isUnreadAgain(tensors[i].usedBy);
    return again;
}

void assignOperatorPolicy(OperatorList& list, const Sharding& sharding, const std::vector<Tensor>& tensors,
                          std::int64_t activationBytes)
{
    Policy(sharding, tensors, activationBytes).assign(list);
}

} // namespace sim
