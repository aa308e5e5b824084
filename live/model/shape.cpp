#include "live/model/shape.h"

#include "sim/error.h"
#include "sim/model/tensors.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <string>

namespace live {
namespace {

[[noreturn]] void refuse(const std::string& what)
{
    throw sim::Error("live training does not do " + what);
}

void checkAttention(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    const bool cuts = model.layersOf(sim::LayerType::sliding) + model.layersOf(sim::LayerType::chunked) > 0;
    if (cuts && !scenario.training.causal)
        refuse("windows or chunks of attention that looks ahead (causal false); use causal true");
    if (model.isLatentAttention() && (model.bias || model.qkvBias))
        refuse("biases of latent attention (bias, qkv_bias); set them false");
    if (model.isLatentAttention() && (model.positionEmbedding == sim::PositionEmbedding::rope) != (model.qkRopeHeadDim > 0))
        refuse("latent attention with qk_rope_head_dim " + std::to_string(model.qkRopeHeadDim) + " and position_embedding " +
               std::string(sim::toWord(sim::kPositionWords, model.positionEmbedding)) +
               "; use rope and a positive one, or neither");
}

void checkSupported(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    checkAttention(scenario);
    if (model.numNextnPredictLayers > 0)
        refuse("multi-token prediction (num_nextn_predict_layers " + std::to_string(model.numNextnPredictLayers) +
               "); use num_nextn_predict_layers 0");
    if (scenario.training.offload.isOn())
        refuse("offloading to the host's memory; leave training.offload out");
    if (scenario.training.documents.areGiven())
        refuse("attention within documents; leave training.documents out");
}

} // namespace

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

Shape shapeOf(const sim::Scenario& scenario, const sim::Coordinates& coordinates)
{
    checkSupported(scenario);
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
