#include "live/model/layer.h"

namespace live {

Layer::Layer(RankContext& context, const Shape& shape, const Buckets& buckets, int stage, int layer, bool recomputes)
    : m_context(context), m_buckets(buckets),
      m_attention(context, shape, *buckets.dense, buckets.adapters, "layers." + std::to_string(layer), stage, layer),
      m_recomputes(recomputes), m_restores(!droppedModules(context.scenario.training).empty())
{
    const std::string prefix = "layers." + std::to_string(layer);
    if (buckets.experts)
        m_moe = std::make_unique<Moe>(context, shape, *buckets.dense, *buckets.experts, prefix, stage, layer);
    else
        m_mlp = std::make_unique<Mlp>(context, shape, *buckets.dense, buckets.adapters, prefix, stage, layer);
}

Task<Array> Layer::run(const Input& input, Array x, LayerSaved& saved)
{
    Array middle = co_await m_attention.forward(input, std::move(x), saved.attention);
    if (m_moe) {
        Array y = co_await m_moe->forward(input, std::move(middle), saved.moe);
        co_return y;
    }
    Array y = co_await m_mlp->forward(input, std::move(middle), saved.mlp);
    co_return y;
}

Task<Array> Layer::forward(const Input& input, Array x, LayerSaved& saved)
{
    if (!m_recomputes) {
        Array y = co_await run(input, std::move(x), saved);
        co_return y;
    }
    saved.input = m_context.activations(x->rows, x->columns);
    m_context.queue->copy(x, saved.input);
    LayerSaved dropped;
    Array y = co_await run(input, std::move(x), dropped);
    co_return y;
}

Task<> Layer::again(Task<> part)
{
    const sim::OpClass pass = std::exchange(m_context.pass, sim::OpClass::recompute);
    co_await std::move(part);
    m_context.pass = pass;
}

Task<> Layer::recompute(const Input& input, LayerSaved& saved)
{
    co_await run(input, std::move(saved.input), saved);
}

Task<Array> Layer::backward(const Input& input, Array dy, LayerSaved& saved, bool ofWeights)
{
    if (m_recomputes)
        co_await again(recompute(input, saved));
    Array middle;
    if (m_moe) {
        if (m_restores)
            co_await again(m_moe->restore(input, saved.moe));
        middle = co_await m_moe->backwardInput(input, std::move(dy), saved.moe, ofWeights);
        if (ofWeights)
            co_await m_moe->backwardWeight(saved.moe, false);
    } else {
        if (m_restores)
            co_await again(m_mlp->restore(saved.mlp));
        middle = co_await m_mlp->backward(input, std::move(dy), saved.mlp, ofWeights);
    }
    if (m_restores)
        co_await again(m_attention.restore(input, saved.attention));
    Array dx = co_await m_attention.backward(input, std::move(middle), saved.attention, ofWeights);
    co_return dx;
}

Task<> Layer::backwardWeight(LayerSaved& saved)
{
    if (m_moe)
        co_await m_moe->backwardWeight(saved.moe, true);
    else
        co_await m_mlp->backwardWeight(saved.mlp);
    co_await m_attention.backwardWeight(saved.attention);
}

} // namespace live
