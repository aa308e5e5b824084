// What data-parallel ranks do for each other in a pass: parameters gathered and dropped, gradients reduced, and the update.
#include "sim/checked.h"
#include "sim/program/pass_builder.h"
#include "sim/program/states.h"

#include <algorithm>
#include <utility>

namespace sim {

/// Of what is cut between ranks, in one piece.
std::int64_t PassBuilder::wholeBytes(ParameterElements elements, int bytesEach) const
{
    const ParameterElements cut = ShardRanks::of(m_scenario.layout).cut(elements);
    return (Checked(cut.dense) + cut.routed) * bytesEach;
}

std::int64_t PassBuilder::gatheredBytes(const Bucket& bucket) const
{
    // Kept for the step, and below ZeRO 3, whole parameters are counted among the states already.
    if (parameterGathering(m_scenario) != ParameterGathering::eachUse)
        return 0;
    const ParameterElements elements = bucket.parameters();
    const ParameterElements matrices = ShardRanks::of(m_scenario.layout).cut(elements.matrices());
    return checkedAdd(wholeBytes(elements, m_stateBytes.computed) -
                          sparedByFrozen(m_scenario, checkedAdd(matrices.dense, matrices.routed)),
                      narrowCopyBytes(m_scenario, elements.narrow - narrowThroughStep(m_scenario, elements)));
}

ParameterGathering parameterGathering(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    if (layout.zeroStage == 0)
        return ParameterGathering::never;
    if (layout.zeroStage >= 3)
        return layout.reshardAfterForward ? ParameterGathering::eachUse : ParameterGathering::eachStep;
    return scenario.training.overlap.paramGather ? ParameterGathering::eachStep : ParameterGathering::afterUpdate;
}

bool reducesEveryMicrobatch(const Scenario& scenario)
{
    return scenario.layout.zeroStage >= 2 && scenario.layout.pp == 1 &&
           (scenario.layout.reduceEachMicrobatch || scenario.microbatches() == 1);
}

bool addsUpWhole(const Scenario& scenario)
{
    return scenario.layout.zeroStage >= 2 && !reducesEveryMicrobatch(scenario);
}

std::int64_t beyondShardBytes(const Scenario& scenario, ParameterElements trained)
{
    if (!addsUpWhole(scenario))
        return 0;
    const ShardRanks ranks = ShardRanks::of(scenario.layout);
    const std::int64_t dense = trained.dense - ceilDivide(trained.dense, ranks.dense);
    const std::int64_t routed = trained.routed - ceilDivide(trained.routed, ranks.routed);
    return (Checked(dense) + routed) * StateBytes::of(scenario.training).gradient;
}

bool gathersChunks(const Scenario& scenario)
{
    return scenario.training.stack.gathersChunks && scenario.training.overlap.paramGather && scenario.layout.zeroStage >= 1 &&
           scenario.layout.zeroStage <= 2 && scenario.layout.pp > 1 && scenario.schedule.virtualStages > 1;
}

void PassBuilder::gatherBucket(const Bucket& bucket, bool prefetched)
{
    // Below ZeRO 3 what the optimizer has changed is gathered.
    const ParameterElements all = bucket.parameters();
    const ParameterElements gathered = m_scenario.layout.zeroStage >= 3 ? all : all.trained();
    const std::int64_t dense = gathered.dense, routed = gathered.routed;
    const int bytesEach = m_stateBytes.gathered(m_scenario.layout.zeroStage);
    const std::size_t before = m_pass.ops.size();
    const StreamMask waits = maskOf(Stream::compute);
    const int layer = std::exchange(m_layer, bucket.layer);
    const ParameterElements matrices = m_scenario.layout.zeroStage >= 3 ? all.matrices() : ParameterElements{};
    const auto bytesOf = [&](std::int64_t elements, std::int64_t frozenMatrices) {
        return checkedMultiply(elements, bytesEach) - sparedByFrozen(m_scenario, frozenMatrices);
    };
    if (dense > 0)
        communicate(CommunicatorRole::dpShard, CollectiveKind::allGather, "param.gather", bytesOf(dense, matrices.dense), waits);
    if (routed > 0)
        communicate(CommunicatorRole::exptDp, CollectiveKind::allGather, "param.gather.experts", bytesOf(routed, matrices.routed),
                    waits);
    m_layer = layer;
    if (m_pass.ops.size() > before) {
        m_pass.ops[before].allocBytes = gatheredBytes(bucket);
        m_pass.ops[before].buffer = true;
        if (!prefetched)
            m_nextWaits |= maskOf(Stream::dp);
    }
}

/// What was gathered is joined before the layer reads it.
void PassBuilder::unpackBucket(const Bucket& bucket, OpPurpose purpose)
{
    const ParameterElements whole = bucket.parameters();
    const auto isCut = [this](CommunicatorRole group) { return communicatorSize(group, m_scenario) > 1; };
    const Checked gathered =
        Checked(isCut(CommunicatorRole::dpShard) ? whole.dense : 0) + (isCut(CommunicatorRole::exptDp) ? whole.routed : 0);
    const std::int64_t bytes = checkedScale(gathered, m_scenario.training.stack.gatherBytes);
    if (m_scenario.layout.zeroStage < 3 || bytes == 0)
        return;
    const int layer = std::exchange(m_layer, bucket.layer);
    emit({.waits = std::exchange(m_nextWaits, StreamMask{0}), .purpose = purpose, .label = m_labels.intern("param.unpack")},
         {.bytes = bytes});
    m_layer = layer;
}

void PassBuilder::releaseBucket(const Bucket& bucket)
{
    if (gatheredBytes(bucket) == 0)
        return;
    const StreamMask pending = std::exchange(m_nextWaits, StreamMask{0});
    waitFor(0);
    m_nextWaits = pending;
    m_pass.ops.back().buffer = true;
    m_pass.ops.back().freeBytes = gatheredBytes(bucket);
}

void PassBuilder::reduce(ParameterElements elements, WholeGradients whole)
{
    const Layout& layout = m_scenario.layout;
    const bool sharded = layout.zeroStage >= 1;
    const Checked dense = Checked(elements.dense) * m_stateBytes.reducedGradient;
    const Checked routed = Checked(elements.routed) * m_stateBytes.reducedGradient;
    // Otherwise each rank is given all gradients and keeps its shard's.
    const bool scatters = sharded && !reducesWhole();
    const CollectiveKind kind = scatters ? CollectiveKind::reduceScatter : CollectiveKind::allReduce;
    const std::size_t before = m_pass.ops.size();
    if (dense > 0)
        communicate(CommunicatorRole::dpShard, kind, "grad.reduce", dense);
    // Where each holds the whole, no scatter comes before.
    const ShardRanks ranks = ShardRanks::of(layout);
    const auto reduceReplicas = [&](CommunicatorRole group, std::string_view name, std::int64_t bytes) {
        if (bytes > 0 && sharded)
            communicate(group, CollectiveKind::allReduce, name, bytes,
                        static_cast<StreamMask>(maskOf(Stream::compute) | maskOf(Stream::dp)));
    };
    reduceReplicas(CommunicatorRole::dpReplicate, "grad.reduce.replicas", dense / ranks.dense);
    if (routed > 0)
        communicate(CommunicatorRole::exptDp, kind, "grad.reduce.experts", routed);
    reduceReplicas(CommunicatorRole::exptReplicate, "grad.reduce.experts.replicas", routed / ranks.routed);
    if (m_pass.ops.size() > before && layout.zeroStage >= 2) {
        m_pass.ops[before].allocBytes = whole.taken;
        m_pass.ops[before].freeBytes = whole.dropped;
        m_pass.ops[before].buffer = true;
    }
    addToHostGradients(elements);
}

/// The whole gradient lives until it is reduced: for one micro-batch, or where they add up since the chunk's first one.
void PassBuilder::reduceBucket(const Bucket& bucket)
{
    const ParameterElements trained = bucket.parameters().trained();
    const std::int64_t whole = wholeBytes(trained, m_stateBytes.gradient);
    reduce(trained, addsUpWhole(m_scenario) ? WholeGradients{.dropped = beyondShardBytes(m_scenario, trained)}
                                            : WholeGradients{.taken = bucket.usedAgain ? 0 : whole, .dropped = whole});
}

/// All gradients of one that nothing is added to.
void PassBuilder::reduceMicrobatch(const StageContent& stage)
{
    const ParameterElements trained = stage.parameters().trained();
    const std::int64_t whole = wholeBytes(trained, m_stateBytes.gradient);
    reduce(trained, {.taken = whole, .dropped = whole});
}

/// Where a pass reduces its gradients bucket by bucket: of those that several buckets add to, which wait for the last.
std::int64_t PassBuilder::sharedGradientBytes(const StageContent& stage) const
{
    Checked bytes;
    if (reducesEveryMicrobatch(m_scenario) && m_scenario.training.overlap.gradReduce)
        for (const Bucket& bucket : stage.buckets)
            bytes += bucket.usedAgain ? wholeBytes(bucket.parameters().trained(), m_stateBytes.gradient) : 0;
    return bytes;
}

/// Stack::reductionsAhead, of a pass whose gradients are reduced beside it.
std::int64_t PassBuilder::startedAheadBytes(const StageContent& stage, ActionKind kind, PassFlags flags) const
{
    const Stack& stack = m_scenario.training.stack;
    if (kind == ActionKind::backwardInput || !flags.reducesGradients || !reducesEveryMicrobatch(m_scenario) ||
        !m_scenario.training.overlap.gradReduce)
        return 0;
    const ParameterElements trained = ShardRanks::of(m_scenario.layout).cut(stage.parameters().trained());
    const Checked ahead =
        std::min(checkedMultiply(stack.reductionsAhead, stack.reduceBucket), checkedAdd(trained.dense, trained.routed));
    return ahead * (m_stateBytes.gradient + (flags.gathersParameters ? m_stateBytes.computed : 0));
}

std::int64_t PassBuilder::accumulatedBytes(const StageContent& stage) const
{
    Checked bytes;
    for (const Bucket& bucket : stage.buckets)
        bytes += beyondShardBytes(m_scenario, bucket.parameters().trained());
    return bytes;
}

void PassBuilder::gatherAhead(const StageContent& chunk)
{
    const std::size_t buckets = gathersChunks(m_scenario) ? chunk.buckets.size() : std::min<std::size_t>(1, chunk.buckets.size());
    for (std::size_t i = 0; i < buckets; ++i)
        gatherBucket(chunk.buckets[i], true);
}

Pass PassBuilder::gather(const StageContent& chunk)
{
    m_pass = {};
    m_nextWaits = 0;
    gatherAhead(chunk);
    return std::move(m_pass);
}

/// What the optimizer works with while it updates so many parameters.
std::int64_t PassBuilder::updateBytes(std::int64_t elements) const
{
    const Training& training = m_scenario.training;
    const Stack& stack = training.stack;
    Checked bytesEach;
    if (training.optimizer == Optimizer::adamw)
        bytesEach += Checked(stack.updateMoments) * training.momentBytes;
    if (stack.joinsGradients)
        bytesEach += m_stateBytes.gradient + (m_stateBytes.hostGradient > m_stateBytes.gradient ? m_stateBytes.hostGradient : 0);
    return bytesEach * (stack.updatedTogether > 0 ? std::min(elements, stack.updatedTogether) : elements);
}

Pass PassBuilder::finish(ParameterElements elements, bool sharesEmbedding, std::int64_t embeddingElements, HeldToTheEnd held)
{
    m_pass = {};
    m_nextWaits = 0;
    m_layer = -1;
    const Training& training = m_scenario.training;
    const Layout& layout = m_scenario.layout;
    if (!training.overlap.gradReduce && !reducesEveryMicrobatch(m_scenario))
        reduce(elements, {.dropped = held.accumulated});
    const ShardRanks ranks = ShardRanks::of(layout);
    if (sharesEmbedding) { // where gradients are cut, a rank has its shard alone by now
        const Checked left = layout.zeroStage >= 2 ? embeddingElements / ranks.dense : embeddingElements;
        communicate(CommunicatorRole::embd, CollectiveKind::allReduce, "grad.reduce.embedding", left * m_stateBytes.gradient,
                    static_cast<StreamMask>(maskOf(Stream::compute) | maskOf(Stream::replicas)));
    }

    const bool sharded = layout.zeroStage >= 1;
    const Checked updated =
        sharded ? elements.dense / ranks.dense + elements.routed / ranks.routed : elements.dense + elements.routed;
    communicate(CommunicatorRole::copies, CollectiveKind::allReduce, "grad.reduce.copies", updated * m_stateBytes.gradient,
                static_cast<StreamMask>(maskOf(Stream::compute) | maskOf(Stream::replicas)));
    // The stack adds norm, clipping and copies of what is updated, zeroing and scaling of all gradients.
    const Checked had = layout.zeroStage >= 2 ? updated : Checked(elements.dense) + elements.routed;
    // The host's share is the rest.
    const Checked here = updated - checkedScale(updated, training.offload.optimizer);
    const Checked moved = here * m_stateBytes.ofUpdate() + checkedScale(updated, training.stack.optimizerBytes) +
                          checkedScale(had, training.stack.gradientBytes);
    if (updated > here) // beside the GPU's own share
        hostOptimizer(updated - here);
    emit({.waits = kDataParallelStreams, .purpose = OpPurpose::optimizer, .label = m_labels.intern("optimizer")},
         {.family = KernelFamily::optimizer, .m = 1, .n = here, .bytes = moved});
    Op& update = m_pass.ops.back();
    update.buffer = true;
    update.allocBytes = update.freeBytes = updateBytes(here);
    if (updated > here)
        waitFor(kHostStreams);

    if (parameterGathering(m_scenario) == ParameterGathering::afterUpdate) {
        communicate(CommunicatorRole::dpShard, CollectiveKind::allGather, "param.gather",
                    checkedMultiply(elements.dense, m_stateBytes.parameter));
        if (elements.routed > 0)
            communicate(CommunicatorRole::exptDp, CollectiveKind::allGather, "param.gather.experts",
                        checkedMultiply(elements.routed, m_stateBytes.parameter));
        waitFor(maskOf(Stream::dp));
    }
    if (held.kept > 0)
        moment(kKeptMessage, &Op::freeBytes, held.kept).buffer = true;
    return std::move(m_pass);
}

} // namespace sim
