// A model's config.json, and picotron's JSON, whose model is one of Hugging Face's by name.
#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/limits.h"

#include "sim/scenario/words.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

struct HubName {
    std::string_view base, id;
};
constexpr std::array kLlamasOnHub = {
    HubName{"llama2-7b", "meta-llama/Llama-2-7b-hf"},     HubName{"llama2-13b", "meta-llama/Llama-2-13b-hf"},
    HubName{"llama2-70b", "meta-llama/Llama-2-70b-hf"},   HubName{"llama3-8b", "meta-llama/Llama-3.1-8B"},
    HubName{"llama3-70b", "meta-llama/Llama-3.1-70B"},    HubName{"llama3-405b", "meta-llama/Llama-3.1-405B"},
    HubName{"llama3.0-8b", "meta-llama/Meta-Llama-3-8B"}, HubName{"llama3.0-70b", "meta-llama/Meta-Llama-3-70B"},
    HubName{"llama3.2-1b", "meta-llama/Llama-3.2-1B"},    HubName{"llama3.2-3b", "meta-llama/Llama-3.2-3B"},
    HubName{"llama-30b", "huggyllama/llama-30b"},         HubName{"codellama-34b", "codellama/CodeLlama-34b-hf"},
    HubName{"mistral-7b", "mistralai/Mistral-7B-v0.1"}};

Json ropeScalingTable(const RopeScaling& scaling)
{
    Json table{{"rope_type", toWord(kRopeScalingWords, scaling.kind)}, {"factor", number(scaling.factor)}};
    if (scaling.originalLength > 0)
        table["original_max_position_embeddings"] = scaling.originalLength;
    if (scaling.kind == RopeScalingKind::llama3) {
        table["low_freq_factor"] = number(scaling.lowFrequencyFactor);
        table["high_freq_factor"] = number(scaling.highFrequencyFactor);
    } else if (scaling.kind == RopeScalingKind::yarn) {
        table["beta_fast"] = number(scaling.betaFast);
        table["beta_slow"] = number(scaling.betaSlow);
        if (!scaling.truncate)
            table["truncate"] = false;
        for (const auto& [key, value] : {std::pair{"attention_factor", scaling.attentionFactor},
                                         {"mscale", scaling.mscale},
                                         {"mscale_all_dim", scaling.mscaleAllDim}})
            if (value > 0)
                table[key] = number(value);
    }
    return table;
}

/// Which layers have experts, in the words of Qwen's families: each so many-th, or all but those that are named.
void addQwensLayers(const Model& m, Json& config)
{
    const bool isEvery = m.firstKDenseReplace == m.moeLayerFreq - 1;
    config["decoder_sparse_step"] = isEvery ? m.moeLayerFreq : 1;
    config["mlp_only_layers"] = Json::array();
    for (int layer = 0; layer < m.numHiddenLayers && !isEvery; ++layer)
        if (!m.isMoeLayer(layer))
            config["mlp_only_layers"].push_back(layer);
}

/// Each layer, where some see all and others the window.
void addLayerTypes(const Model& m, Json& config)
{
    Json types = Json::array();
    for (int layer = 0; layer < m.numHiddenLayers; ++layer)
        types.push_back(m.layerType(layer) == LayerType::sliding ? "sliding_attention" : "full_attention");
    if (std::find(types.begin(), types.end(), Json("full_attention")) != types.end())
        config["layer_types"] = types;
}

/// The width of an expert and that of dense layers, chunks, and which layers have positions.
void addLlama4s(const Model& m, Json& config)
{
    config["intermediate_size"] = m.moeIntermediateSize;
    config["intermediate_size_mlp"] = m.intermediateSize;
    config["interleave_moe_layer_step"] = m.moeLayerFreq;
    if (m.firstKDenseReplace != m.moeLayerFreq - 1)
        config["first_k_dense_replace"] = m.firstKDenseReplace;
    if (m.attentionChunkSize > 0)
        config["attention_chunk_size"] = m.attentionChunkSize;
    config["no_rope_layers"] = Json::array();
    for (int layer = 0; layer < m.numHiddenLayers; ++layer)
        config["no_rope_layers"].push_back(m.noRopeLayerInterval > 0 && (layer + 1) % m.noRopeLayerInterval == 0 ? 0 : 1);
}

} // namespace

