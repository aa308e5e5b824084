#include "live/model/shape.h"

#include "sim/model/tensors.h"
#include "sim/scenario/words.h"
#include "sim/text/nearest.h"

#include <algorithm>
#include <string>
#include <utility>

namespace live {
namespace {

/// Layers of windows or chunks that hold all of a sequence are layers like others.
bool cutsAttention(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    const int length = scenario.training.sequenceLength;
    return (model.layersOf(sim::LayerType::sliding) > 0 && model.slidingWindow < length) ||
           (model.layersOf(sim::LayerType::chunked) > 0 && model.attentionChunkSize < length);
}

/// Adapters beside layers whose inputs tp shares out have a share of its outputs each.
bool sharesOutputsOfAdapters(const sim::Model& model)
{
    return model.lora.has(sim::LoraTarget::output) || model.lora.has(sim::LoraTarget::down);
}

} // namespace

std::vector<sim::Problem> problemsOfTraining(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    const sim::Training& training = scenario.training;
    std::vector<sim::Problem> problems;
    const auto refuse = [&](const char* pointer, const std::string& what, const std::string& nearest) {
        problems.push_back({.pointer = pointer, .message = "live training does not do " + what + "; nearest: " + nearest});
    };
    if (cutsAttention(scenario) && !training.causal)
        refuse("/training/causal", "windows or chunks of attention that looks ahead", "true");
    if (model.isLatentAttention() && model.bias)
        refuse("/model/bias", "biases of latent attention", "false");
    if (model.isLatentAttention() && model.qkvBias)
        refuse("/model/qkv_bias", "biases of latent attention", "false");
    if (model.isLatentAttention() && (model.positionEmbedding == sim::PositionEmbedding::rope) != (model.qkRopeHeadDim > 0))
        refuse("/model/qk_rope_head_dim",
               "latent attention with " + std::to_string(model.qkRopeHeadDim) + " here and position_embedding " +
                   std::string(sim::toWord(sim::kPositionWords, model.positionEmbedding)),
               "rope and a positive number, or neither");
    if (model.numNextnPredictLayers > 0)
        refuse("/model/num_nextn_predict_layers", "multi-token prediction (" + std::to_string(model.numNextnPredictLayers) + ")",
               "0");
    if (model.lora.isOn() && model.lora.fused)
        refuse("/training/lora/fused", "adapters that share A", "false");
    if (training.offload.isOn())
        refuse("/training/offload", "offloading to the host's memory", "leave it out");
    if (training.documents.areGiven())
        refuse("/training/documents", "attention within documents", "leave it out");
    const auto divides = [&](std::int64_t tp) { return model.hiddenSize % tp == 0 && model.numAttentionHeads % tp == 0; };
    if (const int tp = scenario.layout.tp; model.hiddenSize % tp != 0 && sharesOutputsOfAdapters(model))
        refuse("/layout/tp",
               "adapters (training.lora) whose " + std::to_string(model.hiddenSize) + " outputs (hidden_size) " +
                   std::to_string(tp) + " does not divide",
               sim::numbersText(sim::nearestValues(tp, 1, model.numAttentionHeads, divides)));
    return problems;
}

sim::RecomputeModules droppedModules(const sim::Training& training)
{
    using Module = sim::RecomputeModule;
    if (training.recompute != sim::Recompute::selective)
        return {};
    // Single operators are no parts of their own here: nearest is what holds most of those that run again.
    if (training.recomputes(Module::operators))
        return {Module::layernorm, Module::mlp, Module::moeActivation};
    return training.recomputeModules;
}

std::int64_t Shape::validTokens() const
{
    return std::clamp<std::int64_t>(vocabulary - firstToken, 0, vocabularySlice);
}

bool gathersHeads(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    const int tp = scenario.layout.tp, heads = model.numKeyValueHeads;
    return scenario.training.stack.gathersHeads && !model.isLatentAttention() && tp > heads && model.headDim % (tp / heads) == 0;
}

Shape shapeOf(const sim::Scenario& scenario, const sim::Coordinates& coordinates)
{
    if (std::vector<sim::Problem> problems = problemsOfTraining(scenario); !problems.empty())
        throw sim::ScenarioError(std::move(problems));
    const sim::Model& model = scenario.model;
    const sim::Layout& layout = scenario.layout;
    const sim::Training& training = scenario.training;
    Shape shape;
    shape.hidden = model.hiddenSize;
    shape.slices = scenario.schedule.sequenceSlices;
    shape.sequences = training.microBatchSize;
    shape.rows = std::int64_t{training.sequenceLength} / layout.cp / shape.slices * shape.sequences;
    shape.sequenceParallel = layout.sequenceParallel && layout.tp > 1;
    shape.localRows = shape.sequenceParallel ? shape.rows / layout.tp : shape.rows;
    const sim::HeadSize head = sim::HeadSize::of(model);
    const int keyValueHeads = model.isLatentAttention() ? model.numAttentionHeads : model.numKeyValueHeads;
    shape.headDim = head.queryKey;
    shape.valueDim = head.value;
    shape.heads = model.numAttentionHeads / layout.tp;
    shape.headCopies = std::max(1, layout.tp / keyValueHeads);
    shape.gathersHeads = gathersHeads(scenario);
    shape.keyValueHeads = std::max(1, keyValueHeads / layout.tp);
    shape.queryColumns = std::int64_t{shape.heads} * shape.headDim;
    shape.keyColumns = std::int64_t{shape.keyValueHeads} * shape.headDim;
    shape.valueColumns = std::int64_t{shape.keyValueHeads} * shape.valueDim;
    shape.vocabulary = model.vocabSize;
    shape.vocabularySlice = (shape.vocabulary + layout.tp - 1) / layout.tp;
    shape.firstToken = shape.vocabularySlice * coordinates.tp;
    shape.tp = layout.tp;
    shape.tpIndex = coordinates.tp;
    shape.cp = layout.cp;
    shape.cpIndex = coordinates.cp;
    return shape;
}

} // namespace live
