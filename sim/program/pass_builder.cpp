#include "sim/program/pass_builder.h"

#include "sim/checked.h"
#include "sim/model/parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sim {
namespace {

/// Pieces in which a tensor-parallel collective overlaps its GEMM (overlap.tp_comm), as user buffers of Transformer Engine do.
constexpr std::int64_t kTensorOverlapPieces = 4;

OpShape gemmShape(const Operator& op, KernelPass pass, std::int64_t m, std::int64_t n, std::int64_t k, int slices = 1)
{
    return {.kernel = op.routed ? KernelKind::groupedGemm : KernelKind::gemm,
            .family = op.family,
            .pass = pass,
            .lowPrecision = op.lowPrecision,
            .narrowedBy = slices,
            .m = m,
            .n = n,
            .k = k,
            .batch = op.batch,
            .flops = op.flops};
}

OpShape memoryShape(const Operator& op, KernelPass pass)
{
    return {.family = op.family,
            .pass = pass,
            .m = op.m,
            .n = op.n,
            .k = op.k,
            .batch = op.batch,
            .bytes = pass == KernelPass::forward ? op.forwardBytes : op.backwardBytes};
}

OpShape forwardShape(const Operator& op)
{
    if (op.kind == OperatorKind::gemm)
        return gemmShape(op, KernelPass::forward, op.m, op.n, op.k);
    OpShape shape = memoryShape(op, KernelPass::forward);
    if (op.kind == OperatorKind::attention) {
        shape.kernel = KernelKind::attentionForward;
        shape.flops = op.flops;
    }
    return shape;
}

/// Of collectives.
Stream streamOf(CommunicatorRole role)
{
    constexpr ByDimension<Stream> kStreams{{Stream::tp, Stream::cp, Stream::ep, Stream::sendForward, Stream::dp}};
    return role == CommunicatorRole::dpReplicate ? Stream::replicas : kStreams[dimensionOf(role)];
}

bool hasWeights(const Operator& op)
{
    return op.kind == OperatorKind::gemm && !op.weightless;
}

bool trainsWeights(const Operator& op)
{
    return hasWeights(op) && !op.frozen;
}

} // namespace

std::optional<std::size_t> gatheringOf(const std::vector<Operator>& operators, std::size_t index)
{
    const auto isGathering = [&](std::size_t i) { return operators[i].kind == OperatorKind::enterTensorParallel; };
    if (index > 0 && isGathering(index - 1))
        return index - 1;
    if (index > 1 && !operators[index].frozen && operators[index - 1].frozen && hasWeights(operators[index - 1]) &&
        isGathering(index - 2))
        return index - 2;
    return std::nullopt;
}

std::string_view regatherName(const Operator& op)
{
    return op.name == "mtp.projection" ? "mtp.regather" : "regather";
}

/// Narayanan et al. 2021, section 4.1: the ranks of a tensor-parallel group have the same output.
bool scattersSends(const Scenario& scenario)
{
    return scenario.training.stack.scattersSends && scenario.layout.tp > 1 && !scenario.layout.sequenceParallel;
}

ParameterElements StageContent::parameters() const
{
    ParameterElements sum;
    for (const Bucket& bucket : buckets)
        sum += bucket.parameters();
    return sum;
}

ParameterElements Bucket::parameters() const
{
    const std::int64_t routed = list.routedParameters();
    return {.dense = list.parameters() - routed,
            .routed = routed,
            .frozenDense = list.frozenParameters(false),
            .frozenRouted = list.frozenParameters(true)};
}

PassBuilder::PassBuilder(const Scenario& scenario, Labels& labels)
    : m_scenario(scenario), m_labels(labels), m_stateBytes(StateBytes::of(scenario.training)),
      m_rankParameters(static_cast<double>(scenario.model.lora.isOn() ? trainableParameterCount(scenario.model)
                                                                      : parameterCount(scenario.model)) /
                       (1.0 * scenario.layout.tp * scenario.layout.pp)),
      m_rankShards(
          std::min(1.0 * scenario.layout.dpShard, static_cast<double>(trainableTensorCount(scenario.model)) / scenario.layout.pp))
{
}

Op& PassBuilder::emit(Op op, const OpShape& shape)
{
    op.layer = static_cast<std::int16_t>(m_layer);
    op.again = m_again;
    m_pass.ops.push_back(op);
    m_pass.shapes.push_back(shape);
    return m_pass.ops.back();
}

