#include "sim/scenario/resolve/resolver.h"

namespace sim {

void Resolver::readModel(const Block& top)
{
    const Block from = basedBlock(top, "model", "model", m_catalogue.models(),
                                  [this](const std::string& id) { return m_catalogue.modelJson(id); });
    if (m_out.broken.contains("/model"))
        return;
    readModelFrom(from);
    const bool isNamed = memberOf(from.own, "name") != nullptr;
    if (from.baseId.empty() || isNamed || from.own.size() <= 1)
        return;
    // A model of other sizes is not the one that the base's name says; modules that predict further tokens are how it is trained.
    Model& model = m_out.scenario.model;
    Model own = std::exchange(model, {});
    readModelFrom({*this, from.pointer, m_nothing, from.base, from.baseId});
    model.numNextnPredictLayers = own.numNextnPredictLayers;
    if (own != model)
        own.name += " (changed)";
    model = std::move(own);
}

void Resolver::readModelFrom(const Block& from)
{
    Model& model = m_out.scenario.model;
    model.base = from.baseId;
    from.read("name", model.name);
    require(from, "num_hidden_layers", model.numHiddenLayers, "models");
    require(from, "hidden_size", model.hiddenSize, "models");
    require(from, "num_attention_heads", model.numAttentionHeads, "models");
    require(from, "vocab_size", model.vocabSize, "models");
    model.intermediateSize = clampToInt(4LL * model.hiddenSize);
    from.read("intermediate_size", model.intermediateSize);
    model.numKeyValueHeads = model.numAttentionHeads;
    from.read("num_key_value_heads", model.numKeyValueHeads);
    model.maxPositionEmbeddings = 2048;
    from.read("max_position_embeddings", model.maxPositionEmbeddings);
    from.read("tie_word_embeddings", model.tieWordEmbeddings);
    from.read("hidden_act", kActivationWords, model.hiddenAct);
    model.gatedMlp = model.hiddenAct == HiddenActivation::silu;
    from.read("gated_mlp", model.gatedMlp);
    from.read("normalization", kNormalizationWords, model.normalization);
    from.read("position_embedding", kPositionWords, model.positionEmbedding);
    from.read("rope_theta", model.ropeTheta);
    // What the base scales with goes where somebody gives the model positions without rotations.
    if (model.positionEmbedding == PositionEmbedding::rope || memberOf(from.own, "rope_scaling") != nullptr)
        readRopeScaling(from);
    from.read("rms_norm_eps", model.rmsNormEps);
    from.read("layer_norm_epsilon", model.layerNormEpsilon);
    from.read("bias", model.bias);
    from.read("qkv_bias", model.qkvBias);
    from.read("attention_output_bias", model.outputBias);
    from.read("qk_norm", model.qkNorm);
    from.read("attention_sinks", model.attentionSinks);
    // Models with biases everywhere, as GPT-2's, are taken as trained with dropout where nobody says.
    model.hiddenDropout = model.attentionDropout = model.bias ? 0.1 : 0;
    from.read("hidden_dropout", model.hiddenDropout);
    from.read("attention_dropout", model.attentionDropout);
    readLayerTypes(from);
    from.read("num_nextn_predict_layers", model.numNextnPredictLayers);
    from.read("num_experts", model.numExperts);
    from.read("num_experts_per_tok", model.numExpertsPerTok);
    if (model.numExperts > 0)
        model.moeIntermediateSize = model.intermediateSize;
    from.read("moe_intermediate_size", model.moeIntermediateSize);
    from.read("num_shared_experts", model.numSharedExperts);
    from.read("first_k_dense_replace", model.firstKDenseReplace);
    from.read("moe_layer_freq", model.moeLayerFreq);
    from.read("router_bias", model.routerBias);
    from.read("expert_bias", model.expertBias);
    from.read("scoring_func", kScoringWords, model.scoringFunction);
    from.read("n_group", model.expertGroups);
    model.chosenGroups = model.expertGroups;
    from.read("topk_group", model.chosenGroups);
    from.read("norm_topk_prob", model.normTopkProb);
    from.read("routed_scaling_factor", model.routedScalingFactor);
    from.read("q_lora_rank", model.qLoraRank);
    from.read("kv_lora_rank", model.kvLoraRank);
    from.read("qk_nope_head_dim", model.qkNopeHeadDim);
    from.read("qk_rope_head_dim", model.qkRopeHeadDim);
    from.read("v_head_dim", model.vHeadDim);
    if (!from.read("head_dim", model.headDim) && model.numAttentionHeads > 0)
        model.headDim =
            model.isLatentAttention() ? model.qkNopeHeadDim + model.qkRopeHeadDim : model.hiddenSize / model.numAttentionHeads;
    if (model.name.empty())
        model.name = model.base.empty() ? "model" : model.base;
}

/// A rule of its own, or numbers that change the base's.
void Resolver::readRopeScaling(const Block& ofModel)
{
    constexpr const char* kKey = "rope_scaling";
    const Json* const own = memberOf(ofModel.own, kKey);
    const Json* const based = memberOf(ofModel.base, kKey);
    const bool isPart = own != nullptr && own->is_object() && !own->contains("rope_type");
    const std::string at = childPointer(ofModel.pointer, kKey);
    const bool hasRule = based != nullptr && based->is_object();
    if (isPart && !hasRule)
        report(at, std::string("key \"rope_type\" is missing") +
                       (ofModel.baseId.empty() ? "" : ", and the base " + quotedText(ofModel.baseId) + " scales nothing") +
                       "; write \"linear\", \"llama3\" or \"yarn\"");
    const Block from = isPart && hasRule ? block(at, *own, based, ofModel.baseId) : block(ofModel, kKey);
    Model& model = m_out.scenario.model;
    RopeScaling& scaling = model.ropeScaling;
    from.read("rope_type", kRopeScalingWords, scaling.kind);
    if (scaling.kind == RopeScalingKind::none)
        return;
    scaling.originalLength = model.maxPositionEmbeddings;
    from.read("factor", scaling.factor);
    from.read("original_max_position_embeddings", scaling.originalLength);
    from.read("low_freq_factor", scaling.lowFrequencyFactor);
    from.read("high_freq_factor", scaling.highFrequencyFactor);
    from.read("beta_fast", scaling.betaFast);
    from.read("beta_slow", scaling.betaSlow);
    from.read("truncate", scaling.truncate);
    from.read("attention_factor", scaling.attentionFactor);
    from.read("mscale", scaling.mscale);
    from.read("mscale_all_dim", scaling.mscaleAllDim);
}

/// Null is none, as config.json writes it.
void Resolver::readOrNull(const Block& from, std::string_view key, int& target)
{
    if (const Json* value = from.find(key); value != nullptr && value->is_null())
        target = 0;
    else
        from.read(key, target);
}

void Resolver::readLayerTypes(const Block& from)
{
    Model& model = m_out.scenario.model;
    readOrNull(from, "sliding_window", model.slidingWindow);
    readOrNull(from, "sliding_window_pattern", model.slidingWindowPattern);
    readOrNull(from, "attention_chunk_size", model.attentionChunkSize);
    readOrNull(from, "no_rope_layer_interval", model.noRopeLayerInterval);
    std::vector<std::string> words;
    if (const Json* types = from.find("layer_types"); types != nullptr && !types->is_null())
        from.read("layer_types", words);
    for (const std::string& word : words)
        model.layerTypes.push_back(fromWord(kLayerTypeWords, word, LayerType::full));
}

} // namespace sim
