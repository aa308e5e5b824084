#include "live/model/stage.h"

namespace live {

Stage::Stage(RankContext& context, const Shape& shape, const Place& place, Parameter* tokenTable, Parameter* headTable)
    : m_context(context), m_place(place), m_tokenTable(tokenTable), m_headTable(headTable)
{
    const sim::Scenario& scenario = context.scenario;
    const auto bucket = [&](const std::string& name, BucketKind kind) {
        m_buckets.push_back(std::make_unique<Bucket>(name, kind));
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
        Bucket* dense = bucket("layers." + std::to_string(layer), BucketKind::dense);
        Bucket* experts = scenario.model.isMoeLayer(layer)
                              ? bucket("layers." + std::to_string(layer) + ".experts", BucketKind::expert)
                              : nullptr;
        m_layers.push_back(std::make_unique<Layer>(context, shape, *dense, experts, place.stage, layer, full && i < recomputed));
    }
    if (place.hasHead) {
        m_headRest = bucket("head", BucketKind::dense);
        m_head = std::make_unique<Head>(context, shape, *headTable, *m_headRest, place.stage);
    }
}

Task<> Stage::acquire(Layer& layer)
{
    co_await m_context.weights->acquire(layer.dense());
    if (layer.experts())
        co_await m_context.weights->acquire(*layer.experts());
}

void Stage::release(Layer& layer)
{
    m_context.weights->release(layer.dense());
    if (layer.experts())
        m_context.weights->release(*layer.experts());
}

Task<> Stage::done(Bucket* bucket, bool last)
{
    if (last && bucket && !bucket->tied) // what is tied is complete when both ends are
        co_await m_context.weights->gradientDone(*bucket);
}

void Stage::prepare(Bucket* bucket)
{
    if (bucket)
        m_context.weights->prepareGradients(*bucket);
}

Task<Array> Stage::forward(const Input& input, Array x, const Tensor& lossWords)
{
    WeightAccess& weights = *m_context.weights;
    Saved& saved = m_saved[&input];
    saved.layers.resize(m_layers.size());
    if (m_embedding) {
        co_await weights.acquire(*m_tokenTable->bucket);
        co_await weights.acquire(*m_embeddingRest);
        x = co_await m_embedding->forward(input);
        weights.release(*m_embeddingRest);
        weights.release(*m_tokenTable->bucket);
    }
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        co_await acquire(*m_layers[i]);
        x = co_await m_layers[i]->forward(input, std::move(x), saved.layers[i]);
        release(*m_layers[i]);
    }
    if (m_head) {
        co_await weights.acquire(*m_headTable->bucket);
        co_await weights.acquire(*m_headRest);
        co_await m_head->forward(input, std::move(x), saved.head, lossWords);
        weights.release(*m_headRest);
        weights.release(*m_headTable->bucket);
        x = Array();
    }
    co_return x;
}

Task<Array> Stage::backward(const Input& input, Array dy, double lossScale, bool last)
{
    WeightAccess& weights = *m_context.weights;
    Saved& saved = m_saved.at(&input);
    if (m_head) {
        co_await weights.acquire(*m_headTable->bucket);
        co_await weights.acquire(*m_headRest);
        prepare(m_headRest);
        prepare(m_headTable->bucket);
        dy = co_await m_head->backward(input, saved.head, lossScale);
        weights.release(*m_headRest);
        weights.release(*m_headTable->bucket);
        co_await done(m_headRest, last);
        co_await done(m_headTable->bucket, last);
    }
    for (std::size_t i = m_layers.size(); i-- > 0;) {
        co_await acquire(*m_layers[i]);
        prepare(&m_layers[i]->dense());
        prepare(m_layers[i]->experts());
        dy = co_await m_layers[i]->backward(input, std::move(dy), saved.layers[i]);
        co_await done(&m_layers[i]->dense(), last);
        co_await done(m_layers[i]->experts(), last);
        release(*m_layers[i]);
    }
    if (m_embedding) {
        m_embedding->backwardInput(input, std::move(dy));
        prepare(m_tokenTable->bucket);
        prepare(m_embeddingRest);
        co_await m_embedding->backwardWeight(input);
        co_await done(m_embeddingRest, last);
        co_await done(m_tokenTable->bucket, last);
        dy = Array();
    }
    m_saved.erase(&input);
    co_return dy;
}

Task<Array> Stage::backwardInput(const Input& input, Array dy, double lossScale)
{
    WeightAccess& weights = *m_context.weights;
    Saved& saved = m_saved.at(&input);
    if (m_head) {
        co_await weights.acquire(*m_headTable->bucket);
        co_await weights.acquire(*m_headRest);
        prepare(m_headRest);
        dy = co_await m_head->backwardInput(input, saved.head, lossScale);
        weights.release(*m_headRest);
        weights.release(*m_headTable->bucket);
    }
    for (std::size_t i = m_layers.size(); i-- > 0;) {
        co_await acquire(*m_layers[i]);
        prepare(&m_layers[i]->dense());
        dy = co_await m_layers[i]->backwardInput(input, std::move(dy), saved.layers[i]);
        release(*m_layers[i]);
    }
    if (m_embedding) {
        m_embedding->backwardInput(input, std::move(dy));
        dy = Array();
    }
    co_return dy;
}

Task<> Stage::layerWeights(std::size_t layer, Saved& saved, bool last)
{
    prepare(&m_layers[layer]->dense());
    prepare(m_layers[layer]->experts());
    co_await m_layers[layer]->backwardWeight(saved.layers[layer]);
    co_await done(&m_layers[layer]->dense(), last);
    co_await done(m_layers[layer]->experts(), last);
}

Task<> Stage::backwardWeight(const Input& input, bool last)
{
    Saved& saved = m_saved.at(&input);
    if (m_head) {
        prepare(m_headTable->bucket);
        co_await m_head->backwardWeight(saved.head);
        co_await done(m_headRest, last);
        co_await done(m_headTable->bucket, last);
    }
    for (std::size_t i = m_layers.size(); i-- > 0;)
        co_await layerWeights(i, saved, last);
    if (m_embedding) {
        prepare(m_tokenTable->bucket);
        prepare(m_embeddingRest);
        co_await m_embedding->backwardWeight(input);
        co_await done(m_embeddingRest, last);
        co_await done(m_tokenTable->bucket, last);
    }
    m_saved.erase(&input);
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
