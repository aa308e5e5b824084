#include "sim/program/pass_builder.h"

#include "sim/checked.h"
#include "sim/model/parameters.h"
#include "sim/program/operator_shapes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sim {
namespace {

/// Of collectives.
Stream streamOf(CommunicatorRole role)
{
    constexpr ByDimension<Stream> kStreams{{Stream::tp, Stream::cp, Stream::ep, Stream::sendForward, Stream::dp}};
    const bool isOfReplicas = role == CommunicatorRole::dpReplicate || role == CommunicatorRole::exptReplicate;
    return isOfReplicas ? Stream::replicas : kStreams[dimensionOf(role)];
}

/// Of kernels that are no products and make one tensor of others. Residual sums hand on the gradient that they get, the loss has
/// its gradients among what it keeps, and what moves keys or tokens is counted by how often it moves them.
bool hasOwnGradients(KernelFamily family)
{
    return family == KernelFamily::norm || family == KernelFamily::activation || family == KernelFamily::softmax;
}

} // namespace

std::optional<std::size_t> gatheringOf(const std::vector<Operator>& operators, std::size_t index)
{
    const auto isGathering = [&](std::size_t i) { return operators[i].kind == OperatorKind::enterTensorParallel; };
    if (index > 0 && isGathering(index - 1))
        return index - 1;
    if (index == 0 || operators[index].frozen)
        return std::nullopt;
    const std::size_t behind = operators[index - 1].kind == OperatorKind::elementwise ? index - 1 : index; // its dropout
    if (behind > 1 && operators[behind - 1].frozen && hasWeights(operators[behind - 1]) && isGathering(behind - 2))
        return behind - 2;
    return std::nullopt;
}

std::string_view regatherName(const Operator& op)
{
    return op.name == "mtp.projection" ? "mtp.regather"
           : op.name == "attn.q_up"    ? "attn.q_regather"
           : op.name == "attn.kv_up"   ? "attn.kv_regather"
                                       : "regather";
}

/// Narayanan et al. 2021, section 4.1: the ranks of a tensor-parallel group have the same output.
std::int64_t sentBytes(const Scenario& scenario, const Sharding& sharding)
{
    return Checked(sharding.localTokens()) * scenario.model.hiddenSize * sharding.bytesPerElement /
           (scattersSends(scenario) ? scenario.layout.tp : 1);
}

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
            .frozenRouted = list.frozenParameters(true),
            .narrow = list.narrowWeights()};
}

PassBuilder::PassBuilder(const Scenario& scenario, Labels& labels)
    : m_scenario(scenario), m_labels(labels), m_stateBytes(StateBytes::of(scenario.training))
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

/// Of a tensor that is cut along the sequence (Stack::sequenceCopyBytes).
void PassBuilder::copySequence(const Operator& op, OpPurpose purpose)
{
    const double each = m_scenario.training.stack.sequenceCopyBytes / elementBytes(m_scenario.training.precision);
    if (m_scenario.layout.sequenceParallel && each > 0)
        compute(op, ".copy", purpose, {.bytes = checkedScale(op.commBytes, each)});
}

bool PassBuilder::reducesWhole() const
{
    const Stack& stack = m_scenario.training.stack;
    return (stack.sendsShards || stack.reducesWhole) && m_scenario.layout.zeroStage == 1;
}

bool PassBuilder::regathersInputs() const
{
    return m_scenario.layout.sequenceParallel && !m_scenario.training.stack.plainTensorParallel;
}

bool PassBuilder::sendsShards() const
{
    return m_scenario.training.stack.sendsShards && m_scenario.layout.zeroStage == 1;
}

