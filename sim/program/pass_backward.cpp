// Backward passes: gradients of inputs, and of weights together with them or later.
#include "sim/checked.h"
#include "sim/program/operator_shapes.h"
#include "sim/program/pass_builder.h"

#include <algorithm>
#include <utility>

namespace sim {

Pass PassBuilder::backward(const StageContent& stage, ActionKind kind, PassFlags flags)
{
    m_pass = {};
    m_nextWaits = 0;
    m_deferredWeights.clear();
    const bool weightsOnly = kind == ActionKind::backwardWeight;
    const Checked whole = Checked(flags.startsGradients ? accumulatedBytes(stage) : 0) +
                          (kind == ActionKind::backwardInput ? 0 : sharedGradientBytes(stage));
    if (const std::int64_t bytes = whole; bytes > 0) {
        waitFor(0);
        m_pass.ops.back().allocBytes = bytes;
        m_pass.ops.back().buffer = true;
    }
    const std::int64_t startedAhead = startedAheadBytes(stage, kind, flags);
    const auto holdAhead = [&](std::int64_t Op::*change) {
        if (startedAhead > 0)
            moment(kStartedAhead, change, startedAhead).buffer = true;
    };
    holdAhead(&Op::allocBytes);
    if (!weightsOnly) {
        receive(flags, Stream::sendBackward);
        // A backward pass is called with its gradient: what needs none of it, as what runs again, does not begin before it
        // either.
        if (m_nextWaits != 0 && !stage.buckets.empty() && !rerunsOf(stage.buckets.back()).empty())
            waitFor(0);
    }
    // For a frozen embedding's gradient nobody asks, nor for its parameters.
    const auto gathers = [&](std::size_t i) {
        const Bucket& bucket = stage.buckets[i];
        return flags.gathersParameters && !weightsOnly && !bucket.list.endsBackward && !bucket.usedAgain && !bucket.staysGathered;
    };
    const bool prefetches = m_scenario.training.overlap.paramGather;
    const auto count = stage.buckets.size();
    if (count > 0 && gathers(count - 1)) {
        gatherBucket(stage.buckets.back(), prefetches);
        waitFor(maskOf(Stream::dp));
    }
    const bool gathersLate = m_scenario.training.stack.gathersAfterReduction;
    for (std::size_t i = count; i-- > 0;) {
        const Bucket& bucket = stage.buckets[i];
        if (i > 0 && gathers(i - 1) && prefetches && !gathersLate)
            gatherBucket(stage.buckets[i - 1], true);
        if (gathers(i))
            unpackBucket(bucket, kind == ActionKind::backwardInput ? OpPurpose::backwardInput : OpPurpose::backward);
        m_layer = bucket.layer;
        if (weightsOnly) {
            weightPass(bucket);
        } else {
            if (isOffloaded(bucket)) {
                if (i + 1 == count)
                    bringFromHost(bucket);
                waitFor(maskOf(Stream::fromHost));
            }
            if (i > 0 && isOffloaded(stage.buckets[i - 1]))
                bringFromHost(stage.buckets[i - 1]);
            backwardBucket(bucket, kind);
        }
        if (gathers(i) || (flags.gathersParameters && !weightsOnly && bucket.usedAgain))
            releaseBucket(bucket);
        const auto awaitNext = [&] {
            if (!prefetches || gathersLate)
                gatherBucket(stage.buckets[i - 1], prefetches);
            waitFor(maskOf(Stream::dp));
        };
        // For the next bucket's parameters; this one's gradients are reduced meanwhile.
        if (i > 0 && gathers(i - 1) && !gathersLate)
            awaitNext();
        if (flags.reducesGradients && kind != ActionKind::backwardInput && m_scenario.training.overlap.gradReduce) {
            m_layer = bucket.layer;
            reduceBucket(bucket);
        }
        if (i > 0 && gathers(i - 1) && gathersLate)
            awaitNext();
    }
    m_layer = -1;
    for (const Bucket& bucket : stage.buckets)
        if (flags.gathersParameters && !weightsOnly && bucket.staysGathered && !bucket.usedAgain)
            releaseBucket(bucket);
    holdAhead(&Op::freeBytes);
    if (flags.reducesGradients && kind != ActionKind::backwardInput && reducesEveryMicrobatch(m_scenario) &&
        !m_scenario.training.overlap.gradReduce) {
        reduceMicrobatch(stage);
        // Before the next micro-batch: nothing runs beside it.
        waitFor(static_cast<StreamMask>(kDataParallelStreams | (gradientsOnHost(m_scenario) > 0 ? kHostStreams : 0)));
    }
    if (!weightsOnly && flags.receives && m_scenario.training.stack.keepsMessages)
        moment(kStageOutput, &Op::freeBytes, messageBytes());
    if (!weightsOnly)
        keepMessages(stage, flags);
    if (!weightsOnly)
        send(flags, Stream::sendBackward);
    return std::move(m_pass);
}

/// The tensor that the stage's input came in stays for the next step's, with the gradient that has been made of it, which the
/// next step drops; and so does what the last stage gave.
void PassBuilder::keepMessages(const StageContent& stage, PassFlags flags)
{
    const bool received = flags.sends && m_scenario.training.stack.keepsMessages;
    const Checked kept = Checked(keptOfMicrobatch(stage, received)) + (received ? keptInput(stage) : 0);
    if (kept > 0)
        moment(kKeptMessage, &Op::allocBytes, kept).buffer = true;
}

void PassBuilder::backwardBucket(const Bucket& bucket, ActionKind kind)
{
    m_ringOpen = false;
    if (bucket.list.endsBackward)
        return;
    if (bucket.recomputed) {
        m_again = true;
        forwardBucket(bucket, OpPurpose::recompute, true);
        m_again = false;
    }
    const std::vector<Rerun> reruns = rerunsOf(bucket);
    for (std::size_t i = bucket.list.operators.size(); i-- > 0;) {
        for (const Rerun& rerun : reruns)
            if (rerun.before == i)
                runAgain(bucket, rerun);
        if (overlapGradientGather(bucket, i, kind))
            --i;
        else
            backwardOperator(bucket, i, kind);
    }
    if (bucket.recomputed && !m_pass.ops.empty())
        m_pass.ops.back().freeBytes = checkedAdd(m_pass.ops.back().freeBytes, bucket.list.inputBytes - inputKeptAgain(bucket));
}

/// overlap.tp_comm, backward: the output's gradient is gathered in pieces, and each goes into the input gradient as it comes.
/// True if it took the collective and the product before it.
bool PassBuilder::overlapGradientGather(const Bucket& bucket, std::size_t index, ActionKind kind)
{
    const auto& operators = bucket.list.operators;
    const Operator& collective = operators[index];
    if (!m_scenario.training.overlap.tpComm || !m_scenario.layout.sequenceParallel || index == 0 ||
        collective.kind != OperatorKind::leaveTensorParallel || !hasWeights(operators[index - 1]) ||
        !collective.needsInputGradient)
        return false;
    const Operator& gemm = operators[index - 1];
    const bool split = kind == ActionKind::backwardInput;
    const OpPurpose purpose = split ? OpPurpose::backwardInput : OpPurpose::backward;
    OpShape piece =
        gemmShape(gemm, KernelPass::backward, std::max<std::int64_t>(1, gemm.m / kTensorOverlapPieces), gemm.k, gemm.n);
    piece.flops = gemm.flops / static_cast<double>(kTensorOverlapPieces);
    piece.bytes = gemm.backwardBytes / kTensorOverlapPieces;
    piece.pieces = static_cast<int>(ceilDivide(gemm.pieces, kTensorOverlapPieces));
    piece.narrowedBy = narrowedBy(bucket, index);
    const StreamMask before = static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits);
    const std::int64_t passing = passedGradients(gemm, split);
    for (int i = 0; i < kTensorOverlapPieces; ++i) {
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, collective.name,
                 gatheredOperand(bucket, index).piece(kTensorOverlapPieces), i == 0 ? before : StreamMask{0});
        compute(gemm, ".dgrad", purpose, piece);
        passBytes(gemm);
        if (i == 0) // pieces are slices of one tensor
            m_pass.ops.back().allocBytes = checkedAdd(m_pass.ops.back().allocBytes, passing);
    }
    Op& last = m_pass.ops.back();
    last.freeBytes =
        checkedAdd(checkedAdd(last.freeBytes, passing), keptBytes(gemm) - (trainsWeights(gemm) ? gemm.savedInputBytes : 0));
    if (split && trainsWeights(gemm))
        last.allocBytes = checkedAdd(last.allocBytes, gemm.savedGradientBytes);
    if (!split && trainsWeights(gemm))
        weightGradient(gemm, purpose, false);
    return true;
}

