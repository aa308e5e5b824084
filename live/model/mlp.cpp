#include "live/model/mlp.h"

#include "live/model/dropout.h"

namespace live {

Mlp::Mlp(RankContext& context, const Shape& shape, Bucket& bucket, Bucket* adapters, const std::string& prefix, int stage,
         int layer)
    : m_context(context), m_shape(shape), m_layer(layer), m_dropped(droppedModules(context.scenario.training)),
      m_norm(context, shape, bucket, prefix + ".mlp_norm", "mlp.norm", stage, layer),
      m_inner(context, shape, bucket, adapters, FeedForward::kDense, prefix + ".mlp", context.scenario.model.intermediateSize,
              stage, layer),
      m_addLabel(context.kinds, "mlp.residual", stage, layer)
{
}

Task<Array> Mlp::forward(const Input& input, Array x, MlpSaved& saved)
{
    saved.input = std::move(x);
    saved.normalized = m_norm.forward(saved.input, saved.statistics);
    Array y = co_await m_inner.forward(saved.normalized, saved.inner);
    const KernelSpan span(m_context, m_addLabel);
    dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::mlp, y);
    m_context.queue->add(saved.input, y);
    m_context.inspect(m_addLabel, y);
    if (m_dropped.has(sim::RecomputeModule::layernorm))
        saved.normalized.reset();
    if (m_dropped.has(sim::RecomputeModule::mlp))
        saved.inner = {};
    co_return y;
}

Task<> Mlp::restore(MlpSaved& saved)
{
    if (m_dropped.has(sim::RecomputeModule::layernorm))
        saved.normalized = m_norm.forward(saved.input, saved.statistics);
    if (m_dropped.has(sim::RecomputeModule::mlp))
        co_await m_inner.forward(saved.normalized, saved.inner);
}

Task<Array> Mlp::backward(const Input& input, Array dy, MlpSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    Array dResidual;
    if (m_context.scenario.live.dropout != 0) {
        dResidual = m_context.activations(dy->rows, dy->columns);
        queue.copy(dy, dResidual);
        dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::mlp, dy);
    }
    const Array dNormalized = co_await m_inner.backward(std::move(dy), saved.normalized, saved.inner, ofWeights);
    Array dx = m_norm.backward(dNormalized, saved.input, saved.statistics);
    const KernelSpan span(m_context, m_addLabel);
    queue.add(dResidual ? dResidual : saved.inner.dLocalOutput, dx);
    saved.input.reset();
    saved.statistics.reset();
    if (ofWeights)
        saved = {};
    co_return dx;
}

Task<> Mlp::backwardWeight(MlpSaved& saved)
{
    co_await m_inner.backwardWeight(saved.normalized, saved.inner);
    saved = {};
}

} // namespace live