void PassBuilder::compute(const Operator& source, std::string_view suffix, OpPurpose purpose, const OpShape& shape)
{
    emit({.waits = std::exchange(m_nextWaits, StreamMask{0}), .purpose = purpose, .label = m_labels.intern(source.name, suffix)},
         shape);
}

bool PassBuilder::sendsShards() const
{
    return m_scenario.training.stack.sendsShards && m_scenario.layout.zeroStage == 1;
}

void PassBuilder::communicate(CommunicatorRole group, CollectiveKind kind, std::string_view name, std::int64_t bytes,
                              StreamMask waits)
{
    // Shards that travel by themselves: so many messages over all buckets of the rank.
    std::int64_t messages = 1;
    if (group == CommunicatorRole::dpShard && kind == CollectiveKind::allGather && sendsShards()) {
        const double share = static_cast<double>(bytes) / std::max(1.0, m_rankParameters * m_stateBytes.parameter);
        messages = std::max<std::int64_t>(1, std::llround(std::min(1.0, share) * m_rankShards));
    }
    if (communicatorSize(group, m_scenario) > 1)
        emit({.kind = OpKind::collective,
              .stream = streamOf(group),
              .waits = waits,
              .group = group,
              .purpose = OpPurpose::communication,
              .label = m_labels.intern(name)},
             {.collective = kind, .batch = messages, .bytes = bytes});
}

void PassBuilder::exchange(CommunicatorRole group, CollectiveKind kind, std::string_view name, std::int64_t bytes,
                           StreamMask waits)
{
    communicate(group, kind, name, bytes, waits);
    m_nextWaits |= maskOf(streamOf(group));
}

void PassBuilder::waitFor(StreamMask streams)
{
    emit({.kind = OpKind::wait,
          .waits = static_cast<StreamMask>(streams | std::exchange(m_nextWaits, StreamMask{0})),
          .label = m_labels.intern("wait")},
         {});
}

void PassBuilder::receive(PassFlags flags, Stream matching)
{
    if (!flags.receives)
        return;
    emit({.kind = OpKind::receive,
          .stream = Stream::receive,
          .purpose = OpPurpose::communication,
          .label = m_labels.intern(matching == Stream::sendForward ? "receive activation" : "receive gradient")},
         {});
    m_nextWaits |= maskOf(Stream::receive);
    if (scattersSends(m_scenario)) {
        const Sharding sharding = Sharding::of(m_scenario);
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, "receive.gather",
                 Checked(sharding.localTokens()) * m_scenario.model.hiddenSize * sharding.bytesPerElement,
                 std::exchange(m_nextWaits, StreamMask{0}));
    }
}

void PassBuilder::send(PassFlags flags, Stream stream)
{
    if (!flags.sends)
        return;
    emit({.kind = OpKind::send,
          .stream = stream,
          .waits = static_cast<StreamMask>(maskOf(Stream::compute) | std::exchange(m_nextWaits, StreamMask{0})),
          .purpose = OpPurpose::communication,
          .label = m_labels.intern(stream == Stream::sendForward ? "send activation" : "send gradient")},
         {});
    if (!m_scenario.training.overlap.p2p)
        waitFor(maskOf(stream));
}

std::int64_t PassBuilder::keptBytes(const Operator& op) const
{
    return Checked(op.savedBytes) + op.savedInputBytes + moduleInputBytes(op);
}

/// Sequence parallelism gathers in 8 bits: at an enterTensorParallel the operand of the product that follows, at a
/// leaveTensorParallel backwards that of the input gradient of the product before it.
bool PassBuilder::gathersNarrow(const Bucket& bucket, std::size_t index) const
{
    if (!m_scenario.training.stack.narrowGather || !isNarrow(m_scenario.training.precision) ||
        !m_scenario.layout.sequenceParallel)
        return false;
    const auto& operators = bucket.list.operators;
    if (operators[index].kind == OperatorKind::leaveTensorParallel)
        return index > 0 && hasWeights(operators[index - 1]) && operators[index - 1].lowPrecision;
    const auto readsNarrow = [&](std::size_t i) { return gatheringOf(operators, i) != index || operators[i].lowPrecision; };
    return operators[index].kind == OperatorKind::enterTensorParallel && index + 1 < operators.size() &&
           operators[index + 1].lowPrecision && (index + 2 >= operators.size() || readsNarrow(index + 2));
}

