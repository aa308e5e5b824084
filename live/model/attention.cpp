#include "live/model/attention.h"

#include "live/model/dropout.h"

namespace live {
Attention::Attention(RankContext& context, const Shape& shape, Bucket& bucket, const std::string& prefix, int stage, int layer)
    : m_context(context), m_shape(shape), m_layer(layer),
      m_norm(context, shape, bucket, prefix + ".attention_norm", "attn.norm", stage, layer),
      m_causal(context.scenario.training.causal),
      m_rotates(context.scenario.model.positionEmbedding == sim::PositionEmbedding::rope),
      m_projectLabel(context.kinds, "attn.qkv", stage, layer, KernelLabel::Operator::linear),
      m_rotateLabel(context.kinds, "attn.rope", stage, layer), m_coreLabel(context.kinds, "attn.core", stage, layer),
      m_outputLabel(context.kinds, "attn.out", stage, layer, KernelLabel::Operator::linear),
      m_addLabel(context.kinds, "attn.residual", stage, layer)
{
    const sim::Model& model = context.scenario.model;
    const auto matrix = [&](const char* name, std::int64_t rows) {
        return rowsOfMatrix(prefix + ".attention." + name, rows, shape.hidden, shape.tpSlice());
    };
    m_query = &bucket.add(matrix("query", shape.queryColumns));
    m_key = &bucket.add(matrix("key", shape.keyColumns), true);
    m_value = &bucket.add(matrix("value", shape.keyColumns), true);
    if (model.bias || model.qkvBias) {
        const auto vector = [&](const char* name, std::int64_t columns) {
            return sliceOfVector(prefix + ".attention." + name, columns, shape.tpSlice());
        };
        m_queryBias = &bucket.add(vector("query_bias", shape.queryColumns));
        m_keyBias = &bucket.add(vector("key_bias", shape.keyColumns), true);
        m_valueBias = &bucket.add(vector("value_bias", shape.keyColumns), true);
    }
    m_output = &bucket.add(
        columnsOfMatrix(prefix + ".attention.output", shape.hidden, shape.queryColumns, shape.tpSlice(), model.numHiddenLayers));
    if (model.bias || model.outputBias)
        m_outputBias =
            &bucket.add(replicated(sliceOfVector(prefix + ".attention.output_bias", shape.hidden), shape.sequenceParallel));
}

Attention::Core Attention::split(const Tensor& qkv) const
{
    return {qkv.columnRange(0, m_shape.queryColumns), qkv.columnRange(m_shape.queryColumns, m_shape.keyColumns),
            qkv.columnRange(m_shape.queryColumns + m_shape.keyColumns, m_shape.keyColumns)};
}

AttentionShape Attention::kernelShape(bool causal, std::int64_t diagonal) const
{
    return {.sequences = m_shape.sequences,
            .heads = m_shape.heads,
            .keyValueHeads = m_shape.keyValueHeads,
            .headDim = m_shape.headDim,
            .causal = causal,
            .diagonal = diagonal};
}

void Attention::rotate(const Input& input, const Tensor& qkv, bool inverse) const
{
    if (!m_rotates)
        return;
    const KernelSpan span(m_context, m_rotateLabel);
    const double theta = m_context.scenario.model.ropeTheta;
    const Core parts = split(qkv);
    m_context.queue->rotate(parts.q, m_shape.headDim, input.positions, theta, inverse);
    m_context.queue->rotate(parts.k, m_shape.headDim, input.positions, theta, inverse);
}

Task<Array> Attention::forward(const Input& input, Array x, AttentionSaved& saved)
{
    Queue& queue = *m_context.queue;
    saved.input = std::move(x);
    saved.normalized = m_norm.forward(saved.input, saved.statistics);
    const AllRows all = co_await gatherRows(m_context, m_shape, saved.normalized, "attn.gather");
    saved.qkv = m_context.activations(m_shape.rows, m_shape.qkvColumns());
    {
        const KernelSpan span(m_context, m_projectLabel);
        queue.linear(all.tensor, m_query->valueThrough(*m_value).reshaped(m_shape.qkvColumns(), m_shape.hidden),
                     m_queryBias ? m_queryBias->valueThrough(*m_valueBias) : Tensor{}, saved.qkv);
    }
    m_context.inspect(m_projectLabel, saved.qkv);
    rotate(input, saved.qkv, false);
    co_await core(input, saved);
    m_context.inspect(m_coreLabel, saved.output);
    Array projected = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_outputLabel);
        queue.linear(saved.output, m_output->value(), {}, projected);
    }
    m_context.inspect(m_outputLabel, projected);
    Array y = co_await sumRowsOverTp(m_context, m_shape, std::move(projected), "attn.sum");
    const KernelSpan span(m_context, m_addLabel);
    if (m_outputBias)
        queue.addBias(m_outputBias->value(), y);
    dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::attention, y);
    queue.add(saved.input, y);
    m_context.inspect(m_addLabel, y);
    co_return y;
}