std::string huggingFaceId(std::string_view base)
{
    const auto found =
        std::find_if(kLlamasOnHub.begin(), kLlamasOnHub.end(), [base](const HubName& one) { return one.base == base; });
    return found == kLlamasOnHub.end() ? std::string() : std::string(found->id);
}

Json huggingFaceConfig(const Model& m)
{
    const bool isMoe = m.numExperts > 0;
    const bool isGpt2 = m.normalization == Normalization::layernorm && m.positionEmbedding == PositionEmbedding::learned &&
                        m.hiddenAct == HiddenActivation::gelu && m.bias;
    const bool isLlama4 =
        isMoe && (m.attentionChunkSize > 0 || m.noRopeLayerInterval > 0) && !m.qkvBias && !m.isLatentAttention();
    const std::string type = isGpt2                      ? "gpt2"
                             : isMoe && m.attentionSinks ? "gpt_oss"
                             : isLlama4                  ? "llama4_text"
                             : m.isLatentAttention()
                                 ? (m.scoringFunction == ScoringFunction::sigmoid ? "deepseek_v3" : "deepseek_v2")
                             : isMoe                                          ? (m.qkNorm                              ? "qwen3_moe"
                                                                                 : m.numSharedExperts > 0 || m.qkvBias ? "qwen2_moe"
                                                                                                                       : "mixtral")
                             : m.qkNorm                                       ? "qwen3"
                             : m.qkvBias                                      ? "qwen2"
                             : m.positionEmbedding == PositionEmbedding::none ? "bloom"
                                                                              : "llama";
    Json config{{"model_type", type}};
    if (isGpt2) {
        config["n_layer"] = m.numHiddenLayers;
        config["n_embd"] = m.hiddenSize;
        config["n_head"] = m.numAttentionHeads;
        config["n_inner"] = m.intermediateSize;
        config["n_positions"] = m.maxPositionEmbeddings;
        config["activation_function"] = "gelu_new";
        config["layer_norm_epsilon"] = number(m.layerNormEpsilon);
    } else {
        config["num_hidden_layers"] = m.numHiddenLayers;
        config["hidden_size"] = m.hiddenSize;
        config["num_attention_heads"] = m.numAttentionHeads;
        config["num_key_value_heads"] = m.numKeyValueHeads;
        if (!m.isLatentAttention())
            config["head_dim"] = m.headDim;
        config["intermediate_size"] = m.intermediateSize;
        config["max_position_embeddings"] = m.maxPositionEmbeddings;
        config["hidden_act"] = toWord(kActivationWords, m.hiddenAct);
        config["rms_norm_eps"] = number(m.rmsNormEps);
        config["rope_theta"] = number(m.ropeTheta);
        if (m.normalization == Normalization::layernorm) {
            config.erase("rms_norm_eps");
            config["layer_norm_epsilon"] = number(m.layerNormEpsilon);
        }
        if (m.bias)
            config["mlp_bias"] = true;
        if (m.qkvBias || m.bias)
            config["attention_bias"] = true;
    }
    config["vocab_size"] = m.vocabSize;
    config["tie_word_embeddings"] = m.tieWordEmbeddings;
    if (m.ropeScaling.kind != RopeScalingKind::none)
        config["rope_scaling"] = ropeScalingTable(m.ropeScaling);
    if (m.slidingWindow > 0) {
        config["sliding_window"] = m.slidingWindow;
        config["use_sliding_window"] = true;
        addLayerTypes(m, config);
    }
    if (type == "gpt_oss")
        config["attention_bias"] = m.outputBias;
    if (m.isLatentAttention()) {
        config["q_lora_rank"] = m.qLoraRank > 0 ? Json(m.qLoraRank) : Json(nullptr);
        config["kv_lora_rank"] = m.kvLoraRank;
        config["qk_nope_head_dim"] = m.qkNopeHeadDim;
        config["qk_rope_head_dim"] = m.qkRopeHeadDim;
        config["v_head_dim"] = m.vHeadDim;
    }
    if (isMoe) {
        config[type == "mixtral" || type == "llama4_text" || type == "gpt_oss" ? "num_local_experts"
               : m.isLatentAttention()                                         ? "n_routed_experts"
                                                                               : "num_experts"] = m.numExperts;
        config["num_experts_per_tok"] = m.numExpertsPerTok;
        if (type != "llama4_text") // whose intermediate_size it is
            config["moe_intermediate_size"] = m.moeIntermediateSize;
        if (m.numSharedExperts > 0 && type == "qwen2_moe")
            config["shared_expert_intermediate_size"] = m.numSharedExperts * m.moeIntermediateSize;
        else if (m.numSharedExperts > 0)
            config["n_shared_experts"] = m.numSharedExperts;
        if (type == "mixtral" && m.moeLayers() == m.numHiddenLayers) // whose experts have no width of their own
            config["intermediate_size"] = m.moeIntermediateSize;
        if (type.starts_with("qwen")) {
            addQwensLayers(m, config);
        } else if (type == "llama4_text") {
            addLlama4s(m, config);
        } else {
            config["first_k_dense_replace"] = m.firstKDenseReplace;
            config["moe_layer_freq"] = m.moeLayerFreq;
        }
        config["scoring_func"] = toWord(kScoringWords, m.scoringFunction);
        if (m.expertGroups > 1) {
            config["n_group"] = m.expertGroups;
            config["topk_group"] = m.chosenGroups;
        }
        config["routed_scaling_factor"] = number(m.routedScalingFactor);
        config["norm_topk_prob"] = m.normTopkProb;
    }
    if (m.numNextnPredictLayers > 0)
        config["num_nextn_predict_layers"] = m.numNextnPredictLayers;
    return config;
}

