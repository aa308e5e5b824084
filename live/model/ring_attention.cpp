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

Task<> Attention::ring(AttentionSaved& saved)
{
    Queue& queue = *m_context.queue;
    const int size = m_shape.cp, index = m_shape.cpIndex;
    const std::int64_t rows = m_shape.rows, columns = m_shape.keyColumns;
    const Tensor q = split(saved.qkv).q;
    Array keysValues = m_context.activations(rows, 2 * columns);
    queue.copy(saved.qkv->columnRange(m_shape.queryColumns, 2 * columns), keysValues);
    Array sum = m_context.statistics(rows, m_shape.queryColumns);
    for (int hop = 0; hop < size; ++hop) {
        if (hop > 0) {
            Array received = m_context.activations(rows, 2 * columns);
            co_await m_context.shift(Group::cp, keysValues, received, "ring.kv");
            keysValues = std::move(received);
        }
        const KernelSpan span(m_context, m_coreLabel);
        const Meeting met = meet(index, (index - hop + size) % size, rows, m_causal);
        const Tensor k = keysValues->columnRange(0, columns).rowRange(0, met.keys);
        const Tensor v = keysValues->columnRange(columns, columns).rowRange(0, met.keys);
        if (hop == 0) {
            queue.attention(kernelShape(met.causal, 0), q, k, v, saved.output, saved.logSumExp);
            queue.copy(saved.output, sum);
            continue;
        }
        Array part = m_context.activations(met.queries, m_shape.queryColumns);
        Array partLogSumExp = m_context.statistics(met.queries, m_shape.heads);
        queue.attention(kernelShape(false, 0), q.rowRange(met.firstQuery, met.queries), k, v, part, partLogSumExp);
        Array partSum = m_context.statistics(met.queries, m_shape.queryColumns);
        queue.copy(part, partSum);
        queue.mergeAttention(m_shape.headDim, partSum, partLogSumExp, sum->rowRange(met.firstQuery, met.queries),
                             saved.logSumExp->rowRange(met.firstQuery, met.queries));
    }
    queue.copy(sum, saved.output);
}

Task<Array> Attention::ringGradient(const Tensor& dOutput, AttentionSaved& saved)
{
    Queue& queue = *m_context.queue;
    const int size = m_shape.cp, index = m_shape.cpIndex;
    const std::int64_t rows = m_shape.rows, columns = m_shape.keyColumns;
    const Tensor q = split(saved.qkv).q;
    Array keysValues = m_context.activations(rows, 2 * columns);
    queue.copy(saved.qkv->columnRange(m_shape.queryColumns, 2 * columns), keysValues);
    Array dq = m_context.statistics(rows, m_shape.queryColumns);
    Array dKeysValues = m_context.statistics(rows, 2 * columns);
    queue.fill(dq, 0);
    queue.fill(dKeysValues, 0);
    for (int hop = 0; hop < size; ++hop) {
        if (hop > 0) { // the gradients follow their keys and values round the ring
            Array received = m_context.activations(rows, 2 * columns);
            co_await m_context.shift(Group::cp, keysValues, received, "ring.kv");
            keysValues = std::move(received);
            Array receivedGradients = m_context.statistics(rows, 2 * columns);
            co_await m_context.shift(Group::cp, dKeysValues, receivedGradients, "ring.dkv");
            dKeysValues = std::move(receivedGradients);
        }
        const KernelSpan span(m_context, m_coreLabel);
        const Meeting met = meet(index, (index - hop + size) % size, rows, m_causal);
        const auto queries = [&](const Tensor& all) { return all.rowRange(met.firstQuery, met.queries); };
        const auto keys = [&](const Tensor& all) { return all.columnRange(0, columns).rowRange(0, met.keys); };
        const auto values = [&](const Tensor& all) { return all.columnRange(columns, columns).rowRange(0, met.keys); };
        queue.attentionGradient(kernelShape(met.causal, 0), queries(q), keys(keysValues), values(keysValues),
                                queries(saved.output), queries(saved.logSumExp), queries(dOutput), queries(dq), keys(dKeysValues),
                                values(dKeysValues), true);
    }
    Array home = m_context.statistics(rows, 2 * columns);
    co_await m_context.shift(Group::cp, dKeysValues, home, "ring.dkv");
    Array dQkv = m_context.activations(rows, m_shape.qkvColumns());
    queue.copy(dq, dQkv->columnRange(0, m_shape.queryColumns));
    queue.copy(home, dQkv->columnRange(m_shape.queryColumns, 2 * columns));
    co_return dQkv;
}

} // namespace live