std::int64_t PassBuilder::gatheredOperandBytes(const Bucket& bucket, std::size_t index) const
{
    return bucket.list.operators[index].commBytes /
           (gathersNarrow(bucket, index) ? narrowingOf(m_scenario.training.precision) : 1);
}

int PassBuilder::narrowedBy(const Bucket& bucket, std::optional<std::size_t> gathering) const
{
    return gathering && gathersNarrow(bucket, *gathering) ? m_scenario.layout.tp : 1;
}

// Forward ---------------------------------------------------------------------------------------------------------------------

Pass PassBuilder::forward(const StageContent& stage, PassFlags flags, const StageContent* next)
{
    m_pass = {};
    m_nextWaits = 0;
    const bool prefetches = m_scenario.training.overlap.paramGather;
    if (flags.gathersParameters && gathersChunks(m_scenario)) {
        // Megatron-LM's schedules: a chunk's gathering begins with the chunk before it, however late that one's input comes.
        waitFor(maskOf(Stream::dp));
        if (next != nullptr)
            gatherAhead(*next);
        flags.gathersParameters = false;
    }
    receive(flags, Stream::sendForward);
    if (flags.gathersParameters && (flags.releasesParameters || !prefetches) && !stage.buckets.empty())
        gatherBucket(stage.buckets.front(), prefetches);
    for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
        const Bucket& bucket = stage.buckets[i];
        if (flags.gathersParameters) {
            if (!prefetches && i > 0)
                gatherBucket(bucket, false);
            waitFor(maskOf(Stream::dp));
            // Not earlier than this bucket starts: gathered parameters take memory.
            if (prefetches && i + 1 < stage.buckets.size())
                gatherBucket(stage.buckets[i + 1], true);
            else if (prefetches && next != nullptr)
                gatherAhead(*next);
        }
        m_layer = bucket.layer;
        forwardBucket(bucket, OpPurpose::forward, !bucket.recomputed);
        awaitHost();
        if (isOffloaded(bucket))
            sendToHost(bucket);
        if (flags.releasesParameters && !bucket.usedAgain)
            releaseBucket(bucket);
    }
    m_layer = -1;
    send(flags, Stream::sendForward);
    awaitHost();
    return std::move(m_pass);
}

void PassBuilder::forwardBucket(const Bucket& bucket, OpPurpose purpose, bool keep)
{
    m_ringOpen = false;
    const std::size_t firstOp = m_pass.ops.size();
    for (std::size_t i = 0; i < bucket.list.operators.size(); ++i) {
        if (purpose == OpPurpose::recompute && dropsUnread(bucket.list.operators[i]))
            continue;
        const std::size_t consumed = overlapTensorCollective(bucket, i, purpose, keep);
        if (consumed > 0)
            i += consumed - 1;
        else
            forwardOperator(bucket, i, purpose, keep);
    }
    if (!keep && purpose == OpPurpose::forward && firstOp < m_pass.ops.size())
        m_pass.ops[firstOp].allocBytes = checkedAdd(m_pass.ops[firstOp].allocBytes, bucket.list.inputBytes);
}

/// overlap.tp_comm: all-gather and GEMM, or GEMM and reduce-scatter, in pieces that run beside each other. Returns how many
/// operators it took.
std::size_t PassBuilder::overlapTensorCollective(const Bucket& bucket, std::size_t index, OpPurpose purpose, bool keep)
{
    const auto& operators = bucket.list.operators;
    if (!m_scenario.training.overlap.tpComm || !m_scenario.layout.sequenceParallel || index + 1 >= operators.size())
        return 0;
    const Operator& first = operators[index];
    const Operator& second = operators[index + 1];
    const bool gathers = first.kind == OperatorKind::enterTensorParallel && second.kind == OperatorKind::gemm;
    const bool reduces = first.kind == OperatorKind::gemm && second.kind == OperatorKind::leaveTensorParallel;
    if (!gathers && !reduces)
        return 0;
    const Operator& collective = gathers ? first : second;
    if (m_rerunModule && !collective.modules.has(*m_rerunModule))
        return 0;
    Operator part;
    const Operator& gemm = asRun(gathers ? second : first, part);
    OpShape piece =
        gemmShape(gemm, KernelPass::forward, std::max<std::int64_t>(1, gemm.m / kTensorOverlapPieces), gemm.n, gemm.k);
    piece.flops = gemm.flops / static_cast<double>(kTensorOverlapPieces);
    piece.narrowedBy = narrowedBy(bucket, gatheringOf(operators, gathers ? index + 1 : index));
    const std::int64_t bytes = (gathers ? gatheredOperandBytes(bucket, index) : collective.commBytes) / kTensorOverlapPieces;
    for (int i = 0; i < kTensorOverlapPieces; ++i) {
        if (gathers) { // gathering needs only the kernel before; each piece of the GEMM needs its own piece of the input
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, collective.name, bytes,
                     i == 0 ? maskOf(Stream::compute) : StreamMask{0});
        }
        compute(gemm, "", purpose, piece);
        if (i == 0 && keep)
            m_pass.ops.back().allocBytes = allocatedBytes(gemm);
        if (reduces)
            communicate(CommunicatorRole::tp, CollectiveKind::reduceScatter, collective.name, bytes);
    }
    if (reduces)
        m_nextWaits |= maskOf(Stream::tp);
    return 2;
}

