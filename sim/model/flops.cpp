#include "sim/model/flops.h"

#include "sim/model/attention_pairs.h"
#include "sim/model/operator_policy.h"
#include "sim/model/operators.h"
#include "sim/model/tensors.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

/// Weights a token is multiplied with.
double matmulWeights(const Model& model, ModelPart part)
{
    double weights = 0;
    for (const Tensor& tensor : tensorsOf(model, part))
        weights += tensor.isMultiplied() ? tensor.weights() * tensor.copies(Experts::ofToken) : 0;
    return weights;
}

/// The part of them that is trained.
double trainedWeights(const Model& model, ModelPart part)
{
    double weights = 0;
    for (const Tensor& tensor : tensorsOf(model, part))
        weights += tensor.isMultiplied() && tensor.isTrained(model) ? tensor.weights() * tensor.copies(Experts::ofToken) : 0;
    return weights;
}

/// Of those, what recomputation leaves out since nobody reads it.
double unreadWeights(const Scenario& scenario, ModelPart part)
{
    double weights = 0;
    for (const Tensor& tensor : tensorsOf(scenario.model, part))
        weights +=
            tensor.isMultiplied() && isUnread(tensor.usedBy, scenario) ? tensor.weights() * tensor.copies(Experts::ofToken) : 0;
    return weights;
}

/// Of those, what modules are recomputed with; the scores of attention have none.
double recomputedWeights(const Scenario& scenario, ModelPart part)
{
    double weights = 0;
    const std::vector<Tensor> tensors = tensorsOf(scenario.model, part);
    if (scenario.training.recomputes(RecomputeModule::operators)) {
        const std::vector<bool> again = productsRunAgain(tensors);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            weights += again[i] && part != ModelPart::embedding && part != ModelPart::head ? tensors[i].weights() : 0;
        return weights;
    }
    for (const Tensor& tensor : tensors) {
        const RecomputeModules modules = modulesOf(tensor.usedBy);
        const bool isAgain = std::any_of(kRecomputeModules.begin(), kRecomputeModules.end(), [&](RecomputeModule module) {
            return modules.has(module) && scenario.training.recomputes(module) && !isUnread(tensor.usedBy, scenario);
        });
        weights += isAgain && tensor.isMultiplied() ? tensor.weights() * tensor.copies(Experts::ofToken) : 0;
    }
    return weights;
}

/// Of one query with one key in all heads: score and weighted value.
double pairFlops(const Model& model)
{
    const HeadSize head = HeadSize::of(model);
    return 2.0 * model.numAttentionHeads * (1.0 * head.queryKey + head.value);
}

} // namespace

ForwardFlops forwardFlopsPerToken(const Model& model, int sequenceLength)
{
    double linear = 0, trained = 0;
    for (const ModelPart part : kModelParts) {
        linear += 2.0 * partCount(model, part) * matmulWeights(model, part);
        trained += 2.0 * partCount(model, part) * trainedWeights(model, part);
    }
    const double causal = pairFlops(model) * keysSeenInAllLayers(model, sequenceLength);
    return {.linear = linear, .trained = trained, .attentionFull = 2 * causal, .attentionCausal = causal};
}

StepFlops stepFlops(const Scenario& scenario, double attentionShare)
{
    const Model& model = scenario.model;
    const Training& training = scenario.training;
    const double tokens = static_cast<double>(training.globalBatchSize) * training.sequenceLength;
    const ForwardFlops forward = forwardFlopsPerToken(model, training.sequenceLength);
    const double full = attentionShare * forward.attentionFull;
    const double attention = training.causal ? attentionShare * forward.attentionCausal : full;
    double again = 0; // forward work run a second time, per token
    if (training.recompute == Recompute::selective) {
        const bool rerunsScores = training.recomputes(RecomputeModule::coreAttention) ||
                                  (training.recomputes(RecomputeModule::operators) && !training.flashAttention);
        again = rerunsScores ? attention : 0;
        for (const ModelPart part : kModelParts)
            again += 2.0 * partCount(model, part) * recomputedWeights(scenario, part);
    } else if (training.recompute == Recompute::full) {
        const auto rerun = [&](ModelPart part) { return matmulWeights(model, part) - unreadWeights(scenario, part); };
        const double dense = rerun(ModelPart::dense), moe = rerun(ModelPart::moe);
        std::array<double, kLayerTypes.size()> attentionOf{}; // one layer's, per token
        for (const LayerType type : kLayerTypes)
            attentionOf[static_cast<std::size_t>(type)] =
                attentionShare * pairFlops(model) *
                (attentionPairs(model, type, 0, training.sequenceLength, training.causal) / training.sequenceLength);
        int first = 0;
        for (const int layers : scenario.schedule.layersPerStage) {
            const int recomputed = training.recomputeLayers > 0 ? std::min(layers, training.recomputeLayers) : layers;
            for (int i = 0; i < recomputed; ++i) {
                const LayerKind kind = model.layerKind(first + i);
                again += 2.0 * (kind.moe ? moe : dense) + attentionOf[static_cast<std::size_t>(kind.type)];
            }
            first += layers;
        }
        // Prediction modules follow the layers of the last stage; like the model's, their heads are not run again.
        const int last = scenario.schedule.layersPerStage.empty() ? 0 : scenario.schedule.layersPerStage.back();
        const int room = training.recomputeLayers > 0 ? training.recomputeLayers - last : model.numNextnPredictLayers;
        again += std::clamp(room, 0, model.numNextnPredictLayers) *
                 (2.0 * (rerun(ModelPart::prediction) - weightsOf(model, ModelPart::head, TensorRole::head)) +
                  attentionOf[static_cast<std::size_t>(model.predictionKind().type)]);
    }
    StepFlops flops;
    if (model.lora.isOn()) {
        const double products = 2 * forward.linear + forward.trained;
        flops.modelCausal = (products + 3 * attention) * tokens;
        flops.modelFull = (products + 3 * full) * tokens;
    } else {
        flops.modelCausal = 3 * (forward.linear + attention) * tokens;
        flops.modelFull = 3 * (forward.linear + full) * tokens;
    }
    flops.hardware = flops.modelCausal + again * tokens;
    return flops;
}

} // namespace sim
