#include "live/model/feed_forward.h"

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

FeedForward::FeedForward(RankContext& context, const Shape& shape, Bucket& bucket, Bucket* adapters, const Names& names,
                         const std::string& prefix, std::int64_t width, int stage, int layer)
    : m_context(context), m_shape(shape), m_names(names), m_gated(context.scenario.model.gatedMlp),
      m_activation(activationOf(context.scenario.model)), m_columns(width / shape.tp),
      m_upLabel(context.kinds, names.up, stage, layer, KernelLabel::Operator::linear),
      m_activationLabel(context.kinds, names.activation, stage, layer),
      m_downLabel(context.kinds, names.down, stage, layer, KernelLabel::Operator::linear)
{
    const sim::Model& model = context.scenario.model;
    const auto matrix = [&](const char* name) {
        return rowsOfMatrix(prefix + "." + name, m_columns, shape.hidden, shape.tpSlice());
    };
    const auto vector = [&](const char* name) { return sliceOfVector(prefix + "." + name, m_columns, shape.tpSlice()); };
    Parameter* const gate = m_gated ? &bucket.add(matrix("gate")) : nullptr;
    m_up = &bucket.add(matrix("up"), m_gated);
    m_upFirst = gate ? gate : m_up;
    m_down = &bucket.add(columnsOfMatrix(prefix + ".down", shape.hidden, m_columns, shape.tpSlice(), model.numHiddenLayers));
    const auto adapt = [&](std::optional<Adapter>& adapter, sim::LoraTarget target, Adapter::Beside beside,
                           const Adapter::Names& its, const Parameter& base) {
        if (adapters && model.lora.has(target))
            adapter.emplace(context, shape, *adapters, beside, its, base.spec, stage, layer);
    };
    if (gate)
        adapt(m_gateAdapter, sim::LoraTarget::gate, Adapter::Beside::splitOutputs, Adapter::kUp, *gate);
    adapt(m_upAdapter, sim::LoraTarget::up, Adapter::Beside::splitOutputs, Adapter::kUp, *m_up);
    adapt(m_downAdapter, sim::LoraTarget::down, Adapter::Beside::splitInputs, Adapter::kDown, *m_down);
    if (model.bias) {
        Parameter* const gateBias = m_gated ? &bucket.add(vector("gate_bias")) : nullptr;
        m_upBias = &bucket.add(vector("up_bias"), m_gated);
        m_upBiasFirst = gateBias ? gateBias : m_upBias;
        m_downBias = &bucket.add(replicated(sliceOfVector(prefix + ".down_bias", shape.hidden), shape.sequenceParallel));
    }
}

Tensor FeedForward::upValue() const
{
    return m_upFirst->valueThrough(*m_up).reshaped(upColumns(), m_shape.hidden);
}

Tensor FeedForward::upGradient() const
{
    return m_upFirst->gradientThrough(*m_up).reshaped(upColumns(), m_shape.hidden);
}

Task<Array> FeedForward::forward(Tensor normalized, FeedForwardSaved& saved)
{
    Queue& queue = *m_context.queue;
    const AllRows all = co_await gatherRows(m_context, m_shape, normalized, m_names.gather);
    saved.up = m_context.activations(m_shape.rows, upColumns());
    {
        const KernelSpan span(m_context, m_upLabel);
        queue.linear(all.tensor, upValue(), m_upBias ? m_upBiasFirst->valueThrough(*m_upBias) : Tensor{}, saved.up);
    }
    if (m_gateAdapter)
        co_await m_gateAdapter->forward(all.tensor, gatePart(saved.up), saved.gateAdapter);
    if (m_upAdapter)
        co_await m_upAdapter->forward(all.tensor, upPart(saved.up), saved.upAdapter);
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
    if (m_downAdapter)
        co_await m_downAdapter->forward(saved.hidden, down, saved.downAdapter);
    m_context.inspect(m_downLabel, down);
    Array y = co_await sumRowsOverTp(m_context, m_shape, std::move(down), m_names.sum);
    if (m_downBias) {
        const KernelSpan span(m_context, m_downLabel);
        queue.addBias(m_downBias->value(), y);
    }
    co_return y;
}

Task<Array> FeedForward::backward(Array dy, Tensor normalized, FeedForwardSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    saved.dLocalOutput = std::move(dy);
    saved.dOutput = co_await gatherRows(m_context, m_shape, saved.dLocalOutput, m_names.gather);
    Array dHidden = m_context.activations(m_shape.rows, m_columns);
    {
        const KernelSpan span(m_context, m_downLabel);
        queue.linearInputGradient(saved.dOutput.tensor, m_down->value(), dHidden);
    }
    if (m_downAdapter)
        co_await m_downAdapter->backward(saved.dOutput.tensor, saved.downAdapter, dHidden);
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
        m_gathering.startGather(m_context, m_shape, normalized, m_names.gather);
    Array dNormalized = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_upLabel);
        queue.linearInputGradient(saved.dUp, upValue(), dNormalized);
    }
    if (m_gateAdapter)
        co_await m_gateAdapter->backward(gatePart(saved.dUp), saved.gateAdapter, dNormalized);
    if (m_upAdapter)
        co_await m_upAdapter->backward(upPart(saved.dUp), saved.upAdapter, dNormalized);
    m_context.inspect(m_upLabel, dNormalized);
    AllRows all;
    if (ofWeights)
        all = co_await m_gathering.gathered();
    m_sum.startSum(m_context, m_shape, std::move(dNormalized), m_names.sum);
    if (ofWeights)
        upWeightGradient(saved, all.tensor);
    dNormalized = co_await m_sum.summed();
    co_return dNormalized;
}

Task<> FeedForward::backwardWeight(Tensor normalized, FeedForwardSaved& saved)
{
    downWeightGradient(saved);
    const AllRows all = co_await gatherRows(m_context, m_shape, normalized, m_names.gather);
    upWeightGradient(saved, all.tensor);
}

void FeedForward::downWeightGradient(const FeedForwardSaved& saved)
{
    if (m_downAdapter)
        m_downAdapter->weightGradient(saved.hidden, saved.dOutput.tensor, saved.downAdapter);
    if (!m_down->isTrained())
        return;
    const KernelSpan span(m_context, m_downLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dOutput.tensor, saved.hidden, m_down->gradient(), {});
    if (m_downBias)
        m_context.queue->biasGradient(saved.dLocalOutput, m_downBias->gradient());
}

void FeedForward::upWeightGradient(const FeedForwardSaved& saved, const Tensor& normalized)
{
    if (m_gateAdapter)
        m_gateAdapter->weightGradient(normalized, gatePart(saved.dUp), saved.gateAdapter);
    if (m_upAdapter)
        m_upAdapter->weightGradient(normalized, upPart(saved.dUp), saved.upAdapter);
    if (!m_up->isTrained())
        return;
    const KernelSpan span(m_context, m_upLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dUp, normalized, upGradient(),
                                          m_upBias ? m_upBiasFirst->gradientThrough(*m_upBias) : Tensor{});
}

} // namespace live
