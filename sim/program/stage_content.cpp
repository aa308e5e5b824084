#include "sim/program/stage_content.h"

#include "sim/index.h"

#include <utility>

namespace sim {

StageContent makeStageContent(const Scenario& scenario, const Sharding& of, const ContentKey& key)
{
    Sharding sharding = of;
    const Training& training = scenario.training;
    const Model& model = scenario.model;
    StageContent content;
    sharding.slice = key.slice;
    sharding.beginsTraining = key.embedding && model.lora.isOn();
    const bool tied = model.tieWordEmbeddings, predicts = model.numNextnPredictLayers > 0;
    if (key.embedding)
        content.buckets.push_back(
            {.list = operatorsOf(model, sharding, ModelPart::embedding), .usedAgain = key.head && (tied || predicts)});
    const auto addLayer = [&](OperatorList list, int layer) {
        const bool recomputed =
            training.recompute == Recompute::full && (training.recomputeLayers <= 0 || layer < training.recomputeLayers);
        sharding.beginsTraining = sharding.beginsTraining && list.endsBackward;
        content.buckets.push_back({.list = std::move(list), .layer = layer, .recomputed = recomputed});
    };
    const int layers = static_cast<int>(key.layers.size());
    bool begins = false; // the layer before was the first that trains
    for (int i = 0; i < layers; ++i) {
        const LayerKind& kind = key.layers[asIndex(i)];
        const bool isLikeBefore = i > 0 && kind == key.layers[asIndex(i - 1)] && !begins;
        begins = sharding.beginsTraining;
        addLayer(isLikeBefore ? OperatorList(content.buckets.back().list) : operatorsOf(model, sharding, kind), i);
    }
    if (key.head) {
        const bool isEmbedding = tied && key.ownsEmbedding;
        content.buckets.push_back({.list = operatorsOf(model, sharding, ModelPart::head, isEmbedding),
                                   .usedAgain = predicts && !isEmbedding,
                                   .staysGathered = training.lossChunkTokens > 0 && training.stack.keepsLossHead});
        for (int i = 0; i < model.numNextnPredictLayers; ++i) {
            // A tied head is the embedding; and the first module's copy serves the others.
            addLayer(operatorsOf(model, sharding, ModelPart::prediction, key.ownsEmbedding || tied || i > 0), layers + i);
            content.buckets.push_back({.list = operatorsOf(model, sharding, ModelPart::head, true)});
        }
    }
    return content;
}

} // namespace sim