void PassBuilder::inputGradient(const Operator& op, OpPurpose purpose, bool split, int slices)
{
    switch (op.kind) {
    case OperatorKind::gemm:
        compute(op, ".dgrad", purpose, gemmShape(op, KernelPass::backward, op.m, op.k, op.n, slices));
        passBytes(op);
        if (op.weightless)
            compute(op, ".dgrad", purpose, gemmShape(op, KernelPass::backward, op.n, op.k, op.m));
        break;
    case OperatorKind::attention: {
        OpShape shape = memoryShape(op, KernelPass::backward);
        shape.kernel = KernelKind::attentionBackward;
        shape.flops = op.flops * op.backwardFlopsFactor;
        compute(op, ".backward", purpose, shape);
        break;
    }
    default:
        compute(op, ".backward", purpose, memoryShape(op, KernelPass::backward));
        break;
    }
    const std::int64_t passing = passedGradients(op, split);
    Op& last = m_pass.ops.back();
    last.allocBytes = checkedAdd(last.allocBytes, passing);
    last.freeBytes =
        checkedAdd(checkedAdd(last.freeBytes, passing), keptBytes(op) - (trainsWeights(op) ? op.savedInputBytes : 0));
    if (split && trainsWeights(op))
        last.allocBytes = checkedAdd(last.allocBytes, op.savedGradientBytes);
}