std::string writeHuggingFace(const Scenario& s)
{
    Json config = huggingFaceConfig(s.model);
    config["torch_dtype"] = dtypeWord(s.training.precision);
    return prettyText(config);
}

/// Every section that train.py indexes; values that a step does not know are those of template/base_config.json.
std::string writePicotron(const Scenario& s)
{
    refuseWhatBreaks("picotron", s);
    const Training& t = s.training;
    const std::string name = huggingFaceId(s.model.base);
    const Json root{
        {"distributed",
         {{"tp_size", s.layout.tp},
          {"cp_size", s.layout.cp},
          {"pp_size", s.layout.pp},
          {"dp_size", s.layout.dp},
          {"pp_engine", s.schedule.kind == "gpipe" ? "afab" : "1f1b"},
          {"backend", "nccl"},
          {"use_cpu", false}}},
        {"model",
         {{"name", !name.empty()          ? name
                   : s.model.base.empty() ? "custom"
                                          : s.model.base},
          {"num_hidden_layers", s.model.numHiddenLayers},
          {"num_attention_heads", s.model.numAttentionHeads},
          {"num_key_value_heads", s.model.numKeyValueHeads},
          {"dtype", "bfloat16"}, // what it trains in on every GPU
          {"use_flash_attention", t.flashAttention},
          {"use_fused_adam", true}}},
        {"training",
         {{"seed", 42},
          {"learning_rate", 3e-4},
          {"total_train_steps", t.tokens > 0 ? stepsOfRun(s) : 200},
          {"seq_length", t.sequenceLength},
          {"micro_batch_size", t.microBatchSize},
          {"gradient_accumulation_steps", s.microbatches()},
          {"num_samples", nullptr},
          {"max_tokens", nullptr}}},
        {"dataset", {{"name", "roneneldan/TinyStories"}, {"subset_name", nullptr}, {"num_workers", 0}, {"num_proc", 1}}},
        {"checkpoint", {{"save_dir", "ckpt"}, {"save_frequency", 300}, {"load_path", ""}}},
        {"logging", {{"use_wandb", false}, {"project_name", "picotron"}, {"run_name", nullptr}}},
        {"environment",
         {{"OMP_NUM_THREADS", "1"},
          {"TOKENIZERS_PARALLELISM", "false"},
          {"FLASH_ATTEN", t.flashAttention ? "1" : "0"},
          {"HF_TOKEN", nullptr}}}};
    return prettyText(root);
}

} // namespace sim::frameworks
