#include "live/huggingface/model_class.h"

#include "live/huggingface/foreign_keys.h"
#include "sim/error.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <cmath>

namespace live::huggingface {
namespace {

using nlohmann::json;

struct ClassName {
    ModelClass modelClass;
    const char *architecture, *modelType;
};
constexpr std::array kNames = {ClassName{ModelClass::llama, "LlamaForCausalLM", "llama"},
                               ClassName{ModelClass::mistral, "MistralForCausalLM", "mistral"},
                               ClassName{ModelClass::qwen2, "Qwen2ForCausalLM", "qwen2"},
                               ClassName{ModelClass::qwen3, "Qwen3ForCausalLM", "qwen3"},
                               ClassName{ModelClass::mixtral, "MixtralForCausalLM", "mixtral"},
                               ClassName{ModelClass::qwen3Moe, "Qwen3MoeForCausalLM", "qwen3_moe"},
                               ClassName{ModelClass::deepseekV3, "DeepseekV3ForCausalLM", "deepseek_v3"},
                               ClassName{ModelClass::gpt2, "GPT2LMHeadModel", "gpt2"}};

const ClassName& nameOf(ModelClass modelClass)
{
    return kNames[static_cast<std::size_t>(modelClass)];
}

bool hasExperts(ModelClass of)
{
    return of == ModelClass::mixtral || of == ModelClass::qwen3Moe || of == ModelClass::deepseekV3;
}

/// Tokens that a query of the layer sees; 0: all of the sequence.
int windowOf(const sim::Scenario& scenario, int layer)
{
    const sim::Model& model = scenario.model;
    const bool slides = model.layerType(layer) == sim::LayerType::sliding;
    return slides && model.slidingWindow < scenario.training.sequenceLength ? model.slidingWindow : 0;
}

bool slides(const sim::Model& model)
{
    return model.layersOf(sim::LayerType::sliding) > 0;
}

/// What of the model the class has not; empty: it has all.
std::string missing(const sim::Model& model, ModelClass of)
{
    const bool isGpt2 = of == ModelClass::gpt2;
    const auto unless = [](bool holds, const std::string& what) { return holds ? std::string() : what; };
    const auto word = [](const auto& words, auto value) { return std::string(sim::toWord(words, value)); };
    std::vector<std::string> lacks;
    if (isGpt2)
        lacks = {unless(model.bias, "bias false"), unless(!model.gatedMlp, "gated_mlp true"),
                 unless(model.headDim * model.numAttentionHeads == model.hiddenSize,
                        "head_dim other than hidden_size / num_attention_heads"),
                 unless(model.numKeyValueHeads == model.numAttentionHeads, "num_key_value_heads other than num_attention_heads"),
                 unless(!slides(model), "sliding_window")};
    else
        lacks = {unless(!model.bias, "bias true"), unless(model.gatedMlp, "gated_mlp false")};
    const auto activation = isGpt2 ? sim::HiddenActivation::gelu : sim::HiddenActivation::silu;
    const auto norm = isGpt2 ? sim::Normalization::layernorm : sim::Normalization::rmsnorm;
    const auto position = isGpt2 ? sim::PositionEmbedding::learned : sim::PositionEmbedding::rope;
    const bool isQwen = of == ModelClass::qwen2 || of == ModelClass::qwen3 || of == ModelClass::qwen3Moe;
    const bool mayHaveBiases = of == ModelClass::llama || of == ModelClass::qwen3 || of == ModelClass::qwen3Moe;
    const bool biases = of == ModelClass::qwen2   ? model.qkvBias && !model.outputBias
                        : isGpt2 || mayHaveBiases ? isGpt2 || model.qkvBias == model.outputBias
                                                  : !model.qkvBias && !model.outputBias;
    const bool isDeepseek = of == ModelClass::deepseekV3;
    const int experts = model.moeLayers();
    for (const std::string& each :
         {unless(model.hiddenAct == activation, "hidden_act " + word(sim::kActivationWords, model.hiddenAct)),
          unless(model.normalization == norm, "normalization " + word(sim::kNormalizationWords, model.normalization)),
          unless(model.positionEmbedding == position, "position_embedding " + word(sim::kPositionWords, model.positionEmbedding)),
          unless(biases, std::string("qkv_bias ") + (model.qkvBias ? "true" : "false") + " with attention_output_bias " +
                             (model.outputBias ? "true" : "false")),
          unless(model.layersOf(sim::LayerType::chunked) == 0, "attention_chunk_size"),
          unless(model.noRopeLayerInterval == 0, "no_rope_layer_interval"), unless(!model.attentionSinks, "attention_sinks"),
          unless(isQwen || of == ModelClass::mistral || of == ModelClass::mixtral || !slides(model), "sliding_window"),
          unless(isQwen || !slides(model) || model.layersOf(sim::LayerType::full) == 0, "layers that see the whole sequence"),
          unless(model.qkNorm == (of == ModelClass::qwen3 || of == ModelClass::qwen3Moe) || model.isLatentAttention(),
                 model.qkNorm ? "qk_norm" : "qk_norm false"),
          unless(model.isLatentAttention() == isDeepseek, isDeepseek ? "ordinary attention" : "latent attention (kv_lora_rank)"),
          unless(hasExperts(of) == (experts > 0), experts > 0 ? "experts" : "a model without experts")})
        lacks.push_back(each);
    if (hasExperts(of))
        for (const std::string& each :
             {unless(of == ModelClass::qwen3Moe || isDeepseek || experts == model.numHiddenLayers, "dense layers"),
              unless(!isDeepseek || model.moeLayerFreq == 1, "moe_layer_freq"),
              unless((model.numSharedExperts > 0) == isDeepseek, "num_shared_experts " + std::to_string(model.numSharedExperts)),
              unless(model.routerBias == isDeepseek, std::string("router_bias ") + (model.routerBias ? "true" : "false")),
              unless((model.scoringFunction == sim::ScoringFunction::sigmoid) == isDeepseek,
                     "scoring_func " + word(sim::kScoringWords, model.scoringFunction)),
              unless(isDeepseek || model.expertGroups == 1, "n_group"),
              unless(of != ModelClass::mixtral || model.normTopkProb, "norm_topk_prob false"),
              unless(isDeepseek || model.routedScalingFactor == 1, "routed_scaling_factor")})
            lacks.push_back(each);
    std::string text;
    for (const std::string& each : lacks)
        if (!each.empty())
            text += (text.empty() ? "" : ", ") + each;
    return text;
}

/// The class that a model is nearest to.
ModelClass nearest(const sim::Model& model)
{
    if (model.isLatentAttention())
        return ModelClass::deepseekV3;
    if (model.numExperts > 0)
        return model.qkNorm ? ModelClass::qwen3Moe : ModelClass::mixtral;
    return model.positionEmbedding == sim::PositionEmbedding::learned ? ModelClass::gpt2
           : model.qkNorm                                             ? ModelClass::qwen3
                                                                      : ModelClass::llama;
}

/// A key whose value the model says: what it is here, and what the class takes where config.json has none.
struct Key {
    const char* name;
    json ours, otherwise;
    const char* alias = nullptr; ///< in other versions of transformers
};

std::vector<Key> keysOf(const sim::Model& m, ModelClass of)
{
    if (of == ModelClass::gpt2)
        return {{"n_embd", m.hiddenSize, 768},
                {"n_layer", m.numHiddenLayers, 12},
                {"n_head", m.numAttentionHeads, 12},
                {"n_inner", m.intermediateSize, 4 * m.hiddenSize},
                {"n_positions", m.maxPositionEmbeddings, 1024},
                {"vocab_size", m.vocabSize, 50257},
                {"activation_function", "gelu_new", "gelu_new"},
                {"layer_norm_epsilon", m.layerNormEpsilon, 1e-5},
                {"scale_attn_weights", true, true},
                {"scale_attn_by_inverse_layer_idx", false, false},
                {"tie_word_embeddings", m.tieWordEmbeddings, true}};
    std::vector<Key> keys = {{"hidden_size", m.hiddenSize, 4096},
                             {"intermediate_size", m.intermediateSize, 11008},
                             {"num_hidden_layers", m.numHiddenLayers, 32},
                             {"num_attention_heads", m.numAttentionHeads, 32},
                             {"vocab_size", m.vocabSize, 32000},
                             {"hidden_act", "silu", "silu"},
                             {"rms_norm_eps", m.rmsNormEps, of == ModelClass::mixtral ? 1e-5 : 1e-6},
                             {"tie_word_embeddings", m.tieWordEmbeddings, false}};
    const auto add = [&](const std::vector<Key>& more) { keys.insert(keys.end(), more.begin(), more.end()); };
    if (of == ModelClass::deepseekV3) {
        add({{"num_key_value_heads", m.numAttentionHeads, m.numAttentionHeads},
             {"q_lora_rank", m.qLoraRank > 0 ? json(m.qLoraRank) : json(), 1536},
             {"kv_lora_rank", m.kvLoraRank, 512},
             {"qk_nope_head_dim", m.qkNopeHeadDim, 128},
             {"qk_rope_head_dim", m.qkRopeHeadDim, 64},
             {"v_head_dim", m.vHeadDim, 128},
             {"attention_bias", false, false},
             {"n_routed_experts", m.numExperts, 256},
             {"num_experts_per_tok", m.numExpertsPerTok, 8},
             {"moe_intermediate_size", m.moeIntermediateSize, 2048},
             {"n_shared_experts", m.numSharedExperts, 1},
             {"first_k_dense_replace", m.firstKDenseReplace, 3},
             {"n_group", m.expertGroups, 8},
             {"topk_group", m.chosenGroups, 4},
             {"norm_topk_prob", m.normTopkProb, true},
             {"routed_scaling_factor", m.routedScalingFactor, 2.5}});
        return keys;
    }
    add({{"num_key_value_heads", m.numKeyValueHeads, m.numAttentionHeads},
         {"head_dim", m.headDim,
          of == ModelClass::qwen3 || of == ModelClass::qwen3Moe ? 128 : m.hiddenSize / m.numAttentionHeads}});
    if (of == ModelClass::llama)
        add({{"mlp_bias", false, false}});
    if (of == ModelClass::llama || of == ModelClass::qwen3 || of == ModelClass::qwen3Moe)
        add({{"attention_bias", m.qkvBias, false}});
    if (of == ModelClass::mixtral)
        add({{"num_local_experts", m.numExperts, 8}, {"num_experts_per_tok", m.numExpertsPerTok, 2}});
    if (of == ModelClass::qwen3Moe)
        add({{"num_experts", m.numExperts, 128, "num_local_experts"},
             {"num_experts_per_tok", m.numExpertsPerTok, 8},
             {"moe_intermediate_size", m.moeIntermediateSize, 768},
             {"norm_topk_prob", m.normTopkProb, false}});
    return keys;
}

/// A whole number, or what is taken where the key is missing or null. Throws sim::Error: something else.
std::int64_t wholeOf(const json& config, const char* key, std::int64_t otherwise)
{
    const auto found = config.find(key);
    if (found == config.end() || found->is_null())
        return otherwise;
    if (!found->is_number_integer())
        throw sim::Error(std::string(key) + " is " + found->dump(-1, ' ', false, json::error_handler_t::replace) +
                         ", which is no whole number");
    return found->get<std::int64_t>();
}

/// Null where the key is missing.
json valueOf(const json& config, const char* key)
{
    const auto found = config.find(key);
    return found == config.end() ? json() : *found;
}

bool isSame(const json& a, const json& b)
{
    if (a.is_number() && b.is_number())
        return std::abs(a.get<double>() - b.get<double>()) <= 1e-9 * std::abs(b.get<double>());
    return a == b;
}

std::string tell(const std::string& key, const json& theirs, const json& ours)
{
    return key + " is " + theirs.dump(-1, ' ', false, json::error_handler_t::replace) + " there, " + ours.dump() +
           " in the scenario";
}

/// As their config.json says it.
json scalingJson(const sim::RopeScaling& scaling)
{
    using sim::RopeScalingKind;
    json rule = {{"rope_type", sim::toWord(sim::kRopeScalingWords, scaling.kind)}};
    if (scaling.kind == RopeScalingKind::none)
        return rule;
    rule["factor"] = scaling.factor;
    if (scaling.kind == RopeScalingKind::llama3) {
        rule["original_max_position_embeddings"] = scaling.originalLength;
        rule["low_freq_factor"] = scaling.lowFrequencyFactor;
        rule["high_freq_factor"] = scaling.highFrequencyFactor;
    }
    if (scaling.kind != RopeScalingKind::yarn)
        return rule;
    rule["original_max_position_embeddings"] = scaling.originalLength;
    rule["beta_fast"] = scaling.betaFast;
    rule["beta_slow"] = scaling.betaSlow;
    rule["truncate"] = scaling.truncate;
    for (const auto& [key, value] : {std::pair{"attention_factor", scaling.attentionFactor},
                                     {"mscale", scaling.mscale},
                                     {"mscale_all_dim", scaling.mscaleAllDim}})
        if (value > 0) // else by the formula, or none
            rule[key] = value;
    return rule;
}

/// Theirs, with what it leaves out; of a kind that no scenario knows: none.
sim::RopeScaling scalingOf(const json& rule, const json& config, const std::string& kind)
{
    sim::RopeScaling scaling;
    scaling.kind = sim::fromWord(sim::kRopeScalingWords, kind, sim::RopeScalingKind::none);
    if (scaling.kind == sim::RopeScalingKind::none)
        return scaling;
    const auto read = [&rule](const char* key, double& to) {
        if (const json value = valueOf(rule, key); value.is_number())
            to = value;
    };
    read("factor", scaling.factor);
    read("low_freq_factor", scaling.lowFrequencyFactor);
    read("high_freq_factor", scaling.highFrequencyFactor);
    read("beta_fast", scaling.betaFast);
    read("beta_slow", scaling.betaSlow);
    read("attention_factor", scaling.attentionFactor);
    read("mscale", scaling.mscale);
    read("mscale_all_dim", scaling.mscaleAllDim);
    scaling.truncate = valueOf(rule, "truncate") != false;
    double length = static_cast<double>(wholeOf(config, "max_position_embeddings", 0));
    read("original_max_position_embeddings", length);
    scaling.originalLength = static_cast<int>(length);
    return scaling;
}

void compareRotary(const json& config, const sim::Model& model, std::vector<std::string>& out)
{
    const json parameters = valueOf(config, "rope_parameters"), older = valueOf(config, "rope_scaling");
    json theta = parameters.is_object() ? valueOf(parameters, "rope_theta") : json();
    if (theta.is_null())
        theta = valueOf(config, "rope_theta").is_null() ? json(10000.0) : valueOf(config, "rope_theta");
    if (!isSame(theta, model.ropeTheta))
        out.push_back(tell("rope_theta", theta, model.ropeTheta));
    sim::RopeScaling theirs;
    for (const json& rule : {older, parameters}) // the newer word counts
        for (const char* key : {"type", "rope_type"})
            if (const json type = rule.is_object() ? valueOf(rule, key) : json(); !type.is_null() && type != "default") {
                theirs = scalingOf(rule, config, type.is_string() ? type.get<std::string>() : "");
                if (theirs.kind == sim::RopeScalingKind::none) {
                    out.push_back("rotary positions are scaled there (" + type.dump() + "), which a scenario cannot say");
                    return;
                }
            }
    if (const json there = scalingJson(theirs), ours = scalingJson(model.ropeScaling); there != ours)
        out.push_back(tell("rope_scaling", there, ours));
}

void compareWindows(const json& config, const sim::Scenario& scenario, ModelClass of, std::vector<std::string>& out)
{
    const json types = valueOf(config, "layer_types");
    const bool isMistral = of == ModelClass::mistral || of == ModelClass::mixtral;
    const bool isUsed = isMistral || valueOf(config, "use_sliding_window") == true;
    for (int layer = 0; layer < scenario.model.numHiddenLayers; ++layer) {
        const bool slidesThere = types.is_array() && static_cast<int>(types.size()) > layer
                                     ? types[static_cast<std::size_t>(layer)] == "sliding_attention"
                                     : isUsed && (isMistral || layer >= wholeOf(config, "max_window_layers", 28));
        std::int64_t theirs = slidesThere ? wholeOf(config, "sliding_window", 0) : 0;
        if (theirs >= scenario.training.sequenceLength)
            theirs = 0; // sees all
        if (const int ours = windowOf(scenario, layer); theirs != ours) {
            out.push_back("layer " + std::to_string(layer) + " sees " + (theirs > 0 ? std::to_string(theirs) : "all") +
                          " tokens there, " + (ours > 0 ? std::to_string(ours) : "all") + " in the scenario (sliding_window)");
            return;
        }
    }
}

void compareExpertLayers(const json& config, const sim::Model& model, std::vector<std::string>& out)
{
    const std::int64_t step = std::max<std::int64_t>(1, wholeOf(config, "decoder_sparse_step", 1));
    const json dense = valueOf(config, "mlp_only_layers");
    for (int layer = 0; layer < model.numHiddenLayers; ++layer) {
        const bool isDense = dense.is_array() && std::find(dense.begin(), dense.end(), json(layer)) != dense.end();
        const bool theirs = !isDense && (layer + 1) % step == 0;
        if (theirs != model.isMoeLayer(layer)) {
            out.push_back("layer " + std::to_string(layer) +
                          (theirs ? " has experts there, is dense" : " is dense there, has experts") +
                          " in the scenario (first_k_dense_replace, moe_layer_freq)");
            return;
        }
    }
}

} // namespace

const char* architectureOf(ModelClass of)
{
    return nameOf(of).architecture;
}

ModelClass classOf(const sim::Model& model)
{
    for (const ModelClass each : kModelClasses)
        if (missing(model, each).empty())
            return each;
    const ModelClass close = nearest(model);
    throw sim::Error(std::string("no model class of Hugging Face's that is known here has it all; ") + architectureOf(close) +
                     " lacks " + missing(model, close));
}

ModelClass classOf(const json& config)
{
    const json architectures = valueOf(config, "architectures"), type = valueOf(config, "model_type");
    const json first = architectures.is_array() && !architectures.empty() ? architectures.front() : json();
    std::string known;
    for (const ClassName& name : kNames) {
        if (first == name.architecture || (first.is_null() && type == name.modelType))
            return name.modelClass;
        known += (known.empty() ? "" : ", ") + std::string(name.architecture);
    }
    throw sim::Error("its config.json names the class " +
                     (first.is_null() ? type : first).dump(-1, ' ', false, json::error_handler_t::replace) + "; known are " +
                     known);
}

nlohmann::ordered_json configOf(const sim::Scenario& scenario, ModelClass of)
{
    const sim::Model& model = scenario.model;
    nlohmann::ordered_json config = {{"architectures", {architectureOf(of)}}, {"model_type", nameOf(of).modelType}};
    for (const Key& key : keysOf(model, of)) {
        config[key.name] = key.ours;
        if (key.alias)
            config[key.alias] = key.ours;
    }
    if (of == ModelClass::gpt2) {
        for (const char* dropout : {"resid_pdrop", "embd_pdrop", "attn_pdrop"})
            config[dropout] = dropout == std::string("attn_pdrop") ? 0 : scenario.live.dropout;
        return config;
    }
    config["max_position_embeddings"] = model.maxPositionEmbeddings;
    config["rope_theta"] = model.ropeTheta; // where older versions look for it
    config["rope_parameters"] = scalingJson(model.ropeScaling);
    config["rope_parameters"]["rope_theta"] = model.ropeTheta;
    if (model.ropeScaling.kind != sim::RopeScalingKind::none)
        config["rope_scaling"] = scalingJson(model.ropeScaling);
    if (of == ModelClass::deepseekV3) {
        config["rope_interleave"] = true;
        config["moe_layer_freq"] = 1;
        config["num_nextn_predict_layers"] = 0;
        config["scoring_func"] = "sigmoid";
        config["topk_method"] = "noaux_tc";
    }
    const json window = slides(model) ? json(model.slidingWindow) : json();
    if (of == ModelClass::mistral || of == ModelClass::mixtral)
        config["sliding_window"] = window;
    if (of == ModelClass::qwen2 || of == ModelClass::qwen3 || of == ModelClass::qwen3Moe) {
        config["use_sliding_window"] = slides(model);
        config["sliding_window"] = window;
        config["layer_types"] = json::array();
        for (int layer = 0; layer < model.numHiddenLayers; ++layer)
            config["layer_types"].push_back(sim::toWord(sim::kLayerTypeWords, model.layerType(layer)));
    }
    if (of == ModelClass::qwen3Moe) {
        config["decoder_sparse_step"] = 1;
        config["mlp_only_layers"] = json::array();
        for (int layer = 0; layer < model.numHiddenLayers; ++layer)
            if (!model.isMoeLayer(layer))
                config["mlp_only_layers"].push_back(layer);
    }
    return config;
}

std::vector<std::string> differences(const json& config, const sim::Scenario& scenario, ModelClass of)
{
    std::vector<std::string> out;
    if (const std::string lacks = missing(scenario.model, of); !lacks.empty())
        out.push_back(std::string(architectureOf(of)) + " lacks " + lacks);
    for (const Key& key : keysOf(scenario.model, of)) {
        const bool isAlias = key.alias && !config.contains(key.name);
        const auto found = config.find(isAlias ? key.alias : key.name);
        const bool isNullDefault = found != config.end() && found->is_null() && !key.ours.is_null();
        const json theirs = found == config.end() || isNullDefault ? key.otherwise : *found;
        if (!isSame(theirs, key.ours))
            out.push_back(tell(key.name, theirs, key.ours));
    }
    const std::vector<std::string> foreign = foreignMathematics(config, of);
    out.insert(out.end(), foreign.begin(), foreign.end());
    if (of == ModelClass::gpt2)
        return out;
    compareRotary(config, scenario.model, out);
    compareWindows(config, scenario, of, out);
    if (of == ModelClass::qwen3Moe)
        compareExpertLayers(config, scenario.model, out);
    return out;
}

} // namespace live::huggingface