Task<> Attention::core(const Input& input, AttentionSaved& saved)
{
    saved.output = m_context.activations(m_shape.rows, m_shape.queryColumns);
    saved.logSumExp = m_context.statistics(m_shape.rows, m_shape.heads);
    if (m_shape.cp > 1) {
        co_await ring(saved);
        co_return;
    }
    const KernelSpan span(m_context, m_coreLabel);
    Core parts = split(saved.qkv);
    std::int64_t diagonal = 0;
    if (m_shape.slices > 1) { // this slice's queries see all keys so far
        const std::int64_t first = input.slice * m_shape.rows;
        Sequence& sequence = m_sequences[input.microbatch];
        if (!sequence.keysValues)
            sequence.keysValues = m_context.activations(m_shape.rows * m_shape.slices, 2 * m_shape.keyColumns);
        m_context.queue->copy(saved.qkv->columnRange(m_shape.queryColumns, 2 * m_shape.keyColumns),
                              sequence.keysValues->rowRange(first, m_shape.rows));
        const Tensor seen = sequence.keysValues->rowRange(0, first + m_shape.rows);
        parts.k = seen.columnRange(0, m_shape.keyColumns);
        parts.v = seen.columnRange(m_shape.keyColumns, m_shape.keyColumns);
        diagonal = first / m_shape.sequences;
    }
    m_context.queue->attention(kernelShape(m_causal, diagonal), parts.q, parts.k, parts.v, saved.output, saved.logSumExp);
}

void Attention::dropCore(AttentionSaved& saved)
{
    saved.output.reset();
    saved.logSumExp.reset();
}

Task<Array> Attention::backward(const Input& input, Array dy, AttentionSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    if (!saved.output) {
        const sim::OpClass pass = std::exchange(m_context.pass, sim::OpClass::recompute);
        co_await core(input, saved);
        m_context.pass = pass;
    }
    Array dResidual; // what comes through the residual connection, where dropout changes dy
    if (m_context.scenario.live.dropout != 0) {
        dResidual = m_context.activations(dy->rows, dy->columns);
        queue.copy(dy, dResidual);
        dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::attention, dy);
    }
    saved.dLocalOutput = std::move(dy);
    saved.dOutput = co_await gatherRows(m_context, m_shape, saved.dLocalOutput, "attn.gather");
    Array dCore = m_context.activations(m_shape.rows, m_shape.queryColumns);
    {
        const KernelSpan span(m_context, m_outputLabel);
        queue.linearInputGradient(saved.dOutput.tensor, m_output->value(), dCore);
    }
    m_context.inspect(m_outputLabel, dCore);
    if (ofWeights)
        outputWeightGradient(saved);
    saved.dQkv = co_await coreGradient(input, dCore, saved);
    m_context.inspect(m_coreLabel, saved.dQkv);
    dCore.reset();
    saved.qkv.reset();
    saved.logSumExp.reset();
    rotate(input, saved.dQkv, true);
    if (ofWeights)
        m_gathering.startGather(m_context, m_shape, saved.normalized, "attn.gather");
    Array dNormalized = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_projectLabel);
        queue.linearInputGradient(saved.dQkv, m_query->valueThrough(*m_value).reshaped(m_shape.qkvColumns(), m_shape.hidden),
                                  dNormalized);
    }
    m_context.inspect(m_projectLabel, dNormalized);
    AllRows all;
    if (ofWeights)
        all = co_await m_gathering.gathered();
    m_sum.startSum(m_context, m_shape, std::move(dNormalized), "attn.sum");
    if (ofWeights)
        projectWeightGradient(saved, all.tensor);
    dNormalized = co_await m_sum.summed();
    Array dx = m_norm.backward(dNormalized, saved.input, saved.statistics);
    const KernelSpan span(m_context, m_addLabel);
    queue.add(dResidual ? dResidual : saved.dLocalOutput, dx);
    saved.input.reset();
    saved.statistics.reset();
    if (ofWeights)
        saved = {};
    co_return dx;
}