void PassBuilder::forwardOperator(const Bucket& bucket, std::size_t index, OpPurpose purpose, bool keep)
{
    const auto& operators = bucket.list.operators;
    const Operator& op = operators[index];
    const bool sequenceParallel = m_scenario.layout.sequenceParallel;
    switch (op.kind) {
    case OperatorKind::gemm:
    case OperatorKind::attention:
    case OperatorKind::elementwise: {
        const bool ringFollows = index + 1 < operators.size() && operators[index + 1].kind == OperatorKind::ringExchange;
        if (op.kind == OperatorKind::attention && !op.overlapsRing &&
            ringFollows) { // the first exchange runs beside the first block
            communicate(CommunicatorRole::cp, CollectiveKind::ringShift, "attn.ring", operators[index + 1].commBytes);
            m_ringOpen = true;
        }
        if (op.overlapsRing)
            m_nextWaits |= maskOf(Stream::cp);
        Operator part;
        const Operator& run = asRun(op, part);
        OpShape shape = forwardShape(run);
        shape.narrowedBy = narrowedBy(bucket, gatheringOf(operators, index));
        compute(run, "", purpose, shape);
        if (keep)
            m_pass.ops.back().allocBytes = allocatedBytes(op);
        break;
    }
    case OperatorKind::enterTensorParallel:
        if (sequenceParallel) {
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, gatheredOperandBytes(bucket, index));
        }
        break;
    case OperatorKind::leaveTensorParallel:
        exchange(CommunicatorRole::tp, sequenceParallel ? CollectiveKind::reduceScatter : CollectiveKind::allReduce, op.name,
                 op.commBytes);
        break;
    case OperatorKind::syncLoss:
    case OperatorKind::reduceLatent:
        exchange(CommunicatorRole::tp, CollectiveKind::allReduce, op.name, op.commBytes);
        break;
    case OperatorKind::gatherLatent:
    case OperatorKind::gatherOutput:
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, op.commBytes);
        break;
    case OperatorKind::ringExchange:
        if (std::exchange(m_ringOpen, false) && operators[index - 1].kind == OperatorKind::attention &&
            !operators[index - 1].overlapsRing)
            break; // went out with the first block
        communicate(CommunicatorRole::cp, CollectiveKind::ringShift, op.name, op.commBytes, 0);
        break;
    case OperatorKind::gatherKeys:
        exchange(CommunicatorRole::cp, CollectiveKind::allGather, op.name, op.commBytes);
        break;
    case OperatorKind::dispatchTokens:
    case OperatorKind::combineTokens:
        exchange(CommunicatorRole::ep, CollectiveKind::allToAll, op.name, op.commBytes);
        break;
    case OperatorKind::enterExpertTensor:
        exchange(CommunicatorRole::exptTp, CollectiveKind::allGather, op.name, op.commBytes,
                 static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
        break;
    case OperatorKind::leaveExpertTensor:
        exchange(CommunicatorRole::exptTp, CollectiveKind::reduceScatter, op.name, op.commBytes);
        break;
    }
}

// Backward --------------------------------------------------------------------------------------------------------------------

