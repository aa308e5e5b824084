#include "live/model/stage.h"

namespace live {

Stage::Stage(RankContext& context, const Shape& shape, const Place& place, Parameter* tokenTable, Parameter* headTable)
    : m_context(context), m_place(place), m_tokenTable(tokenTable), m_headTable(headTable)
{
    const sim::Scenario& scenario = context.scenario;
    const auto bucket = [&](const std::string& name, BucketKind kind) {
        m_buckets.push_back(std::make_unique<Bucket>(name, kind));
        m_buckets.back()->frozen = scenario.model.lora.isOn();
        return m_buckets.back().get();
    };
    if (place.hasEmbedding) {
        m_embeddingRest = bucket("embedding", BucketKind::dense);
        m_embedding = std::make_unique<Embedding>(context, shape, *tokenTable, *m_embeddingRest, place.stage);
    }
    const bool full = scenario.training.recompute == sim::Recompute::full;
    const int recomputed = scenario.training.recomputeLayers > 0 ? scenario.training.recomputeLayers : place.layers;
    for (int i = 0; i < place.layers; ++i) {
        const int layer = place.firstLayer + i;
        const std::string name = "layers." + std::to_string(layer);
        Layer::Buckets buckets{.dense = bucket(name, BucketKind::dense)};
        if (scenario.model.isMoeLayer(layer))
            buckets.experts = bucket(name + ".experts", BucketKind::expert);
        if (scenario.model.lora.isOn()) {
            buckets.adapters = bucket(name + ".adapters", BucketKind::dense);
            buckets.adapters->frozen = false;
        }
        m_layers.push_back(std::make_unique<Layer>(context, shape, buckets, place.stage, layer, full && i < recomputed));
    }
    if (place.hasHead) {
        m_headRest = bucket("head", BucketKind::dense);
        m_head = std::make_unique<Head>(context, shape, *headTable, *m_headRest, place.stage);
    }
}

Stage::Together Stage::together(const Layer& layer)
{
    const Layer::Buckets& buckets = layer.buckets();
    return {buckets.dense, buckets.experts, buckets.adapters};
}

Task<> Stage::acquire(Together buckets, Together next)
{
    for (Bucket* bucket : buckets)
        if (bucket)
            co_await m_context.weights->acquire(*bucket);
    for (Bucket* bucket : next)
        if (bucket)
            m_context.weights->prefetch(*bucket);
}

Stage::Together Stage::usedFrom(std::size_t layer) const
{
    if (layer < m_layers.size())
        return together(*m_layers[layer]);
    return m_head ? ofHead() : Together{};
}

Stage::Together Stage::usedBefore(std::size_t layer) const
{
    return layer > 0 ? together(*m_layers[layer - 1]) : Together{}; // an embedding's input has no gradient
}

void Stage::release(const Together& buckets)
{
    for (Bucket* bucket : buckets)
        if (bucket)
            m_context.weights->release(*bucket);
}

void Stage::prepare(const Together& buckets)
{
    for (Bucket* bucket : buckets)
        if (bucket)
            m_context.weights->prepareGradients(*bucket);
}

Task<> Stage::done(Together buckets)
{
    for (Bucket* bucket : buckets)
        if (bucket && !bucket->tied) // what is tied is complete when both ends are
            co_await m_context.weights->gradientDone(*bucket);
}

Task<Array> Stage::forward(const Input& input, Array x, const Tensor& lossWords)
{
    Saved& saved = m_saved[&input];
    saved.layers.resize(m_layers.size());
    if (m_embedding) {
        co_await acquire(ofEmbedding(), usedFrom(0));
        x = co_await m_embedding->forward(input);
        release({m_embeddingRest, m_tokenTable->bucket});
    }
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        Layer& layer = *m_layers[i];
        co_await acquire(together(layer), usedFrom(i + 1));
        x = co_await layer.forward(input, std::move(x), saved.layers[i]);
        release(together(layer));
    }
    if (m_head) {
        co_await acquire(ofHead(), {});
        co_await m_head->forward(input, std::move(x), saved.head, lossWords);
        release({m_headRest, m_headTable->bucket});
        x = Array();
    }
    co_return x;
}

Task<Array> Stage::backward(const Input& input, Array dy, double lossScale, bool ofWeights, bool last)
{
    Saved& saved = m_saved.at(&input);
    if (m_head) {
        co_await acquire(ofHead(), usedBefore(m_layers.size()));
        prepare({m_headRest, ofWeights ? m_headTable->bucket : nullptr});
        dy = co_await m_head->backward(input, saved.head, lossScale, ofWeights);
        release({m_headRest, m_headTable->bucket});
        if (last)
            co_await done({m_headRest, m_headTable->bucket});
    }
    for (std::size_t i = m_layers.size(); i-- > 0;) {
        Layer& layer = *m_layers[i];
        co_await acquire(together(layer), usedBefore(i));
        prepare(ofWeights ? together(layer) : Together{layer.buckets().dense});
        dy = co_await layer.backward(input, std::move(dy), saved.layers[i], ofWeights);
        if (last)
            co_await done(together(layer));
        release(together(layer));
    }
    if (m_embedding) {
        m_embedding->backwardInput(input, std::move(dy));
        if (ofWeights)
            co_await embeddingWeights(input, last);
        dy = Array();
    }
    if (ofWeights)
        m_saved.erase(&input);
    co_return dy;
}

Task<> Stage::backwardWeight(const Input& input, bool last)
{
    Saved& saved = m_saved.at(&input);
    if (m_head) {
        prepare({m_headTable->bucket});
        co_await m_head->backwardWeight(saved.head);
        if (last)
            co_await done({m_headRest, m_headTable->bucket});
    }
    for (std::size_t i = m_layers.size(); i-- > 0;) {
        Layer& layer = *m_layers[i];
        prepare(together(layer));
        co_await layer.backwardWeight(saved.layers[i]);
        if (last)
            co_await done(together(layer));
    }
    if (m_embedding)
        co_await embeddingWeights(input, last);
    m_saved.erase(&input);
}

Task<> Stage::embeddingWeights(const Input& input, bool last)
{
    prepare({m_tokenTable->bucket, m_embeddingRest});
    co_await m_embedding->backwardWeight(input);
    if (last)
        co_await done({m_embeddingRest, m_tokenTable->bucket});
}

void Stage::takeAuxiliaryLoss(std::span<std::int64_t, kExactSumWords> words)
{
    for (const auto& layer : m_layers)
        if (Moe* moe = layer->moe()) {
            for (std::size_t i = 0; i < words.size(); ++i)
                words[i] += moe->auxiliaryLoss[i];
            moe->auxiliaryLoss = {};
        }
}

} // namespace live