/// Of shards that travel by themselves: so many messages over all buckets of the rank, by their bytes.
std::int64_t PassBuilder::messagesOf(std::int64_t gatheredBytes)
{
    if (!m_rankShards) {
        const Model& model = m_scenario.model;
        const Layout& layout = m_scenario.layout;
        const auto trained = static_cast<double>(model.lora.isOn() ? trainableParameterCount(model) : parameterCount(model));
        m_rankShards = {.bytes = trained / (1.0 * layout.tp * layout.pp) * m_stateBytes.parameter,
                        .count = std::min(1.0 * layout.dpShard, static_cast<double>(trainableTensorCount(model)) / layout.pp)};
    }
    const double share = static_cast<double>(gatheredBytes) / std::max(1.0, m_rankShards->bytes);
    return std::max<std::int64_t>(1, std::llround(std::min(1.0, share) * m_rankShards->count));
}

void PassBuilder::communicate(CommunicatorRole group, CollectiveKind kind, std::string_view name, SentTensor sent,
                              StreamMask waits, int pieces)
{
    const bool isOfTokens = group == CommunicatorRole::ep || group == CommunicatorRole::exptTp;
    std::int64_t messages = 1;
    if (group == CommunicatorRole::dpShard && kind == CollectiveKind::allGather && sendsShards())
        messages = messagesOf(sent.bytes);
    if (communicatorSize(group, m_scenario) > 1)
        emit({.kind = OpKind::collective,
              .stream = streamOf(group),
              .waits = waits,
              .group = group,
              .purpose = OpPurpose::communication,
              .label = m_labels.intern(name)},
             {.collective = kind,
              .routed = isOfTokens,
              .narrowedBy = sent.narrowedBy,
              .pieces = pieces,
              .piecesOfTrip = sent.ofPieces,
              .amongAll = sent.amongAll,
              .batch = messages,
              .bytes = sent.bytes});
}

void PassBuilder::exchange(CommunicatorRole group, CollectiveKind kind, std::string_view name, SentTensor sent, StreamMask waits,
                           int pieces)
{
    communicate(group, kind, name, sent, waits, pieces);
    m_nextWaits |= maskOf(streamOf(group));
}

/// The last kernel was the operator's: what it holds while it runs.
void PassBuilder::passBytes(const Operator& op)
{
    Op& kernel = m_pass.ops.back();
    kernel.allocBytes = checkedAdd(kernel.allocBytes, op.passingBytes);
    kernel.freeBytes = checkedAdd(kernel.freeBytes, op.passingBytes);
}

/// While the operator's input gradient is made, gradients of results and of inputs are there beside all that is kept
/// (Stack::passesGradients). With a split backward pass those of a product's results are kept.
std::int64_t PassBuilder::passedGradients(const Operator& op, bool split) const
{
    if (!m_scenario.training.stack.passesGradients)
        return 0;
    Checked bytes;
    if (op.kind == OperatorKind::attention || (op.kind == OperatorKind::elementwise && !op.routed && hasOwnGradients(op.family)))
        bytes = op.forwardBytes; // one for all that it reads and writes
    if (op.kind == OperatorKind::gemm) {
        const bool keepsResults = split && trainsWeights(op);
        const Checked inputs = Checked(op.m) * op.k + (op.weightless ? Checked(op.k) * op.n : Checked(0));
        const Checked results = keepsResults ? Checked(0) : Checked(op.m) * op.n;
        bytes = op.batch * (inputs + results) * elementBytes(m_scenario.training.precision) / op.pieces;
    }
    return bytes;
}

void PassBuilder::waitFor(StreamMask streams)
{
    emit({.kind = OpKind::wait,
          .waits = static_cast<StreamMask>(streams | std::exchange(m_nextWaits, StreamMask{0})),
          .label = m_labels.intern("wait")},
         {});
}

Op& PassBuilder::moment(std::string_view name, std::int64_t Op::*change, std::int64_t bytes)
{
    const StreamMask pending = std::exchange(m_nextWaits, StreamMask{0});
    waitFor(0);
    m_nextWaits = pending;
    Op& op = m_pass.ops.back();
    op.*change = bytes;
    op.label = m_labels.intern(name);
    return op;
}

