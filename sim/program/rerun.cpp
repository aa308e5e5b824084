// What selective recomputation drops in the forward pass and runs again in the backward pass. Megatron Core has two ways: a
// module whose output is dropped and made again from what it keeps (layernorm, moe_act, mla_up_proj; CheckpointWithoutOutput),
// when the gradient of what follows its last reader arrives; and a module that keeps its input and runs as a whole, collectives
// included (mlp, moe, shared_experts; torch.utils.checkpoint). So is the core of attention, which keeps queries, keys and values
// (Korthikanti et al. 2022, section 5).
#include "sim/program/pass_builder.h"

#include "sim/checked.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sim {
namespace {

constexpr std::array kWhole{RecomputeModule::coreAttention, RecomputeModule::moe, RecomputeModule::mlp,
                            RecomputeModule::sharedExperts};

bool isWhole(RecomputeModule module)
{
    return std::find(kWhole.begin(), kWhole.end(), module) != kWhole.end();
}

} // namespace

/// The module that runs it again as a part of its own.
std::optional<RecomputeModule> PassBuilder::wholeModuleOf(const Operator& op) const
{
    for (const RecomputeModule module : kWhole)
        if (m_scenario.training.recomputes(module) && op.modules.has(module))
            return module;
    return std::nullopt;
}

/// Kept besides what the operator needs: the input of a module that runs as a whole, where its first product has none of its own.
std::int64_t PassBuilder::moduleInputBytes(const Operator& op) const
{
    const auto whole = wholeModuleOf(op);
    return whole && op.keepsInputOf.has(*whole) ? op.moduleInputBytes : 0;
}

/// Bytes of the operator that the forward pass drops and this module makes again.
std::int64_t PassBuilder::remadeBytes(const Operator& op, RecomputeModule module) const
{
    if (module == RecomputeModule::operators)
        return m_scenario.training.recomputes(module) ? op.rerunBytes : 0;
    const auto whole = wholeModuleOf(op);
    const bool keepsInput = whole && op.keepsInputOf.has(*whole);
    const std::int64_t moduleInput = moduleInputBytes(op);
    Checked bytes;
    if (whole == module)
        bytes += Checked(op.savedBytes) - op.savedHeadBytes + (keepsInput && moduleInput == 0 ? 0 : op.savedInputBytes);
    if (m_scenario.training.recomputes(module)) {
        if ((!whole || keepsInput) && op.inputFrom == module)
            bytes += moduleInput > 0 ? moduleInput : op.savedInputBytes;
        if (module == RecomputeModule::mlaUpProjection) // of heads that are exchanged: what attention's own module begins with
            bytes += op.savedHeadBytes + (op.isAttentionCore() ? moduleInput : 0);
    }
    return bytes;
}

std::int64_t PassBuilder::allocatedBytes(const Operator& op) const
{
    if (m_rerunModule)
        return remadeBytes(op, *m_rerunModule);
    std::int64_t kept = keptBytes(op);
    if (m_scenario.training.recompute == Recompute::selective)
        for (const RecomputeModule module : kRecomputeModules)
            kept -= remadeBytes(op, module);
    return kept;
}

/// Of what is run again, what nobody reads: then only what the operator keeps is there again. True where it is dropped.
bool PassBuilder::dropsUnread(const Operator& op)
{
    if (!isUnread(op.name, m_scenario))
        return false;
    if (const std::int64_t bytes = allocatedBytes(op); bytes > 0) {
        waitFor(0);
        m_pass.ops.back().label = m_labels.intern(op.name);
        m_pass.ops.back().allocBytes = bytes;
    }
    return true;
}

const Operator& PassBuilder::asRun(const Operator& op, Operator& part) const
{
    if (m_rerunModule != RecomputeModule::operators || op.rerunShare >= 1)
        return op;
    part = op;
    part.n = std::max<std::int64_t>(1, std::llround(static_cast<double>(op.n) * op.rerunShare));
    part.flops = op.flops * op.rerunShare;
    return part;
}

