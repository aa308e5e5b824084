// Context parallelism: a ring over which blocks of keys and values travel (Liu et al. 2023), balanced by giving each rank one
// chunk from either end of the sequence (zig-zag, as in Llama 3 and ring-flash-attention). Of 2 cp chunks, rank r holds r and
// 2 cp - 1 - r, in this order: its own block is causal by place, of a block from a lower rank all queries see the first half, of
// one from a higher rank the second half of the queries sees all.
#include "live/model/attention.h"

namespace live {
namespace {

/// The rows of queries and of keys that meet, when rank `index` holds the block of rank `owner`.
struct Meeting {
    std::int64_t firstQuery = 0, queries = 0, keys = 0;
    bool causal = false;
};

Meeting meet(int index, int owner, std::int64_t rows, bool causal)
{
    if (owner == index)
        return {0, rows, rows, causal};
    if (!causal)
        return {0, rows, rows, false};
    return owner < index ? Meeting{0, rows, rows / 2, false} : Meeting{rows / 2, rows / 2, rows, false};
}

} // namespace

void Attention::startRing(const Tensor& qkv)
{
    m_ring.here = m_context.activations(m_shape.rows, 2 * m_shape.keyColumns);
    m_context.queue->copy(qkv.columnRange(m_shape.queryColumns, 2 * m_shape.keyColumns), m_ring.here);
}

void Attention::shiftRing()
{
    m_ring.coming = m_context.activations(m_ring.here->rows, m_ring.here->columns);
    m_ring.transfer =
        std::unique_ptr<Communication>(new Communication(m_context.shift(Group::cp, m_ring.here, m_ring.coming, "ring.kv")));
    m_ring.transfer->start();
}

Task<> Attention::takeNextBlock()
{
    co_await m_ring.transfer->done();
    m_ring.transfer.reset();
    m_ring.here = std::move(m_ring.coming);
    m_ring.coming.reset();
}

Task<> Attention::ring(AttentionSaved& saved)
{
    Queue& queue = *m_context.queue;
    const int size = m_shape.cp, index = m_shape.cpIndex;
    const std::int64_t rows = m_shape.rows, columns = m_shape.keyColumns;
    const Tensor q = split(saved.qkv).q;
    startRing(saved.qkv);
    Array sum = m_context.statistics(rows, m_shape.queryColumns);
    for (int hop = 0; hop < size; ++hop) {
        if (hop > 0)
            co_await takeNextBlock();
        if (hop + 1 < size)
            shiftRing();
        const KernelSpan span(m_context, m_coreLabel);
        const Meeting met = meet(index, (index - hop + size) % size, rows, m_causal);
        const Tensor k = m_ring.here->columnRange(0, columns).rowRange(0, met.keys);
        const Tensor v = m_ring.here->columnRange(columns, columns).rowRange(0, met.keys);
        if (hop == 0) {
            queue.attention(kernelShape(met.causal, 0), q, k, v, sum, saved.logSumExp);
            continue;
        }
        // In the sums' type from the kernel on: rounded at each hop, a long ring would lose what one kernel keeps.
        Array part = m_context.statistics(met.queries, m_shape.queryColumns);
        Array partLogSumExp = m_context.statistics(met.queries, m_shape.heads);
        queue.attention(kernelShape(false, 0), q.rowRange(met.firstQuery, met.queries), k, v, part, partLogSumExp);
        queue.mergeAttention(m_shape.headDim, part, partLogSumExp, sum->rowRange(met.firstQuery, met.queries),
                             saved.logSumExp->rowRange(met.firstQuery, met.queries));
    }
    m_ring.here.reset();
    queue.copy(sum, saved.output);
}

Task<Array> Attention::ringGradient(const Tensor& dOutput, AttentionSaved& saved)
{
    Queue& queue = *m_context.queue;
    const int size = m_shape.cp, index = m_shape.cpIndex;
    const std::int64_t rows = m_shape.rows, columns = m_shape.keyColumns;
    const Tensor q = split(saved.qkv).q;
    startRing(saved.qkv);
    Array dq = m_context.statistics(rows, m_shape.queryColumns);
    Array dKeysValues = m_context.statistics(rows, 2 * columns);
    queue.fill(dq, 0);
    queue.fill(dKeysValues, 0);
    for (int hop = 0; hop < size; ++hop) {
        if (hop > 0) { // the gradients follow their keys and values round the ring
            co_await takeNextBlock();
            Array receivedGradients = m_context.statistics(rows, 2 * columns);
            co_await m_context.shift(Group::cp, dKeysValues, receivedGradients, "ring.dkv");
            dKeysValues = std::move(receivedGradients);
        }
        if (hop + 1 < size)
            shiftRing();
        const KernelSpan span(m_context, m_coreLabel);
        const Meeting met = meet(index, (index - hop + size) % size, rows, m_causal);
        const auto queries = [&](const Tensor& all) { return all.rowRange(met.firstQuery, met.queries); };
        const auto keys = [&](const Tensor& all) { return all.columnRange(0, columns).rowRange(0, met.keys); };
        const auto values = [&](const Tensor& all) { return all.columnRange(columns, columns).rowRange(0, met.keys); };
        queue.attentionGradient(kernelShape(met.causal, 0), queries(q), keys(m_ring.here), values(m_ring.here),
                                queries(saved.output), queries(saved.logSumExp), queries(dOutput), queries(dq), keys(dKeysValues),
                                values(dKeysValues), true);
    }
    m_ring.here.reset();
    Array home = m_context.statistics(rows, 2 * columns);
    co_await m_context.shift(Group::cp, dKeysValues, home, "ring.dkv");
    Array dQkv = m_context.activations(rows, m_shape.qkvColumns());
    queue.copy(dq, dQkv->columnRange(0, m_shape.queryColumns));
    queue.copy(home, dQkv->columnRange(m_shape.queryColumns, 2 * columns));
    co_return dQkv;
}

} // namespace live