std::int64_t PassBuilder::messageBytes() const
{
    const Sharding sharding = Sharding::of(m_scenario);
    return Checked(sharding.localTokens()) * m_scenario.model.hiddenSize * sharding.bytesPerElement;
}

std::int64_t PassBuilder::keptInput(const StageContent& stage) const
{
    if (stage.buckets.empty() || scattersSends(m_scenario)) // what is gathered of the pieces is a tensor of its own
        return 0;
    const Bucket& first = stage.buckets.front();
    return std::min(messageBytes(), first.recomputed ? first.list.inputBytes : inputKeptAgain(first));
}

std::int64_t PassBuilder::outputBytes(const StageContent& stage) const
{
    if (!m_scenario.training.stack.keepsOutputs || m_scenario.layout.pp == 1 || m_scenario.training.lossChunkTokens > 0)
        return 0;
    Checked bytes = 0;
    for (const Bucket& bucket : stage.buckets)
        for (const Operator& op : bucket.list.operators)
            if (op.name == "head.logits")
                bytes += Checked(op.m) * op.n * Sharding::of(m_scenario).bytesPerElement;
    return bytes;
}

std::int64_t PassBuilder::keptOfMicrobatch(const StageContent& stage, bool receivesInput) const
{
    const bool keeps = receivesInput && m_scenario.training.stack.keepsMessages;
    return Checked(keeps ? sentBytes(m_scenario, Sharding::of(m_scenario)) : 0) + outputBytes(stage);
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
    // A sum that the output waits for, as of an embedding alone on its stage: kernels behind it on this rank do as well.
    if (m_nextWaits != 0)
        waitFor(0);
    if (!flags.sends)
        return;
    emit({.kind = OpKind::send,
          .stream = stream,
          .waits = maskOf(Stream::compute),
          .purpose = OpPurpose::communication,
          .label = m_labels.intern(stream == Stream::sendForward ? "send activation" : "send gradient")},
         {});
    if (!m_scenario.training.overlap.p2p)
        waitFor(maskOf(stream));
}

std::int64_t PassBuilder::keptBytes(const Operator& op) const
{
    return Checked(op.savedBytes) + op.savedInputBytes + moduleInputBytes(op) +
           (m_scenario.training.recomputes(RecomputeModule::operators) ? op.unreadBytes : 0);
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
           operators[index + 1].lowPrecision && (index + 2 >= operators.size() || readsNarrow(index + 2)) &&
           (index + 3 >= operators.size() || readsNarrow(index + 3));
}

SentTensor PassBuilder::gatheredOperand(const Bucket& bucket, std::size_t index) const
{
    const SentTensor wide = bucket.list.operators[index].commBytes;
    return gathersNarrow(bucket, index) ? wide.narrower(narrowingOf(m_scenario.training.precision)) : wide;
}

/// What a product writes for the reduction that runs beside it is in 8 bits, from 16; in 4 bits none is.
SentTensor PassBuilder::reducedResult(const Operator& product, std::int64_t bytes) const
{
    const SentTensor wide = bytes;
    const Precision precision = m_scenario.training.precision;
    const bool isNarrowed =
        m_scenario.training.stack.narrowReduce && product.lowPrecision && isNarrow(precision) && narrowingOf(precision) == 2;
    return isNarrowed ? wide.narrower(2) : wide;
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
    if (flags.receives && m_scenario.training.stack.keepsMessages) // it counts as the micro-batch's from here on
        moment(kKeptMessage, &Op::freeBytes, keptInput(stage)).buffer = true;
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
            unpackBucket(bucket, OpPurpose::forward);
        }
        m_layer = bucket.layer;
        forwardBucket(bucket, OpPurpose::forward, !bucket.recomputed);
        awaitHost();
        if (isOffloaded(bucket))
            sendToHost(bucket);
        if (flags.releasesParameters && !bucket.usedAgain && !bucket.staysGathered)
            releaseBucket(bucket);
    }
    m_layer = -1;
    if (flags.sends && m_scenario.training.stack.keepsMessages)
        moment(kStageOutput, &Op::allocBytes, messageBytes());
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
    if (firstOp >= m_pass.ops.size())
        return;
    std::int64_t& first = m_pass.ops[firstOp].allocBytes;
    if (!keep && purpose == OpPurpose::forward)
        first = checkedAdd(first, bucket.list.inputBytes);
    else if (purpose == OpPurpose::recompute)
        first -= inputKeptAgain(bucket);
}

