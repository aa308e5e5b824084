// torchtitan/distributed/activation_checkpoint.py, SelectiveAC: saved are the results of fused attention, of experts' products,
// of reduce-scatters and all-to-alls, and of products of two matrices but for every second one of a layer in the order in which
// they run; the router's runs again in any case. A layer's own input is kept as by every checkpoint. Nothing is run again for a
// result that no backward pass reads.
#include "sim/model/operator_policy.h"

#include "sim/checked.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim {
namespace {

/// They end in the sum that leaves the layer, which keeps nothing.
constexpr std::array<std::string_view, 8> kUnread{"mlp.down",      "mlp.reduce",    "mlp.residual", "shared.down",
                                                  "shared.reduce", "moe.unpermute", "moe.residual", "moe.reduce"};

bool isUnreadAgain(std::string_view name)
{
    return std::find(kUnread.begin(), kUnread.end(), name) != kUnread.end();
}

class Policy {
public:
    Policy(const Sharding& sharding, const std::vector<Tensor>& tensors)
        : m_sharding(sharding), m_tensors(tensors), m_again(productsRunAgain(tensors))
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
            if (i > 0 && op.kind == OperatorKind::gemm && op.rerunShare == 0 &&
                operators[i - 1].kind == OperatorKind::enterTensorParallel)
                operators[i - 1].rerunShare = 0; // nobody reads it again
        }
        for (Operator& op : operators)
            if (op.rerunShare > 0)
                op.modules.add(RecomputeModule::operators);
    }

private:
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
        case OperatorKind::dispatchTokens:
        case OperatorKind::combineTokens:
        case OperatorKind::leaveExpertTensor:
            return 0;
        default:
            return 1;
        }
    }

    std::int64_t bytesOf(const Operator& op, std::int64_t layerInput) const
    {
        if (op.kind == OperatorKind::attention)
            return checkedScale(op.savedHeadBytes, headsAgain());
        if (op.kind == OperatorKind::gemm) {
            const bool readsKept =
                (op.name == "attn.out" && m_sharding.flashAttention) || (op.name == "moe.up" && m_sharding.ep > 1);
            return op.savedBytes + (readsKept ? 0 : op.savedInputBytes);
        }
        if (op.name == "attn.norm")
            return std::max<std::int64_t>(0, op.savedBytes - layerInput);
        if (op.name == "attn.q_norm")
            return checkedScale(op.savedBytes, againOf("attn.q_down"));
        if (op.name == "attn.kv_norm")
            return checkedScale(op.savedBytes, againOf("attn.kv_down"));
        if (op.name == "attn.qk_norm")
            return checkedScale(op.savedBytes, againOf("attn.qkv"));
        for (const auto& [act, up] : {std::pair{"mlp.act", "mlp.up"}, {"moe.act", "moe.up"}, {"shared.act", "shared.up"}})
            if (op.name == act) // what lies beside what a fused kernel keeps is made again
                return checkedScale(op.savedBytes,
                                    1 - (1 - againOf(up)) / std::max(1.0, m_sharding.saved[asIndex(StackPart::activation)]));
        return op.rerunShare > 0 ? op.savedBytes : 0;
    }

    /// Of the bytes of queries, keys and values.
    double headsAgain() const
    {
        double again = 0, all = 0;
        for (const std::string_view operatorName : {"attn.qkv", "attn.q", "attn.q_up", "attn.kv_up"})
            for (std::size_t i = 0; i < m_tensors.size(); ++i)
                if (m_tensors[i].usedBy == operatorName && m_tensors[i].isMultiplied()) {
                    const auto columns = static_cast<double>(m_tensors[i].columns);
                    all += columns;
                    again += m_again[i] ? columns : 0;
                }
        return all > 0 ? again / all : 0;
    }

    const Sharding& m_sharding;
    const std::vector<Tensor>& m_tensors;
    const std::vector<bool> m_again;
};

} // namespace

std::vector<bool> productsRunAgain(const std::vector<Tensor>& tensors)
{
    std::vector<bool> again;
    int products = 0;
    for (const Tensor& tensor : tensors) {
        const bool isProduct = tensor.isMultiplied() && !tensor.isRouted();
        const bool isRouter = tensor.usedBy == "moe.router";
        products += isProduct && !isRouter ? 1 : 0;
        again.push_back(isProduct && (isRouter || products % 2 == 0) && !isUnreadAgain(tensor.usedBy));
    }
    return again;
}

void assignOperatorPolicy(OperatorList& list, const Sharding& sharding, const std::vector<Tensor>& tensors)
{
    Policy(sharding, tensors).assign(list);
}

} // namespace sim
