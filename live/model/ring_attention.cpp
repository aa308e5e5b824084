// Context parallelism: a ring over which blocks of keys and values travel (Liu et al. 2023), balanced by giving each rank one
// chunk from either end of the sequence (zig-zag, as in Llama 3 and ring-flash-attention). Of 2 cp chunks, rank r holds r and
// 2 cp - 1 - r, in this order: its own block is causal by place, of a block from a lower rank all queries see the first half, of
// one from a higher rank the second half of the queries sees all. In a window or in chunks each half meets each half by position.
#include "live/model/attention_core.h"

#include <limits>

namespace live {

std::vector<AttentionCore::Stretch> AttentionCore::stretchesOf(int cpIndex) const
{
    const std::int64_t half = m_shape.rows / m_shape.sequences / 2;
    return {{0, cpIndex * half, half}, {half, (2 * m_shape.cp - 1 - cpIndex) * half, half}};
}

/// When this rank holds the block of rank `owner`.
std::vector<AttentionCore::Meeting> AttentionCore::meetingsWith(int owner) const
{
    if (m_window > 0 || m_chunk > 0)
        return meetings(stretchesOf(m_shape.cpIndex), stretchesOf(owner));
    const std::int64_t positions = m_shape.rows / m_shape.sequences, half = positions / 2;
    if (owner == m_shape.cpIndex || !m_causal)
        return {{0, positions, 0, positions, owner == m_shape.cpIndex && m_causal, 0}};
    return {owner < m_shape.cpIndex ? Meeting{0, positions, 0, half, false, 0} : Meeting{half, half, 0, positions, false, 0}};
}

void AttentionCore::startRing(const Tensor& qkv)
{
    const std::int64_t columns = m_shape.keyColumns + m_shape.valueColumns;
    m_ring.here = m_context.activations(m_shape.rows, columns);
    m_context.queue->copy(qkv.columnRange(m_shape.queryColumns, columns), m_ring.here);
}

void AttentionCore::shiftRing(int by)
{
    m_ring.coming = m_context.activations(m_ring.here->rows, m_ring.here->columns);
    m_ring.transfer =
        std::unique_ptr<Communication>(new Communication(m_context.shift(Group::cp, by, m_ring.here, m_ring.coming, "ring.kv")));
    m_ring.transfer->start();
}

Task<> AttentionCore::takeNextBlock()
{
    co_await m_ring.transfer->done();
    m_ring.transfer.reset();
    m_ring.here = std::move(m_ring.coming);
    m_ring.coming.reset();
}

Task<> AttentionCore::ring(Tensor qkv, Tensor output, Tensor logSumExp)
{
    Queue& queue = *m_context.queue;
    const int size = m_shape.cp, index = m_shape.cpIndex;
    const Tensor q = split(m_shape, qkv).q;
    startRing(qkv);
    Array sum = m_context.statistics(m_shape.rows, m_shape.outputColumns());
    bool isFirst = true;
    for (int hop = 0; hop < size; ++hop) {
        if (hop > 0)
            co_await takeNextBlock();
        if (hop + 1 < size)
            shiftRing(1);
        for (const Meeting& met : meetingsWith((index - hop + size) % size)) {
            const Tensor k = keysOf(met, m_ring.here), v = valuesOf(met, m_ring.here);
            if (isFirst && met.queries * m_shape.sequences == m_shape.rows) {
                const KernelSpan span(m_context, m_label);
                queue.attention(kernelShape(met), q, k, v, sum, logSumExp);
            } else {
                if (isFirst) {
                    queue.fill(sum, 0);
                    queue.fill(logSumExp, -std::numeric_limits<double>::infinity());
                }
                const Tensor queries = queriesOf(met, q);
                // In the sums' type from the kernel on: rounded at each hop, a long ring would lose what one kernel keeps.
                Array part = m_context.statistics(queries.rows, m_shape.outputColumns());
                Array partLogSumExp = m_context.statistics(queries.rows, m_shape.heads);
                {
                    const KernelSpan span(m_context, m_label);
                    queue.attention(kernelShape(met), queries, k, v, part, partLogSumExp);
                }
                const KernelSpan span(m_context, m_mergeLabel);
                queue.mergeAttention(m_shape.valueDim, part, partLogSumExp, queriesOf(met, sum), queriesOf(met, logSumExp));
            }
            isFirst = false;
        }
    }
    m_ring.here.reset();
    queue.copy(sum, output);
}

/// The other way round, and the own block last, so that its gradients, to which every rank adds as they pass, end here (as
/// Transformer Engine does it). They travel beside the kernel that makes what this rank adds.
Task<Array> AttentionCore::ringGradient(Tensor qkv, Tensor output, Tensor logSumExp, Tensor dOutput)
{
    Queue& queue = *m_context.queue;
    const int size = m_shape.cp, index = m_shape.cpIndex;
    const std::int64_t rows = m_shape.rows, columns = m_shape.keyColumns + m_shape.valueColumns;
    const Tensor q = split(m_shape, qkv).q;
    const Tensor ownBlock = qkv.columnRange(m_shape.queryColumns, columns);
    startRing(qkv);
    shiftRing(-1);
    Array dq = m_context.statistics(rows, m_shape.queryColumns);
    queue.fill(dq, 0);
    Array dKeysValues; // of the block before, as it leaves this rank
    for (int hop = 1; hop <= size; ++hop) {
        const bool isOwn = hop == size;
        if (!isOwn)
            co_await takeNextBlock();
        if (hop + 1 < size)
            shiftRing(-1);
        Array received;
        std::unique_ptr<Communication> transfer;
        if (dKeysValues) {
            received = m_context.statistics(rows, columns);
            transfer = std::unique_ptr<Communication>(
                new Communication(m_context.shift(Group::cp, -1, dKeysValues, received, "ring.dkv")));
            transfer->start();
        }
        Array made = m_context.statistics(rows, columns);
        {
            const KernelSpan span(m_context, m_label);
            queue.fill(made, 0);
            const Tensor block = isOwn ? ownBlock : m_ring.here.tensor();
            for (const Meeting& met : meetingsWith((index + hop) % size))
                queue.attentionGradient(kernelShape(met), queriesOf(met, q), keysOf(met, block), valuesOf(met, block),
                                        queriesOf(met, output), queriesOf(met, logSumExp), queriesOf(met, dOutput),
                                        queriesOf(met, dq), keysOf(met, made), valuesOf(met, made), true);
        }
        if (transfer) {
            co_await transfer->done();
            const KernelSpan span(m_context, m_mergeLabel);
            queue.add(received, made);
        }
        dKeysValues = std::move(made);
    }
    m_ring.here.reset();
    Array dQkv = m_context.activations(rows, m_shape.qkvColumns());
    queue.copy(dq, dQkv->columnRange(0, m_shape.queryColumns));
    queue.copy(dKeysValues, dQkv->columnRange(m_shape.queryColumns, columns));
    co_return dQkv;
}

} // namespace live
