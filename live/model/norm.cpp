#include "live/model/norm.h"

namespace live {

NormRule Norm::ruleOf(const sim::Model& model)
{
    if (model.normalization == sim::Normalization::layernorm)
        return {NormKind::layernorm, model.layerNormEpsilon};
    return {NormKind::rmsnorm, model.rmsNormEps};
}

Norm::Norm(RankContext& context, const Shape& shape, Bucket& bucket, const std::string& name, std::string_view label, int stage,
           int layer)
    : Norm(context, {shape.hidden, shape.sequenceParallel}, ruleOf(context.scenario.model), bucket, name, label, stage, layer)
{
}

Norm::Norm(RankContext& context, Size size, NormRule rule, Bucket& bucket, const std::string& name, std::string_view label,
           int stage, int layer)
    : m_context(context), m_rule(rule), m_label(context.kinds, label, stage, layer)
{
    ParameterSpec gain = replicated(sliceOfVector(name + ".gain", size.width), size.partial);
    gain.initial.constant = 1;
    m_gain = &bucket.add(gain);
    if (m_rule.kind == NormKind::layernorm)
        m_bias = &bucket.add(replicated(sliceOfVector(name + ".bias", size.width), size.partial));
}

Array Norm::forward(const Tensor& x, Array& statistics) const
{
    Array y = m_context.activations(x.rows, x.columns);
    forward(x, y, statistics);
    return y;
}

void Norm::forward(const Tensor& x, const Tensor& y, Array& statistics) const
{
    const KernelSpan span(m_context, m_label);
    statistics = m_context.statistics(x.rows, 2);
    m_context.queue->norm(m_rule, x, m_gain->value(), m_bias ? m_bias->value() : Tensor{}, y, statistics);
    m_context.inspect(m_label, y);
}

Array Norm::backward(const Tensor& dy, const Tensor& x, const Tensor& statistics) const
{
    Array dx = m_context.activations(x.rows, x.columns);
    backward(dy, x, statistics, dx);
    return dx;
}

void Norm::backward(const Tensor& dy, const Tensor& x, const Tensor& statistics, const Tensor& dx) const
{
    const KernelSpan span(m_context, m_label);
    Array unused[2]; // where the weights are frozen: one kernel makes both gradients
    const auto gradientOf = [&](const Parameter& weights, Array& otherwise) -> Tensor {
        if (weights.isTrained())
            return weights.gradient();
        otherwise = m_context.statistics(1, weights.spec.columns);
        m_context.queue->fill(otherwise, 0);
        return otherwise;
    };
    m_context.queue->normGradient(m_rule.kind, dy, x, m_gain->value(), statistics, dx, gradientOf(*m_gain, unused[0]),
                                  m_bias ? gradientOf(*m_bias, unused[1]) : Tensor{});
    m_context.inspect(m_label, dx);
}

} // namespace live
