#include "sim/model/attention_pairs.h"

#include <algorithm>

namespace sim {
namespace {

double triangle(double side)
{
    return side * (side + 1) / 2;
}

/// Of the first n queries, causal.
double pairsOfFirst(const Model& model, LayerType type, std::int64_t queries)
{
    const auto n = static_cast<double>(queries);
    const double half = n * n / 2;
    if (type == LayerType::sliding) {
        const double window = std::min<double>(n, model.slidingWindow);
        return std::min(half, triangle(window) + (n - window) * window);
    }
    if (type == LayerType::chunked) {
        const std::int64_t chunk = std::max(1, model.attentionChunkSize), whole = queries / chunk;
        return std::min(half, static_cast<double>(whole) * triangle(static_cast<double>(chunk)) +
                                  triangle(static_cast<double>(queries % chunk)));
    }
    return half;
}

} // namespace

double attentionPairs(const Model& model, LayerType type, std::int64_t first, std::int64_t last, bool causal)
{
    return (causal ? 1 : 2) * (pairsOfFirst(model, type, last) - pairsOfFirst(model, type, first));
}

std::int64_t keysSeen(const Model& model, LayerType type, std::int64_t sequenceLength, std::int64_t first, std::int64_t last,
                      bool causal)
{
    std::int64_t begin = 0, end = sequenceLength;
    if (type == LayerType::sliding) {
        begin = std::max<std::int64_t>(0, first + 1 - model.slidingWindow);
        end = std::min<std::int64_t>(sequenceLength, last - 1 + model.slidingWindow);
    } else if (type == LayerType::chunked) {
        const std::int64_t chunk = std::max(1, model.attentionChunkSize);
        begin = first - first % chunk;
        end = std::min(sequenceLength, (last + chunk - 1) / chunk * chunk);
    }
    return (causal ? last : end) - begin;
}

int attendingLayers(const Model& model, LayerType type)
{
    return model.layersOf(type) + (model.predictionKind().type == type ? model.numNextnPredictLayers : 0);
}

double keysSeenInAllLayers(const Model& model, std::int64_t sequenceLength)
{
    double keys = 0;
    for (const LayerType type : kLayerTypes)
        keys += attendingLayers(model, type) *
                (attentionPairs(model, type, 0, sequenceLength, true) / static_cast<double>(sequenceLength));
    return keys;
}

} // namespace sim
