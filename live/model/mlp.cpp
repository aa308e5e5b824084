#include "live/model/mlp.h"

#include "live/model/dropout.h"

namespace live {

ActivationFunction activationOf(const sim::Model& model)
{
    switch (model.hiddenAct) {
    case sim::HiddenActivation::gelu:
        return ActivationFunction::gelu;
    case sim::HiddenActivation::silu:
        return ActivationFunction::silu;
    case sim::HiddenActivation::relu2:
        return ActivationFunction::relu2;
    }
    return ActivationFunction::gelu;
}

void activate(Queue& queue, ActivationFunction function, bool gated, const Tensor& up, const Tensor& hidden)
{
    if (gated)
        queue.gatedActivation(function, up, hidden);
    else
        queue.activation(function, up, hidden);
}

void activateGradient(Queue& queue, ActivationFunction function, bool gated, const Tensor& up, const Tensor& dHidden,
                      const Tensor& dUp)
{
    if (gated)
        queue.gatedActivationGradient(function, up, dHidden, dUp);
    else
        queue.activationGradient(function, up, dHidden, dUp);
}

Mlp::Mlp(RankContext& context, const Shape& shape, Bucket& bucket, const std::string& prefix, int stage, int layer)
    : m_context(context), m_shape(shape), m_layer(layer),
      m_norm(context, shape, bucket, prefix + ".mlp_norm", "mlp.norm", stage, layer), m_gated(context.scenario.model.gatedMlp),
      m_activation(activationOf(context.scenario.model)), m_columns(context.scenario.model.intermediateSize / shape.tp),
      m_upLabel(context.kinds, "mlp.up", stage, layer, KernelLabel::Operator::linear),
      m_activationLabel(context.kinds, "mlp.act", stage, layer),
      m_downLabel(context.kinds, "mlp.down", stage, layer, KernelLabel::Operator::linear),
      m_addLabel(context.kinds, "mlp.residual", stage, layer)
{
    const sim::Model& model = context.scenario.model;
    const auto matrix = [&](const char* name) {
        return rowsOfMatrix(prefix + ".mlp." + name, m_columns, shape.hidden, shape.tpSlice());
    };
    const auto vector = [&](const char* name) { return sliceOfVector(prefix + ".mlp." + name, m_columns, shape.tpSlice()); };
    Parameter* const gate = m_gated ? &bucket.add(matrix("gate")) : nullptr;
    m_up = &bucket.add(matrix("up"), m_gated);
    m_upFirst = gate ? gate : m_up;
    m_down = &bucket.add(columnsOfMatrix(prefix + ".mlp.down", shape.hidden, m_columns, shape.tpSlice(), model.numHiddenLayers));
    if (model.bias) {
        Parameter* const gateBias = m_gated ? &bucket.add(vector("gate_bias")) : nullptr;
        m_upBias = &bucket.add(vector("up_bias"), m_gated);
        m_upBiasFirst = gateBias ? gateBias : m_upBias;
        m_downBias = &bucket.add(replicated(sliceOfVector(prefix + ".mlp.down_bias", shape.hidden), shape.sequenceParallel));
    }
}

Tensor Mlp::upValue() const
{
    return m_upFirst->valueThrough(*m_up).reshaped(m_columns * (m_gated ? 2 : 1), m_shape.hidden);
}

Tensor Mlp::upGradient() const
{
    return m_upFirst->gradientThrough(*m_up).reshaped(m_columns * (m_gated ? 2 : 1), m_shape.hidden);
}

Task<Array> Mlp::forward(const Input& input, Array x, MlpSaved& saved)
{
    Queue& queue = *m_context.queue;
    saved.input = std::move(x);
    saved.normalized = m_norm.forward(saved.input, saved.statistics);
    const AllRows all = co_await gatherRows(m_context, m_shape, saved.normalized, "mlp.gather");
    saved.up = m_context.activations(m_shape.rows, m_columns * (m_gated ? 2 : 1));
    {
        const KernelSpan span(m_context, m_upLabel);
        queue.linear(all.tensor, upValue(), m_upBias ? m_upBiasFirst->valueThrough(*m_upBias) : Tensor{}, saved.up);
    }
    m_context.inspect(m_upLabel, saved.up);
    saved.hidden = m_context.activations(m_shape.rows, m_columns);
    {
        const KernelSpan span(m_context, m_activationLabel);
        activate(queue, m_activation, m_gated, saved.up, saved.hidden);
    }
    m_context.inspect(m_activationLabel, saved.hidden);
    Array down = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_downLabel);
        queue.linear(saved.hidden, m_down->value(), {}, down);
    }
    m_context.inspect(m_downLabel, down);
    Array y = co_await sumRowsOverTp(m_context, m_shape, std::move(down), "mlp.sum");
    const KernelSpan span(m_context, m_addLabel);
    if (m_downBias)
        queue.addBias(m_downBias->value(), y);
    dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::mlp, y);
    queue.add(saved.input, y);
    m_context.inspect(m_addLabel, y);
    co_return y;
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
    saved.dLocalOutput = std::move(dy);
    saved.dOutput = co_await gatherRows(m_context, m_shape, saved.dLocalOutput, "mlp.gather");
    Array dHidden = m_context.activations(m_shape.rows, m_columns);
    {
        const KernelSpan span(m_context, m_downLabel);
        queue.linearInputGradient(saved.dOutput.tensor, m_down->value(), dHidden);
    }
    m_context.inspect(m_downLabel, dHidden);
    if (ofWeights)
        downWeightGradient(saved);
    saved.dUp = m_context.activations(m_shape.rows, saved.up->columns);
    {
        const KernelSpan span(m_context, m_activationLabel);
        activateGradient(queue, m_activation, m_gated, saved.up, dHidden, saved.dUp);
    }
    m_context.inspect(m_activationLabel, saved.dUp);
    dHidden.reset();
    saved.up.reset();
    if (ofWeights)
        m_gathering.startGather(m_context, m_shape, saved.normalized, "mlp.gather");
    Array dNormalized = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_upLabel);
        queue.linearInputGradient(saved.dUp, upValue(), dNormalized);
    }
    m_context.inspect(m_upLabel, dNormalized);
    AllRows all;
    if (ofWeights)
        all = co_await m_gathering.gathered();
    m_sum.startSum(m_context, m_shape, std::move(dNormalized), "mlp.sum");
    if (ofWeights)
        upWeightGradient(saved, all.tensor);
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

Task<> Mlp::backwardWeight(MlpSaved& saved)
{
    downWeightGradient(saved);
    const AllRows all = co_await gatherRows(m_context, m_shape, saved.normalized, "mlp.gather");
    upWeightGradient(saved, all.tensor);
    saved = {};
}

void Mlp::downWeightGradient(const MlpSaved& saved)
{
    const KernelSpan span(m_context, m_downLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dOutput.tensor, saved.hidden, m_down->gradient(), {});
    if (m_downBias)
        m_context.queue->biasGradient(saved.dLocalOutput, m_downBias->gradient());
}

void Mlp::upWeightGradient(const MlpSaved& saved, const Tensor& normalized)
{
    const KernelSpan span(m_context, m_upLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dUp, normalized, upGradient(),
                                          m_upBias ? m_upBiasFirst->gradientThrough(*m_upBias) : Tensor{});
}

} // namespace live
