// What lies in the host's memory: activations of a chunk's first layers leave when their layer is done, beside the next one, and
// come back beside the backward pass of the layer behind theirs, so that two layers' are on the GPU at a time (as Transformer
// Engine's cpu_offload.py does); the host's share of the optimizer gets gradients and gives back parameters in pieces, so that
// both directions and its own work run beside each other (Megatron Core, overlap_cpu_optimizer_d2h_h2d).
#include "sim/checked.h"
#include "sim/program/pass_builder.h"

#include <utility>

namespace sim {

bool PassBuilder::isOffloaded(const Bucket& bucket) const
{
    return bucket.layer >= 0 && bucket.layer < m_scenario.training.offload.activationLayers;
}

/// From a bucket's forward pass to its backward pass, by the operator that keeps it.
std::vector<PassBuilder::Kept> PassBuilder::keptBytes(const Bucket& bucket) const
{
    std::vector<Kept> out;
    if (bucket.recomputed && !bucket.list.operators.empty()) {
        out.push_back({bucket.list.operators.front().name, bucket.list.inputBytes});
    } else {
        for (const Operator& op : bucket.list.operators)
            if (const std::int64_t bytes = allocatedBytes(op); bytes > 0)
                out.push_back({op.name, bytes});
    }
    return out;
}

void PassBuilder::copy(Stream stream, std::string_view name, StreamMask waits, std::int64_t bytes)
{
    emit({.kind = OpKind::copy, .stream = stream, .waits = waits, .purpose = OpPurpose::offload, .label = m_labels.intern(name)},
         {.bytes = bytes});
}

void PassBuilder::copy(Stream stream, std::string_view name, const std::vector<Kept>& kept)
{
    Checked bytes;
    for (const Kept& of : kept)
        bytes += of.bytes;
    copy(stream, name, maskOf(Stream::compute), bytes);
}

void PassBuilder::sendToHost(const Bucket& bucket)
{
    m_leaving = keptBytes(bucket);
    copy(Stream::toHost, "activations to host", m_leaving);
}

/// What left is given up when it has arrived.
void PassBuilder::awaitHost()
{
    StreamMask waits = maskOf(Stream::toHost);
    for (const auto& [name, bytes] : std::exchange(m_leaving, {})) {
        waitFor(std::exchange(waits, StreamMask{0}));
        m_pass.ops.back().label = m_labels.intern(name);
        m_pass.ops.back().freeBytes = bytes;
    }
}

void PassBuilder::bringFromHost(const Bucket& bucket)
{
    const std::vector<Kept> kept = keptBytes(bucket);
    for (const auto& [name, bytes] : kept) {
        waitFor(0);
        m_pass.ops.back().label = m_labels.intern(name);
        m_pass.ops.back().allocBytes = bytes;
    }
    copy(Stream::fromHost, "activations from host", kept);
}

/// Gradients that a micro-batch has reduced are added to the host's on the GPU, which come for that and go back (DeepSpeed,
/// stage3.py, partition_grads). Of the first micro-batch they go out first and come back, where the norm is taken: as many bytes,
/// by the same stream. What came and what is added to it are there meanwhile.
void PassBuilder::addToHostGradients(ParameterElements elements)
{
    const ShardRanks ranks = ShardRanks::of(m_scenario.layout);
    const Checked shard = Checked(elements.dense) / ranks.dense + Checked(elements.routed) / ranks.routed;
    const std::int64_t bytes = checkedScale(shard * m_stateBytes.gradient, gradientsOnHost(m_scenario));
    if (bytes == 0)
        return;
    copy(Stream::fromHost, "gradient sums from host",
         static_cast<StreamMask>(kDataParallelStreams | maskOf(Stream::compute) | maskOf(Stream::toHost)), bytes);
    m_pass.ops.back().allocBytes = checkedMultiply(2, bytes);
    m_pass.ops.back().buffer = true;
    copy(Stream::toHost, "gradient sums to host", maskOf(Stream::fromHost), bytes);
    m_pass.ops.back().freeBytes = checkedMultiply(2, bytes);
    m_pass.ops.back().buffer = true;
}

/// Gradients of so many elements go out, the host updates what it holds, and new parameters come in.
void PassBuilder::hostOptimizer(std::int64_t elements)
{
    constexpr std::int64_t kPieces = 8;
    for (std::int64_t piece = 0; piece < kPieces; ++piece) {
        const Checked of = elements * (piece + 1) / kPieces - elements * piece / kPieces;
        copy(Stream::toHost, "gradients to host",
             static_cast<StreamMask>(piece == 0 ? kDataParallelStreams | maskOf(Stream::compute) : 0),
             of * m_stateBytes.hostGradient);
        copy(Stream::host, "optimizer on host", maskOf(Stream::toHost), of * m_stateBytes.ofHostUpdate());
        copy(Stream::fromHost, "parameters from host", maskOf(Stream::host), of * m_stateBytes.parameter);
    }
}

} // namespace sim