/// Of a bucket that is run again, what its first operator keeps of its input: no copy, but the tensor that has been kept for
/// that.
std::int64_t PassBuilder::inputKeptAgain(const Bucket& bucket) const
{
    const auto& operators = bucket.list.operators;
    return operators.empty() ? 0 : std::min(bucket.list.inputBytes, allocatedBytes(operators.front()));
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
    piece.bytes = gemm.forwardBytes / kTensorOverlapPieces;
    piece.pieces = static_cast<int>(ceilDivide(gemm.pieces, kTensorOverlapPieces));
    piece.narrowedBy = narrowedBy(bucket, gatheringOf(operators, gathers ? index + 1 : index));
    const SentTensor whole = gathers ? gatheredOperand(bucket, index) : reducedResult(gemm, collective.commBytes);
    const bool reducesAmongAll = reduces && m_scenario.training.stack.reducesAmongAll;
    const SentTensor sent = reducesAmongAll ? whole.chunk(kTensorOverlapPieces) : whole.piece(kTensorOverlapPieces);
    for (int i = 0; i < kTensorOverlapPieces; ++i) {
        // Gathering needs only the kernel before; each piece of the GEMM needs its own piece of the input, or of the inputs of
        // all products that it stands for.
        for (int gather = 0; gathers && gather < collective.gathers(); ++gather)
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, collective.name, sent,
                     i == 0 && gather == 0 ? maskOf(Stream::compute) : StreamMask{0});
        compute(gemm, "", purpose, piece);
        if (i == 0 && keep)
            m_pass.ops.back().allocBytes = allocatedBytes(gemm);
        passBytes(gemm);
        if (reduces)
            communicate(CommunicatorRole::tp, CollectiveKind::reduceScatter, collective.name, sent);
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
        passBytes(op);
        break;
    }
    case OperatorKind::enterTensorParallel:
        for (int gather = 0; sequenceParallel && gather < op.gathers(); ++gather) {
            exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, gatheredOperand(bucket, index));
            copySequence(op, purpose);
        }
        break;
    case OperatorKind::leaveTensorParallel:
        copySequence(op, purpose);
        exchange(CommunicatorRole::tp, sequenceParallel ? CollectiveKind::reduceScatter : CollectiveKind::allReduce, op.name,
                 op.commBytes);
        break;
    case OperatorKind::syncLoss:
    case OperatorKind::reduceLatent:
        exchange(CommunicatorRole::tp, CollectiveKind::allReduce, op.name, op.commBytes, maskOf(Stream::compute), op.pieces);
        break;
    case OperatorKind::gatherLatent:
    case OperatorKind::gatherLogits:
    case OperatorKind::gatherOutput:
    case OperatorKind::gatherHeads:
        exchange(CommunicatorRole::tp, CollectiveKind::allGather, op.name, op.commBytes, maskOf(Stream::compute), op.pieces);
        break;
    case OperatorKind::ringExchange:
        if (std::exchange(m_ringOpen, false) && operators[index - 1].kind == OperatorKind::attention &&
            !operators[index - 1].overlapsRing)
            break; // went out with the first block
        communicate(CommunicatorRole::cp, CollectiveKind::ringShift, op.name, op.commBytes, 0);
        break;
    case OperatorKind::exchangeHeads:
        exchange(CommunicatorRole::cp, CollectiveKind::allToAll, op.name, op.commBytes);
        break;
    case OperatorKind::dropTokens:
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

} // namespace sim