Pass PassBuilder::backward(const StageContent& stage, ActionKind kind, PassFlags flags)
{
    m_pass = {};
    m_nextWaits = 0;
    m_deferredWeights.clear();
    const bool weightsOnly = kind == ActionKind::backwardWeight;
    const Checked whole = Checked(flags.startsGradients ? accumulatedBytes(stage.parameters().trained()) : 0) +
                          (kind == ActionKind::backwardInput ? 0 : sharedGradientBytes(stage));
    if (const std::int64_t bytes = whole; bytes > 0) {
        waitFor(0);
        m_pass.ops.back().allocBytes = bytes;
        m_pass.ops.back().buffer = true;
    }
    if (!weightsOnly)
        receive(flags, Stream::sendBackward);
    // For a frozen embedding's gradient nobody asks, nor for its parameters.
    const auto gathers = [&](std::size_t i) {
        return flags.gathersParameters && !weightsOnly && !stage.buckets[i].list.endsBackward && !stage.buckets[i].usedAgain;
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
            reduceBucket(bucket.parameters().trained(), bucket.usedAgain);
        }
        if (i > 0 && gathers(i - 1) && gathersLate)
            awaitNext();
    }
    m_layer = -1;
    if (flags.reducesGradients && kind != ActionKind::backwardInput && reducesEveryMicrobatch(m_scenario) &&
        !m_scenario.training.overlap.gradReduce) {
        reduceBucket(stage.parameters().trained());
        m_nextWaits |= kDataParallelStreams;
    }
    if (!weightsOnly)
        send(flags, Stream::sendBackward);
    return std::move(m_pass);
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
        m_pass.ops.back().freeBytes = checkedAdd(m_pass.ops.back().freeBytes, bucket.list.inputBytes);
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
    piece.narrowedBy = narrowedBy(bucket, index);
    const StreamMask before = static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits);
    for (int i = 0; i < kTensorOverlapPieces; ++i) {
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, collective.name,
                 gatheredOperandBytes(bucket, index) / kTensorOverlapPieces, i == 0 ? before : StreamMask{0});
        compute(gemm, ".dgrad", purpose, piece);
    }
    Op& last = m_pass.ops.back();
    last.freeBytes = checkedAdd(last.freeBytes, keptBytes(gemm) - (trainsWeights(gemm) ? gemm.savedInputBytes : 0));
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
    Op& last = m_pass.ops.back();
    last.freeBytes = checkedAdd(last.freeBytes, keptBytes(op) - (trainsWeights(op) ? op.savedInputBytes : 0));
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
    if (const auto gathering = gatheringOf(bucket.list.operators, index); gathering && m_scenario.layout.sequenceParallel)
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(op), gatheredOperandBytes(bucket, *gathering),
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
                        checkedMultiply(2, operators[index - 1].commBytes));
            m_ringOpen = true;
        } else if (op.kind == OperatorKind::attention && m_ringOpen) {
            m_nextWaits |= maskOf(Stream::cp);
        }
        const std::optional<std::size_t> gathering = gatheringOf(operators, index);
        const bool regathers = trainsWeights(op) && gathering && sequenceParallel && !split;
        if (regathers) { // the weight gradient needs the whole input, of which a slice was kept; runs beside the input gradient
            const StreamMask before = m_nextWaits;
            communicate(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(op),
                        gatheredOperandBytes(bucket, *gathering), before);
        }
        const bool isReduced = index + 1 < operators.size() && operators[index + 1].kind == OperatorKind::leaveTensorParallel;
        inputGradient(op, purpose, split, isReduced ? narrowedBy(bucket, index + 1) : 1);
        if (!trainsWeights(op) || split)
            return;
        if (gathering) {
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
        communicate(CommunicatorRole::tp, sequenceParallel ? CollectiveKind::reduceScatter : CollectiveKind::allReduce, op.name,
                    op.commBytes);
        for (const Operator* deferred : std::exchange(m_deferredWeights, {}))
            weightGradient(*deferred, purpose, false);
        m_nextWaits |= maskOf(Stream::tp);
        break;
    case OperatorKind::leaveTensorParallel:
        if (sequenceParallel) {
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, gatheredOperandBytes(bucket, index),
                     static_cast<StreamMask>(maskOf(Stream::compute) | m_nextWaits));
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
    case OperatorKind::ringExchange: {
        const bool first = index + 2 >= operators.size() || operators[index + 2].kind != OperatorKind::ringExchange;
        if (!first) // later exchanges follow the one before on their stream
            communicate(CommunicatorRole::cp, CollectiveKind::ringShift, op.name, checkedMultiply(2, op.commBytes), 0);
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
        if (const auto gathering = gatheringOf(operators, i); gathering && m_scenario.layout.sequenceParallel)
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, regatherName(operators[i]),
                     gatheredOperandBytes(bucket, *gathering));
        weightGradient(operators[i], OpPurpose::backwardWeight, true);
    }
}

} // namespace sim
