#include "live/model/norm.h"

namespace live {
namespace {

NormRule normRuleOf(const sim::Model& model)
{
    if (model.normalization == sim::Normalization::layernorm)
        return {NormKind::layernorm, model.layerNormEpsilon};
    return {NormKind::rmsnorm, model.rmsNormEps};
}

} // namespace

Norm::Norm(RankContext& context, const Shape& shape, Bucket& bucket, const std::string& name, std::string_view label, int stage,
           int layer)
    : m_context(context), m_rule(normRuleOf(context.scenario.model)), m_label(context.kinds, label, stage, layer)
{
    ParameterSpec gain = replicated(sliceOfVector(name + ".gain", shape.hidden), shape.sequenceParallel);
    gain.initial.constant = 1;
    m_gain = &bucket.add(gain);
    if (m_rule.kind == NormKind::layernorm)
        m_bias = &bucket.add(replicated(sliceOfVector(name + ".bias", shape.hidden), shape.sequenceParallel));
}

Array Norm::forward(const Tensor& x, Array& statistics) const
{
    const KernelSpan span(m_context, m_label);
    Array y = m_context.activations(x.rows, x.columns);
    statistics = m_context.statistics(x.rows, 2);
    m_context.queue->norm(m_rule, x, m_gain->value(), m_bias ? m_bias->value() : Tensor{}, y, statistics);
    m_context.inspect(m_label, y);
    return y;
}

Array Norm::backward(const Tensor& dy, const Tensor& x, const Tensor& statistics) const
{
    const KernelSpan span(m_context, m_label);
    Array dx = m_context.activations(x.rows, x.columns);
    m_context.queue->normGradient(m_rule.kind, dy, x, m_gain->value(), statistics, dx, m_gain->gradient(),
                                  m_bias ? m_bias->gradient() : Tensor{});
    m_context.inspect(m_label, dx);
    return dx;
}

} // namespace live