void PassBuilder::weightGradient(const Operator& op, OpPurpose purpose, bool split)
{
    compute(op, ".wgrad", purpose, gemmShape(op, KernelPass::weightGradient, op.k, op.n, op.m));
    // The gradient itself, before it is added to the others.
    const std::int64_t passing = checkedScale(op.parameters, m_scenario.training.stack.weightGradientBytes);
    m_pass.ops.back().allocBytes = passing;
    m_pass.ops.back().freeBytes = checkedAdd(passing, checkedAdd(op.savedInputBytes, split ? op.savedGradientBytes : 0));
}

/// Nothing before it is trained: only the gradient of its weights is needed, if at all.
void PassBuilder::backwardOfFirst(const Bucket& bucket, std::size_t index, ActionKind kind)
{
    const Operator& op = bucket.list.operators[index];
    if (!trainsWeights(op)) {
        if (const std::int64_t kept = keptBytes(op); kept > 0) { // what its module began with
            waitFor(0);
            m_pass.ops.back().freeBytes = kept;
        }
        return;
    }
    if (kind == ActionKind::backwardInput) {
        waitFor(0);
        m_pass.ops.back().label = m_labels.intern(op.name);
        m_pass.ops.back().allocBytes = op.savedGradientBytes;
        return;
    }
    if (const auto gathering = gatheringOf(bucket.list.operators, index); gathering && regathersInputs())
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(op), gatheredOperand(bucket, *gathering),
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
    weightGradient(op, OpPurpose::backward, false);
}

