#include "live/model/attention.h"

#include "live/model/dropout.h"

namespace live {

Attention::Attention(RankContext& context, const Shape& shape, Bucket& bucket, Bucket* adapters, const std::string& prefix,
                     int stage, int layer)
    : m_context(context), m_shape(shape), m_layer(layer), m_dropped(droppedModules(context.scenario.training)),
      m_norm(context, shape, bucket, prefix + ".attention_norm", "attn.norm", stage, layer),
      m_projection(makeHeadProjection(context, shape, bucket, adapters, prefix + ".attention", stage, layer)),
      m_core(context, shape, bucket, prefix + ".attention", stage, layer),
      m_outputLabel(context.kinds, "attn.out", stage, layer, KernelLabel::Operator::linear),
      m_addLabel(context.kinds, "attn.residual", stage, layer)
{
    const sim::Model& model = context.scenario.model;
    m_output = &bucket.add(columnsOfMatrix(prefix + ".attention.output", shape.hidden, shape.outputColumns(), shape.tpSlice(),
                                           model.numHiddenLayers));
    if (adapters && model.lora.has(sim::LoraTarget::output))
        m_outputAdapter.emplace(context, shape, *adapters, Adapter::Beside::splitInputs, Adapter::kOutput, m_output->spec, stage,
                                layer);
    if (model.bias || model.outputBias)
        m_outputBias =
            &bucket.add(replicated(sliceOfVector(prefix + ".attention.output_bias", shape.hidden), shape.sequenceParallel));
}

Task<Array> Attention::forward(const Input& input, Array x, AttentionSaved& saved)
{
    Queue& queue = *m_context.queue;
    saved.input = std::move(x);
    saved.normalized = m_norm.forward(saved.input, saved.statistics);
    co_await m_projection->down(saved.normalized, saved.heads);
    saved.qkv = co_await m_projection->up(input, saved.normalized, saved.heads);
    co_await m_core.forward(input, saved.qkv, saved.output, saved.logSumExp);
    m_context.inspect(m_core.label(), saved.output);
    Array projected = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_outputLabel);
        queue.linear(saved.output, m_output->value(), {}, projected);
    }
    if (m_outputAdapter)
        co_await m_outputAdapter->forward(saved.output, projected, saved.outputAdapter);
    m_context.inspect(m_outputLabel, projected);
    Array y = co_await sumRowsOverTp(m_context, m_shape, std::move(projected), "attn.sum");
    const KernelSpan span(m_context, m_addLabel);
    if (m_outputBias)
        queue.addBias(m_outputBias->value(), y);
    dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::attention, y);
    queue.add(saved.input, y);
    m_context.inspect(m_addLabel, y);
    drop(saved);
    co_return y;
}

void Attention::drop(AttentionSaved& saved) const
{
    if (m_dropped.has(sim::RecomputeModule::layernorm))
        saved.normalized.reset();
    if (m_dropped.has(sim::RecomputeModule::mlaUpProjection))
        saved.qkv.reset();
    if (m_dropped.has(sim::RecomputeModule::coreAttention)) {
        saved.output.reset();
        saved.logSumExp.reset();
    }
}

Task<> Attention::restore(const Input& input, AttentionSaved& saved)
{
    if (m_dropped.has(sim::RecomputeModule::layernorm))
        saved.normalized = m_norm.forward(saved.input, saved.statistics);
    if (m_dropped.has(sim::RecomputeModule::mlaUpProjection))
        saved.qkv = co_await m_projection->up(input, saved.normalized, saved.heads);
    if (m_dropped.has(sim::RecomputeModule::coreAttention))
        co_await m_core.forward(input, saved.qkv, saved.output, saved.logSumExp);
}

Task<Array> Attention::backward(const Input& input, Array dy, AttentionSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    Array dResidual; // what comes through the residual connection, where dropout changes dy
    if (m_context.scenario.live.dropout != 0) {
        dResidual = m_context.activations(dy->rows, dy->columns);
        queue.copy(dy, dResidual);
        dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::attention, dy);
    }
    saved.dLocalOutput = std::move(dy);
    saved.dOutput = co_await gatherRows(m_context, m_shape, saved.dLocalOutput, "attn.gather");
    Array dCore = m_context.activations(m_shape.rows, m_shape.outputColumns());
    {
        const KernelSpan span(m_context, m_outputLabel);
        queue.linearInputGradient(saved.dOutput.tensor, m_output->value(), dCore);
    }
    if (m_outputAdapter)
        co_await m_outputAdapter->backward(saved.dOutput.tensor, saved.outputAdapter, dCore);
    m_context.inspect(m_outputLabel, dCore);
    if (ofWeights)
        outputWeightGradient(saved);
    Array dQkv = co_await m_core.backward(input, saved.qkv, saved.output, saved.logSumExp, dCore);
    m_context.inspect(m_core.label(), dQkv);
    dCore.reset();
    saved.qkv.reset();
    saved.logSumExp.reset();
    const Array dNormalized = co_await m_projection->backward(input, std::move(dQkv), saved.normalized, saved.heads, ofWeights);
    Array dx = m_norm.backward(dNormalized, saved.input, saved.statistics);
    const KernelSpan span(m_context, m_addLabel);
    queue.add(dResidual ? dResidual : saved.dLocalOutput, dx);
    saved.input.reset();
    saved.statistics.reset();
    if (ofWeights)
        saved = {};
    co_return dx;
}

Task<> Attention::backwardWeight(AttentionSaved& saved)
{
    outputWeightGradient(saved);
    co_await m_projection->backwardWeight(saved.normalized, saved.heads);
    saved = {};
}

void Attention::outputWeightGradient(const AttentionSaved& saved)
{
    if (m_outputAdapter)
        m_outputAdapter->weightGradient(saved.output, saved.dOutput.tensor, saved.outputAdapter);
    if (!m_output->isTrained())
        return;
    const KernelSpan span(m_context, m_outputLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dOutput.tensor, saved.output, m_output->gradient(), {});
    if (m_outputBias)
        m_context.queue->biasGradient(saved.dLocalOutput, m_outputBias->gradient());
}

} // namespace live