Task<Array> Attention::coreGradient(const Input& input, const Tensor& dOutput, AttentionSaved& saved)
{
    if (m_shape.cp > 1) {
        Array dQkv = co_await ringGradient(dOutput, saved);
        co_return dQkv;
    }
    Queue& queue = *m_context.queue;
    const KernelSpan span(m_context, m_coreLabel);
    Array dQkv = m_context.activations(m_shape.rows, m_shape.qkvColumns());
    const Core parts = split(saved.qkv);
    const Core gradients = split(dQkv);
    if (m_shape.slices == 1) {
        queue.attentionGradient(kernelShape(m_causal, 0), parts.q, parts.k, parts.v, saved.output, saved.logSumExp, dOutput,
                                gradients.q, gradients.k, gradients.v, false);
        co_return dQkv;
    }
    // Slices come back last first: when this one comes, those after it have left their share of its keys' gradients.
    const std::int64_t first = input.slice * m_shape.rows;
    const std::int64_t seenRows = first + m_shape.rows;
    const std::int64_t columns = m_shape.keyColumns;
    Sequence& sequence = m_sequences.at(input.microbatch);
    if (!sequence.keyGradients) {
        sequence.keyGradients = m_context.statistics(m_shape.rows * m_shape.slices, 2 * columns);
        queue.fill(sequence.keyGradients, 0);
    }
    const Tensor seen = sequence.keysValues->rowRange(0, seenRows);
    const Tensor seenGradients = sequence.keyGradients->rowRange(0, seenRows);
    Array dq = m_context.statistics(m_shape.rows, m_shape.queryColumns);
    queue.fill(dq, 0);
    queue.attentionGradient(kernelShape(m_causal, first / m_shape.sequences), parts.q, seen.columnRange(0, columns),
                            seen.columnRange(columns, columns), saved.output, saved.logSumExp, dOutput, dq,
                            seenGradients.columnRange(0, columns), seenGradients.columnRange(columns, columns), true);
    queue.copy(dq, gradients.q);
    queue.copy(seenGradients.rowRange(first, m_shape.rows), dQkv->columnRange(m_shape.queryColumns, 2 * columns));
    if (input.slice == 0)
        m_sequences.erase(input.microbatch); // those of the next step come anew
    co_return dQkv;
}

Task<> Attention::backwardWeight(AttentionSaved& saved)
{
    outputWeightGradient(saved);
    const AllRows all = co_await gatherRows(m_context, m_shape, saved.normalized, "attn.gather");
    projectWeightGradient(saved, all.tensor);
    saved = {};
}

void Attention::outputWeightGradient(const AttentionSaved& saved)
{
    const KernelSpan span(m_context, m_outputLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dOutput.tensor, saved.output, m_output->gradient(), {});
    if (m_outputBias)
        m_context.queue->biasGradient(saved.dLocalOutput, m_outputBias->gradient());
}

void Attention::projectWeightGradient(const AttentionSaved& saved, const Tensor& normalized)
{
    const KernelSpan span(m_context, m_projectLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dQkv, normalized,
                                          m_query->gradientThrough(*m_value).reshaped(m_shape.qkvColumns(), m_shape.hidden),
                                          m_queryBias ? m_queryBias->gradientThrough(*m_valueBias) : Tensor{});
}

} // namespace live