void PassBuilder::backwardOperator(const Bucket& bucket, std::size_t index, ActionKind kind)
{
    const auto& operators = bucket.list.operators;
    const Operator& op = operators[index];
    const bool split = kind == ActionKind::backwardInput;
    const OpPurpose purpose = split ? OpPurpose::backwardInput : OpPurpose::backward;
    const bool sequenceParallel = m_scenario.layout.sequenceParallel;
    if (!op.needsInputGradient) {
        backwardOfFirst(bucket, index, kind);
        return;
    }

    if (isCompute(op)) {
        // Keys, values and their gradients go round once more; the first exchange runs beside the first block.
        const bool ringFollows = index > 0 && operators[index - 1].kind == OperatorKind::ringExchange;
        if (op.kind == OperatorKind::attention && index > 0 && operators[index - 1].kind == OperatorKind::gatherKeys)
            exchange(CommunicatorRole::cp, CollectiveKind::allGather, operators[index - 1].name, operators[index - 1].commBytes,
                     m_nextWaits); // a fused kernel has kept its own block
        if (op.kind == OperatorKind::attention && ringFollows && !m_ringOpen) {
            communicate(CommunicatorRole::cp, CollectiveKind::ringShift, "attn.ring",
                        checkedMultiply(ringBackwardFactor(m_scenario.training), operators[index - 1].commBytes));
            m_ringOpen = true;
        } else if (op.kind == OperatorKind::attention && m_ringOpen) {
            m_nextWaits |= maskOf(Stream::cp);
        }
        const std::optional<std::size_t> gathering = gatheringOf(operators, index);
        const bool regathers = trainsWeights(op) && gathering && regathersInputs() && !split;
        if (regathers) { // the weight gradient needs the whole input, of which a slice was kept; runs beside the input gradient
            const StreamMask before = m_nextWaits;
            communicate(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(op), gatheredOperand(bucket, *gathering),
                        before);
        }
        const bool isReduced = index + 1 < operators.size() && operators[index + 1].kind == OperatorKind::leaveTensorParallel;
        inputGradient(op, purpose, split, isReduced ? narrowedBy(bucket, index + 1) : 1);
        if (!trainsWeights(op) || split)
            return;
        if (gathering && !m_scenario.training.stack.plainTensorParallel) {
            if (regathers)
                waitFor(maskOf(Stream::tp));
            m_deferredWeights.push_back(&op); // runs beside the reduction of the input gradient
        } else {
            weightGradient(op, purpose, false);
        }
        return;
    }
    switch (op.kind) {
    case OperatorKind::enterTensorParallel:
        for (int reduction = 0; reduction < op.reductions; ++reduction) {
            copySequence(op, purpose);
            communicate(CommunicatorRole::tp, sequenceParallel ? CollectiveKind::reduceScatter : CollectiveKind::allReduce,
                        op.name, op.commBytes);
        }
        for (const Operator* deferred : std::exchange(m_deferredWeights, {}))
            weightGradient(*deferred, purpose, false);
        m_nextWaits |= maskOf(Stream::tp);
        break;
    case OperatorKind::leaveTensorParallel:
        if (sequenceParallel) {
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, gatheredOperand(bucket, index),
                     static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
            copySequence(op, purpose);
        }
        break;
    case OperatorKind::gatherLatent:
    case OperatorKind::reduceLatent:
        exchange(CommunicatorRole::tp, CollectiveKind::allReduce, op.name, op.commBytes,
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    case OperatorKind::gatherOutput:
        if (sequenceParallel)
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, op.commBytes,
                     static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    case OperatorKind::exchangeHeads:
        exchange(CommunicatorRole::cp, CollectiveKind::allToAll, op.name, op.commBytes,
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    case OperatorKind::gatherHeads:
        exchange(CommunicatorRole::tp, CollectiveKind::reduceScatter, op.name, op.commBytes,
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    case OperatorKind::dropTokens: // of the gradients of what each has gone on with
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, op.commBytes,
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    case OperatorKind::ringExchange: {
        const bool first = index + 2 >= operators.size() || operators[index + 2].kind != OperatorKind::ringExchange;
        if (!first) // later exchanges follow the one before on their stream
            communicate(CommunicatorRole::cp, CollectiveKind::ringShift, op.name,
                        checkedMultiply(ringBackwardFactor(m_scenario.training), op.commBytes), 0);
        break;
    }
    case OperatorKind::gatherKeys: // of the gradients; the product before makes queries', keys' and values' with all of them
        exchange(CommunicatorRole::cp, CollectiveKind::reduceScatter, op.name, op.commBytes);
        break;
    case OperatorKind::dispatchTokens:
    case OperatorKind::combineTokens: { // gradients come back from where tokens went, and go to where results came from
        const MoeSettings& moe = m_scenario.training.moe;
        const bool isDispatch = op.kind == OperatorKind::dispatchTokens;
        const std::int64_t elements = op.commBytes / (isDispatch ? moe.dispatchBytes : moe.combineBytes);
        exchange(CommunicatorRole::ep, CollectiveKind::allToAll, op.name,
                 checkedMultiply(elements, isDispatch ? moe.combineBytes : moe.dispatchBytes),
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    }
    case OperatorKind::enterExpertTensor:
    case OperatorKind::leaveExpertTensor:
        exchange(CommunicatorRole::exptTp,
                 op.kind == OperatorKind::enterExpertTensor ? CollectiveKind::reduceScatter : CollectiveKind::allGather, op.name,
                 op.commBytes, static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    default:
        break;
    }
}

void PassBuilder::weightPass(const Bucket& bucket)
{
    const auto& operators = bucket.list.operators;
    for (std::size_t i = operators.size(); i-- > 0;) {
        if (!trainsWeights(operators[i]))
            continue;
        if (const auto gathering = gatheringOf(operators, i); gathering && regathersInputs())
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(operators[i]),
                     gatheredOperand(bucket, *gathering));
        weightGradient(operators[i], OpPurpose::backwardWeight, true);
    }
}

} // namespace sim
