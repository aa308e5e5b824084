#include "live/model/attention_core.h"

#include "live/model/rotary.h"

#include <algorithm>

namespace live {

AttentionCore::AttentionCore(RankContext& context, const Shape& shape, Bucket& bucket, const std::string& prefix, int stage,
                             int layer)
    : m_context(context), m_shape(shape), m_causal(context.scenario.training.causal),
      m_sharpness(scoreFactor(context.scenario.model)), m_label(context.kinds, "attn.core", stage, layer),
      m_mergeLabel(context.kinds, "attn.merge", stage, layer), m_sinksLabel(context.kinds, "attn.sinks", stage, layer)
{
    const sim::Model& model = context.scenario.model;
    const std::int64_t length = context.scenario.training.sequenceLength;
    const sim::LayerType type = model.layerType(layer);
    if (type == sim::LayerType::sliding && model.slidingWindow < length)
        m_window = model.slidingWindow;
    if (type == sim::LayerType::chunked && model.attentionChunkSize < length)
        m_chunk = model.attentionChunkSize;
    if (model.attentionSinks && !model.isLatentAttention())
        m_sinks = &bucket.add(sliceOfVector(prefix + ".sinks", shape.heads, shape.tpSlice()));
}

/// In the type of sums.
Array AttentionCore::sinks() const
{
    Array sinks = m_context.statistics(1, m_shape.heads);
    m_context.queue->copy(m_sinks->value(), sinks);
    return sinks;
}

AttentionCore::Parts AttentionCore::split(const Shape& shape, const Tensor& qkv)
{
    return {qkv.columnRange(0, shape.queryColumns), qkv.columnRange(shape.queryColumns, shape.keyColumns),
            qkv.columnRange(shape.queryColumns + shape.keyColumns, shape.valueColumns)};
}

/// Without a window or chunks one meeting of all; in chunks one for each that holds queries.
std::vector<AttentionCore::Meeting> AttentionCore::meetings(const std::vector<Stretch>& queries,
                                                            const std::vector<Stretch>& keys) const
{
    std::vector<Meeting> met;
    for (const Stretch& q : queries)
        for (const Stretch& k : keys) {
            const std::int64_t chunk = m_chunk > 0 ? m_chunk : std::max(q.position + q.count, k.position + k.count);
            for (std::int64_t begin = q.position / chunk * chunk; begin < q.position + q.count; begin += chunk) {
                const auto inChunk = [&](const Stretch& all) {
                    const std::int64_t first = std::max(all.position, begin);
                    const std::int64_t end = std::min(all.position + all.count, begin + chunk);
                    return Stretch{all.row + first - all.position, first, end - first};
                };
                const Stretch qs = inChunk(q), ks = inChunk(k);
                const bool sees = qs.count > 0 && ks.count > 0 && (!m_causal || qs.position + qs.count > ks.position) &&
                                  (m_window == 0 || qs.position - m_window < ks.position + ks.count - 1);
                if (sees)
                    met.push_back({qs.row, qs.count, ks.row, ks.count, m_causal, qs.position - ks.position});
            }
        }
    return met;
}

AttentionShape AttentionCore::kernelShape(const Meeting& met) const
{
    return {.sequences = m_shape.sequences,
            .heads = m_shape.heads,
            .keyValueHeads = m_shape.keyValueHeads,
            .headDim = m_shape.headDim,
            .causal = met.causal,
            .diagonal = met.diagonal,
            .window = m_window,
            .valueDim = m_shape.valueDim,
            .sharpness = m_sharpness};
}

Tensor AttentionCore::queriesOf(const Meeting& met, const Tensor& rows) const
{
    return rows.rowRange(met.firstQuery * m_shape.sequences, met.queries * m_shape.sequences);
}

Tensor AttentionCore::keysOf(const Meeting& met, const Tensor& keysValues) const
{
    return keysValues.rowRange(met.firstKey * m_shape.sequences, met.keys * m_shape.sequences).columnRange(0, m_shape.keyColumns);
}

Tensor AttentionCore::valuesOf(const Meeting& met, const Tensor& keysValues) const
{
    return keysValues.rowRange(met.firstKey * m_shape.sequences, met.keys * m_shape.sequences)
        .columnRange(m_shape.keyColumns, m_shape.valueColumns);
}

Task<> AttentionCore::forward(const Input& input, Tensor qkv, Array& output, Array& logSumExp)
{
    output = m_context.activations(m_shape.rows, m_shape.outputColumns());
    logSumExp = m_context.statistics(m_shape.rows, m_shape.heads);
    co_await seen(input, qkv, output, logSumExp);
    if (!m_sinks)
        co_return;
    const KernelSpan span(m_context, m_sinksLabel);
    m_context.queue->attentionSinks(m_shape.valueDim, sinks(), output, logSumExp);
}

Task<> AttentionCore::seen(const Input& input, Tensor qkv, Tensor output, Tensor logSumExp)
{
    if (m_shape.cp > 1) {
        co_await ring(qkv, output, logSumExp);
        co_return;
    }
    const KernelSpan span(m_context, m_label);
    const std::int64_t positions = m_shape.rows / m_shape.sequences, first = input.slice * positions;
    Tensor keysValues = qkv.columnRange(m_shape.queryColumns, m_shape.keyColumns + m_shape.valueColumns);
    if (m_shape.slices > 1) { // this slice's queries see all keys so far
        Sequence& sequence = m_sequences[input.microbatch];
        if (!sequence.keysValues)
            sequence.keysValues = m_context.activations(m_shape.rows * m_shape.slices, keysValues.columns);
        m_context.queue->copy(keysValues, sequence.keysValues->rowRange(first * m_shape.sequences, m_shape.rows));
        keysValues = sequence.keysValues;
    }
    for (const Meeting& met : meetings({{0, first, positions}}, {{0, 0, first + positions}}))
        m_context.queue->attention(kernelShape(met), queriesOf(met, split(m_shape, qkv).q), keysOf(met, keysValues),
                                   valuesOf(met, keysValues), queriesOf(met, output), queriesOf(met, logSumExp));
}

Task<Array> AttentionCore::backward(const Input& input, Tensor qkv, Tensor output, Tensor logSumExp, Tensor dOutput)
{
    if (m_sinks && m_sinks->isTrained()) {
        const KernelSpan span(m_context, m_sinksLabel);
        m_context.queue->attentionSinksGradient(m_shape.valueDim, sinks(), output, logSumExp, dOutput, m_sinks->gradient());
    }
    Array dQkv = co_await seenGradient(input, qkv, output, logSumExp, dOutput);
    co_return dQkv;
}

Task<Array> AttentionCore::seenGradient(const Input& input, Tensor qkv, Tensor output, Tensor logSumExp, Tensor dOutput)
{
    if (m_shape.cp > 1) {
        Array dQkv = co_await ringGradient(qkv, output, logSumExp, dOutput);
        co_return dQkv;
    }
    const KernelSpan span(m_context, m_label);
    if (m_shape.slices > 1)
        co_return sliceGradient(input, qkv, output, logSumExp, dOutput);
    const std::int64_t positions = m_shape.rows / m_shape.sequences, columns = m_shape.keyColumns + m_shape.valueColumns;
    Array dQkv = m_context.activations(m_shape.rows, m_shape.qkvColumns());
    const Tensor keysValues = qkv.columnRange(m_shape.queryColumns, columns);
    const Tensor dKeysValues = dQkv->columnRange(m_shape.queryColumns, columns);
    for (const Meeting& met : meetings({{0, 0, positions}}, {{0, 0, positions}})) // each query and key is in one
        m_context.queue->attentionGradient(kernelShape(met), queriesOf(met, split(m_shape, qkv).q), keysOf(met, keysValues),
                                           valuesOf(met, keysValues), queriesOf(met, output), queriesOf(met, logSumExp),
                                           queriesOf(met, dOutput), queriesOf(met, split(m_shape, dQkv).q),
                                           keysOf(met, dKeysValues), valuesOf(met, dKeysValues), false);
    co_return dQkv;
}

/// Slices come back last first: when this one comes, those after it have left their share of its keys' gradients.
Array AttentionCore::sliceGradient(const Input& input, const Tensor& qkv, const Tensor& output, const Tensor& logSumExp,
                                   const Tensor& dOutput)
{
    Queue& queue = *m_context.queue;
    const std::int64_t positions = m_shape.rows / m_shape.sequences, first = input.slice * positions;
    const std::int64_t columns = m_shape.keyColumns + m_shape.valueColumns;
    Sequence& sequence = m_sequences.at(input.microbatch);
    if (!sequence.keyGradients) {
        sequence.keyGradients = m_context.statistics(m_shape.rows * m_shape.slices, columns);
        queue.fill(sequence.keyGradients, 0);
    }
    Array dq = m_context.statistics(m_shape.rows, m_shape.queryColumns);
    queue.fill(dq, 0);
    for (const Meeting& met : meetings({{0, first, positions}}, {{0, 0, first + positions}}))
        queue.attentionGradient(kernelShape(met), queriesOf(met, split(m_shape, qkv).q), keysOf(met, sequence.keysValues),
                                valuesOf(met, sequence.keysValues), queriesOf(met, output), queriesOf(met, logSumExp),
                                queriesOf(met, dOutput), queriesOf(met, dq), keysOf(met, sequence.keyGradients),
                                valuesOf(met, sequence.keyGradients), true);
    Array dQkv = m_context.activations(m_shape.rows, m_shape.qkvColumns());
    queue.copy(dq, split(m_shape, dQkv).q);
    queue.copy(sequence.keyGradients->rowRange(first * m_shape.sequences, m_shape.rows),
               dQkv->columnRange(m_shape.queryColumns, columns));
    if (input.slice == 0)
        m_sequences.erase(input.microbatch); // those of the next step come anew
    return dQkv;
}

} // namespace live
