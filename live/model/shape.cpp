#include "live/model/shape.h"

#include "sim/error.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <string>

namespace live {
namespace {

[[noreturn]] void refuse(const std::string& what)
{
    throw sim::Error("live training does not do " + what);
}

void checkSupported(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    const sim::Layout& layout = scenario.layout;
    if (model.isLatentAttention())
        refuse("latent attention (kv_lora_rank " + std::to_string(model.kvLoraRank) + "); use num_key_value_heads instead");
    if (model.slidingWindow > 0 && model.layersOf(sim::LayerType::sliding) > 0 &&
        model.slidingWindow < scenario.training.sequenceLength)
        refuse("attention in a sliding window (sliding_window " + std::to_string(model.slidingWindow) +
               "); use sliding_window null");
    if (model.attentionChunkSize > 0 && model.layersOf(sim::LayerType::chunked) > 0 &&
        model.attentionChunkSize < scenario.training.sequenceLength)
        refuse("attention in chunks (attention_chunk_size " + std::to_string(model.attentionChunkSize) +
               "); use attention_chunk_size null");
    if (model.noRopeLayerInterval > 0 && model.noRopeLayerInterval <= model.numHiddenLayers &&
        model.positionEmbedding == sim::PositionEmbedding::rope)
        refuse("layers without positions (no_rope_layer_interval " + std::to_string(model.noRopeLayerInterval) +
               "); use no_rope_layer_interval null");
    if (model.numNextnPredictLayers > 0)
        refuse("multi-token prediction (num_nextn_predict_layers " + std::to_string(model.numNextnPredictLayers) +
               "); use num_nextn_predict_layers 0");
    if (scenario.training.offload.isOn())
        refuse("offloading to the host's memory; leave training.offload out");
    if (scenario.training.documents.areGiven())
        refuse("attention within documents; leave training.documents out");
    if (model.lora.isOn())
        refuse("low-rank adapters (training.lora of rank " + std::to_string(model.lora.rank) + "); leave training.lora out");
    const sim::Training& training = scenario.training;
    if (training.recompute == sim::Recompute::selective && training.recomputeModules != sim::Training().recomputeModules)
        refuse("recomputation of modules (" + sim::wordsOf(training.recomputeModules) +
               "); use recompute selective, which runs attention's scores again, or full");
    if (model.attentionSinks)
        refuse("attention sinks");
    if (model.qkNorm)
        refuse("query and key normalisation");
    if (model.numExperts > 0 && model.numSharedExperts > 0)
        refuse("shared experts (num_shared_experts " + std::to_string(model.numSharedExperts) + "); use num_shared_experts 0");
    if (model.expertBias || model.routerBias)
        refuse("biases inside experts or router");
    if (model.numKeyValueHeads % layout.tp != 0)
        refuse("tp " + std::to_string(layout.tp) + " that does not divide num_key_value_heads " +
               std::to_string(model.numKeyValueHeads));
    if (model.numExperts > 0 && layout.tp > 1 && !(layout.sequenceParallel) && layout.etp != layout.tp)
        refuse("experts of etp " + std::to_string(layout.etp) + " under tp " + std::to_string(layout.tp) +
               " without sequence_parallel; set it, or etp = tp");
    if (model.numExperts > 0 && scenario.schedule.sequenceSlices > 1)
        refuse("experts under seq-1f1b, whose load-balancing loss would be another for each slice");
    if (model.numExperts > 0 && layout.zeroStage >= 1 && layout.dpShard != layout.dp * layout.cp)
        refuse("hybrid sharding (dp_shard " + std::to_string(layout.dpShard) + ") of experts; use dp_shard " +
               std::to_string(layout.dp * layout.cp));
}

} // namespace

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
    shape.headDim = model.headDim;
    shape.heads = model.numAttentionHeads / layout.tp;
    shape.keyValueHeads = model.numKeyValueHeads / layout.tp;
    shape.queryColumns = std::int64_t{shape.heads} * shape.headDim;
    shape.keyColumns = std::int64_t{shape.keyValueHeads} * shape.headDim;
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
