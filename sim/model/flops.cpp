#include "sim/model/flops.h"

#include <algorithm>

namespace sim {
namespace {

/// Weights a token is multiplied with in one layer.
double layerMatmulWeights(const Model& model, int layer)
{
    const double h = model.hiddenSize;
    const double heads = model.numAttentionHeads;
    double weights = 0;
    if (model.isLatentAttention()) {
        const double qkDim = model.qkNopeHeadDim + model.qkRopeHeadDim;
        const double qRank = model.qLoraRank;
        const double kvRank = model.kvLoraRank;
        weights += qRank > 0 ? h * qRank + qRank * heads * qkDim : h * heads * qkDim;
        weights += h * (kvRank + model.qkRopeHeadDim) + kvRank * heads * (model.qkNopeHeadDim + model.vHeadDim);
        weights += heads * model.vHeadDim * h;
    } else {
        weights += h * model.headDim * (2.0 * heads + 2.0 * model.numKeyValueHeads);
    }
    const double projections = model.gatedMlp ? 3 : 2;
    if (!model.isMoeLayer(layer))
        return weights + projections * h * model.intermediateSize;
    const double expertsPassed = model.numExpertsPerTok + model.numSharedExperts;
    return weights + h * model.numExperts + projections * h * model.moeIntermediateSize * expertsPassed;
}

double attentionFullPerLayer(const Model& model, int sequenceLength)
{
    const double dims =
        model.isLatentAttention() ? model.qkNopeHeadDim + model.qkRopeHeadDim + model.vHeadDim : 2.0 * model.headDim;
    return 2.0 * sequenceLength * model.numAttentionHeads * dims;
}

} // namespace

ForwardFlops forwardFlopsPerToken(const Model& model, int sequenceLength)
{
    ForwardFlops flops;
    for (int layer = 0; layer < model.numHiddenLayers; ++layer)
        flops.linear += 2.0 * layerMatmulWeights(model, layer);
    flops.linear += 2.0 * model.hiddenSize * model.vocabSize;
    flops.attentionFull = model.numHiddenLayers * attentionFullPerLayer(model, sequenceLength);
    flops.attentionCausal = flops.attentionFull / 2;
    return flops;
}

StepFlops stepFlops(const Scenario& scenario)
{
    const Model& model = scenario.model;
    const Training& training = scenario.training;
    const double tokens = static_cast<double>(training.globalBatchSize) * training.sequenceLength;
    const ForwardFlops forward = forwardFlopsPerToken(model, training.sequenceLength);
    const double attention = training.causal ? forward.attentionCausal : forward.attentionFull;

    double again = 0; // forward work run a second time, per token
    if (training.recompute == Recompute::selective) {
        again = attention;
    } else if (training.recompute == Recompute::full) {
        for (std::size_t stage = 0, first = 0; stage < scenario.schedule.layersPerStage.size(); ++stage) {
            const int layers = scenario.schedule.layersPerStage[stage];
            const int recomputed = training.recomputeLayers > 0 ? std::min(layers, training.recomputeLayers) : layers;
            for (int i = 0; i < recomputed; ++i)
                again += 2.0 * layerMatmulWeights(model, static_cast<int>(first) + i);
            again += attention / model.numHiddenLayers * recomputed;
            first += static_cast<std::size_t>(layers);
        }
    }
    StepFlops flops;
    flops.modelCausal = 3 * (forward.linear + attention) * tokens;
    flops.modelFull = 3 * (forward.linear + forward.attentionFull) * tokens;
    flops.hardware = flops.modelCausal + again * tokens;
    return flops;
}

} // namespace sim