/// In the order in which they run, where several come before the same operator.
std::vector<PassBuilder::Rerun> PassBuilder::rerunsOf(const Bucket& bucket) const
{
    const Training& training = m_scenario.training;
    const auto& operators = bucket.list.operators;
    std::vector<Rerun> out;
    if (training.recompute != Recompute::selective)
        return out;
    const auto has = [&](std::size_t i, RecomputeModule module) { return operators[i].modules.has(module); };
    for (const RecomputeModule module : kRecomputeModules) {
        if (!training.recomputes(module))
            continue;
        for (std::size_t i = 0; i < operators.size(); ++i) {
            if (!has(i, module))
                continue;
            Rerun rerun{.module = module, .first = i, .last = i};
            if (module == RecomputeModule::layernorm) { // read until the residual: once for attention, once for the MLP
                for (std::size_t k = i; k < operators.size() && operators[k].family != KernelFamily::residual; ++k)
                    rerun.before = isCompute(operators[k]) ? k : rerun.before;
            } else if (module == RecomputeModule::moeActivation) {
                rerun.before = i + 1;
            } else if (module == RecomputeModule::operators) { // of the whole layer, before anything of its backward pass
                for (std::size_t k = i; k < operators.size(); ++k)
                    rerun.last = has(k, module) ? k : rerun.last;
                rerun.before = operators.size() - 1;
            } else {
                for (std::size_t k = i; k < operators.size(); ++k) {
                    const bool isRead = isWhole(module) ? has(k, module) && (isCompute(operators[k]) ||
                                                                             operators[k].kind == OperatorKind::exchangeHeads)
                                                        : operators[k].isAttentionCore();
                    rerun.last = has(k, module) ? k : rerun.last;
                    rerun.before = isRead ? k : rerun.before;
                }
            }
            // The gathering of a row-parallel product's gradient may run beside that product in pieces: both come as one.
            const bool isInPieces = training.overlap.tpComm && m_scenario.layout.sequenceParallel &&
                                    rerun.before + 1 < operators.size() &&
                                    operators[rerun.before + 1].kind == OperatorKind::leaveTensorParallel;
            rerun.before += isInPieces ? 1 : 0;
            i = rerun.last;
            out.push_back(rerun);
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const Rerun& a, const Rerun& b) { return a.first < b.first; });
    return out;
}

void PassBuilder::runAgain(const Bucket& bucket, const Rerun& rerun)
{
    const auto& operators = bucket.list.operators;
    const StreamMask gradient = std::exchange(m_nextWaits, StreamMask{0}); // which nothing of this needs
    m_rerunModule = rerun.module;
    m_again = true;
    for (std::size_t i = rerun.first; i <= rerun.last; ++i) {
        if (!operators[i].modules.has(rerun.module) || dropsUnread(operators[i]))
            continue;
        if (const auto gathering = gatheringOf(operators, i);
            gathering && m_scenario.layout.sequenceParallel && !operators[*gathering].modules.has(rerun.module))
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(operators[i]),
                     gatheredOperand(bucket, *gathering));
        const std::size_t consumed = overlapTensorCollective(bucket, i, OpPurpose::recompute, true);
        if (consumed > 0)
            i += consumed - 1;
        else
            forwardOperator(bucket, i, OpPurpose::recompute, true);
    }
    m_rerunModule.reset();
    if (!isWhole(rerun.module)) // its output, as what others keep of it
        for (std::size_t i = rerun.first; i <= rerun.before; ++i)
            if (const std::int64_t bytes = remadeBytes(operators[i], rerun.module);
                bytes > 0 && !operators[i].modules.has(rerun.module)) {
                waitFor(0);
                m_pass.ops.back().label = m_labels.intern(operators[i].name);
                m_pass.ops.back().allocBytes = bytes;
            }
    m_again = false;
    m_nextWaits |= gradient;
}

} // namespace sim
