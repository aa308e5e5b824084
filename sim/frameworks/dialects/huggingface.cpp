// config.json of Hugging Face's models (huggingface/transformers at 008e574): the model block, under all the names its families
// use.
#include "sim/frameworks/job.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {

void readHuggingFaceModel(Job& job, const std::string& prefix)
{
    Reading& reading = job.reading;
    struct ModelKey {
        std::string_view key;
        std::array<std::string_view, 4> names;
    };
    static constexpr std::array kKeys = {
        ModelKey{"num_hidden_layers", {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}},
        ModelKey{"hidden_size", {"hidden_size", "n_embd", "d_model", ""}},
        ModelKey{"num_attention_heads", {"num_attention_heads", "n_head", "n_heads", ""}},
        ModelKey{"num_key_value_heads", {"num_key_value_heads", "num_kv_heads", "multi_query_group_num", ""}},
        ModelKey{"head_dim", {"head_dim", "", "", ""}},
        ModelKey{"intermediate_size", {"intermediate_size", "n_inner", "ffn_hidden_size", ""}},
        ModelKey{"vocab_size", {"vocab_size", "", "", ""}},
        ModelKey{"max_position_embeddings", {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"}},
    };
    for (const ModelKey& one : kKeys)
        for (const std::string_view name : one.names)
            if (!name.empty() && reading.has(prefix + std::string(name)))
                if (const auto value = reading.size(prefix + std::string(name), "/model/" + std::string(one.key));
                    value && !job.model.contains(one.key))
                    job.model[std::string(one.key)] = *value;
    if (const auto tied = reading.flag(prefix + "tie_word_embeddings", "/model/tie_word_embeddings"))
        job.model["tie_word_embeddings"] = *tied;
}

namespace {

bool isFamily(const std::string& type, std::initializer_list<std::string_view> families)
{
    return std::find(families.begin(), families.end(), type) != families.end();
}

void readHuggingFaceExperts(Job& job, const std::string& type)
{
    Reading& reading = job.reading;
    for (const char* name : {"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"})
        if (const auto experts = reading.integer(name, "/model/num_experts"); experts && *experts > 1)
            job.model["num_experts"] = *experts;
    if (!job.model.contains("num_experts"))
        return;
    for (const char* name : {"num_experts_per_tok", "num_experts_per_token", "moe_k"})
        if (const auto chosen = reading.integer(name, "/model/num_experts_per_tok"))
            job.model["num_experts_per_tok"] = *chosen;
    if (!job.model.contains("num_experts_per_tok")) {
        job.model["num_experts_per_tok"] = 2;
        reading.byDefault("num_experts_per_tok", 2, "/model/num_experts_per_tok");
    }
    const int dense = memberOr<int>(job.model, "intermediate_size", 0);
    std::optional<int> ffn = reading.integer("moe_intermediate_size", "/model/moe_intermediate_size");
    if (!ffn && dense > 0) {
        ffn = dense;
        reading.byDefault("moe_intermediate_size", dense, "/model/moe_intermediate_size",
                          "is not given: experts are as large as intermediate_size");
    }
    if (ffn)
        job.model["moe_intermediate_size"] = *ffn;
    for (const char* name : {"n_shared_experts", "num_shared_experts"})
        if (const auto shared = reading.integer(name, "/model/num_shared_experts"); shared && *shared > 0)
            job.model["num_shared_experts"] = *shared;
    if (const auto shared = reading.integer("shared_expert_intermediate_size", "/model/num_shared_experts");
        shared && *shared > 0 && ffn && *ffn > 0)
        job.model["num_shared_experts"] = std::max(1, *shared / *ffn);
    if (const auto first = reading.integer("first_k_dense_replace", "/model/first_k_dense_replace"))
        job.model["first_k_dense_replace"] = *first;
    for (const char* name : {"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"})
        if (const auto every = reading.integer(name, "/model/moe_layer_freq"); every && *every > 0)
            job.model["moe_layer_freq"] = *every;
    if (reading.spelled("decoder_sparse_step") == "decoder_sparse_step" && memberOr<int>(job.model, "moe_layer_freq", 1) > 1 &&
        reading.has("decoder_sparse_step"))
        job.model["first_k_dense_replace"] = memberOr<int>(job.model, "moe_layer_freq", 1) - 1; // layers step-1, 2 step-1, …
    if (const auto only = reading.any("mlp_only_layers", "/model/first_k_dense_replace");
        only && only->is_array() && !only->empty()) {
        const auto layers = valueAs<std::vector<int>>(*only).value_or(std::vector<int>());
        bool isStart = !layers.empty();
        for (std::size_t i = 0; i < layers.size(); ++i)
            isStart = isStart && layers[i] == static_cast<int>(i);
        if (isStart)
            job.model["first_k_dense_replace"] = static_cast<int>(layers.size());
        else
            reading.say("mlp_only_layers", Became::notRepresentable, "dense layers in between have no key");
    }
    if (const auto score = reading.word("scoring_func", "/model/scoring_func"); score == "sigmoid" || score == "softmax")
        job.model["scoring_func"] = *score;
    else if (type == "deepseek_v3")
        job.model["scoring_func"] = "sigmoid";
    if (type == "deepseek_v3")
        job.model["router_bias"] = true;
    if (const auto groups = reading.integer("n_group", "/model/n_group"); groups && *groups > 1) {
        job.model["n_group"] = *groups;
        if (const auto top = reading.integer("topk_group", "/model/topk_group"))
            job.model["topk_group"] = *top;
    }
    if (const auto factor = reading.real("routed_scaling_factor", "/model/routed_scaling_factor"); factor && *factor > 0)
        job.model["routed_scaling_factor"] = number(*factor);
    if (const auto normed = reading.flag("norm_topk_prob", "/model/norm_topk_prob"))
        job.model["norm_topk_prob"] = *normed;
}

} // namespace

/// The whole of a config.json whose names have no prefix.
static void readHuggingFaceConfig(Job& job)
{
    Reading& reading = job.reading;
    const std::string type = reading.word("model_type", "/model").value_or("");
    readHuggingFaceModel(job, "");
    const bool isGpt2 = isFamily(type, {"gpt2", "gpt_bigcode", "gptj", "gpt_neox", "opt", "bloom", "mpt", "falcon"});
    if (isGpt2 && !job.model.contains("intermediate_size") && job.model.contains("hidden_size")) {
        job.model["intermediate_size"] = 4 * std::min(memberOr<int>(job.model, "hidden_size", 1), 1 << 26);
        reading.byDefault("n_inner", job.model["intermediate_size"], "/model/intermediate_size", "is not given: 4 x n_embd");
    }
    if (!job.model.contains("num_key_value_heads") && job.model.contains("num_attention_heads")) {
        job.model["num_key_value_heads"] = job.model["num_attention_heads"];
        reading.byDefault("num_key_value_heads", job.model["num_attention_heads"], "/model/num_key_value_heads");
    }
    if (!job.model.contains("tie_word_embeddings")) {
        const bool tied = isGpt2 || isFamily(type, {"gemma", "gemma2", "gemma3_text"});
        job.model["tie_word_embeddings"] = tied;
        reading.byDefault("tie_word_embeddings", tied, "/model/tie_word_embeddings",
                          "is not given: as models of the type " + (type.empty() ? std::string("llama") : type) + " have it");
    }
    std::string act = "silu";
    bool isActGiven = false;
    for (const char* name : {"hidden_act", "activation_function", "hidden_activation"})
        if (const auto word = reading.word(name, "/model/hidden_act")) {
            act = word->find("gelu") != std::string::npos                                                  ? "gelu"
                  : word->find("relu2") != std::string::npos || word->find("squared") != std::string::npos ? "relu2"
                                                                                                           : "silu";
            isActGiven = true;
        }
    if (!isActGiven) {
        act = isGpt2 ? "gelu" : "silu";
        reading.byDefault("hidden_act", act, "/model/hidden_act");
    }
    job.model["hidden_act"] = act;
    job.model["gated_mlp"] = !isGpt2 && act != "relu2" && type != "starcoder2" && type != "phi";
    const bool isLayerNorm = isGpt2 || reading.has("layer_norm_epsilon") || reading.has("layer_norm_eps") ||
                             isFamily(type, {"starcoder2", "phi", "nemotron"});
    job.model["normalization"] = isLayerNorm ? "layernorm" : "rmsnorm";
    for (const char* name : {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps"})
        if (const auto epsilon = reading.real(name, isLayerNorm ? "/model/layer_norm_epsilon" : "/model/rms_norm_eps");
            epsilon && *epsilon > 0 && *epsilon < 1)
            job.model[isLayerNorm ? "layer_norm_epsilon" : "rms_norm_eps"] = number(*epsilon);
    job.model["position_embedding"] = isFamily(type, {"gpt2", "gpt_bigcode", "opt"}) ? "learned"
                                      : isFamily(type, {"bloom", "mpt"})             ? "none"
                                                                                     : "rope";
    if (const auto theta = reading.real("rope_theta", "/model/rope_theta"); theta && *theta > 1)
        job.model["rope_theta"] = number(*theta);
    if (reading.hasPrefix("rope_scaling.")) {
        Json scaling = Json::object();
        for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "beta_fast",
                                "beta_slow", "attention_factor", "mscale", "mscale_all_dim"})
            if (const auto value = reading.real(std::string("rope_scaling.") + key, std::string("/model/rope_scaling/") + key))
                scaling[key] = number(*value);
        for (const char* name : {"rope_scaling.rope_type", "rope_scaling.type"})
            if (const auto kind = reading.word(name, "/model/rope_scaling/rope_type"))
                scaling["rope_type"] = *kind;
        const std::string kind = memberOr<std::string>(scaling, "rope_type", "");
        if (isFamily(kind, {"linear", "llama3", "yarn"}) && scaling.contains("factor"))
            job.model["rope_scaling"] = scaling;
    }
    const bool bias = reading.flag("mlp_bias", "/model/bias")
                          .value_or(isFamily(type, {"gpt2", "gpt_bigcode", "gpt_neox", "opt", "bloom", "starcoder2", "phi"}));
    const bool attentionBias = reading.flag("attention_bias", "/model/qkv_bias").value_or(isFamily(type, {"qwen2", "qwen2_moe"}));
    job.model["bias"] = bias;
    if (attentionBias && !bias)
        job.model["qkv_bias"] = true;
    if (isFamily(type, {"qwen3", "qwen3_moe"}))
        job.model["qk_norm"] = true;
    const bool usesWindow = reading.flag("use_sliding_window", "/model/sliding_window")
                                .value_or(!isFamily(type, {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}));
    if (const auto window = reading.integer("sliding_window", "/model/sliding_window"); window && *window > 0 && usesWindow)
        job.model["sliding_window"] = *window;
    for (const char* key : {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
        if (const auto value = reading.integer(key, std::string("/model/") + key); value && *value > 0)
            job.model[key] = *value;
    if (job.model.contains("kv_lora_rank"))
        job.model.erase("head_dim");
    if (const auto further = reading.integer("num_nextn_predict_layers", "/model/num_nextn_predict_layers");
        further && *further > 0)
        job.model["num_nextn_predict_layers"] = *further;
    readHuggingFaceExperts(job, type);
    reading.word("torch_dtype", "/training/precision");
    static constexpr std::array<std::string_view, 34> kModelHarmless = {"architectures*",
                                                                        "_name_or_path",
                                                                        "*_token_id",
                                                                        "initializer_range",
                                                                        "use_cache",
                                                                        "transformers_version",
                                                                        "torch_dtype",
                                                                        "dtype",
                                                                        "pretraining_tp",
                                                                        "*_dropout",
                                                                        "*_pdrop",
                                                                        "attn_*",
                                                                        "embd_*",
                                                                        "summary_*",
                                                                        "task_specific_params*",
                                                                        "scale_attn*",
                                                                        "reorder_and*",
                                                                        "router_aux_loss_coef",
                                                                        "output_router_logits",
                                                                        "aux_loss_alpha",
                                                                        "seq_aux",
                                                                        "topk_method",
                                                                        "ep_size",
                                                                        "auto_map*",
                                                                        "quantization_config*",
                                                                        "max_window_layers",
                                                                        "layer_types*",
                                                                        "rope_scaling*",
                                                                        "rope_parameters*",
                                                                        "id2label*",
                                                                        "label2id*",
                                                                        "vocab_type",
                                                                        "pad_token*",
                                                                        "use_sliding_window"};
    reading.harmless(kModelHarmless);
}

void readHuggingFace(Job& job)
{
    Reading& reading = job.reading;
    const std::optional<std::string> dtype =
        reading.peek("torch_dtype") != nullptr ? std::optional(shownValue(*reading.peek("torch_dtype"))) : std::nullopt;
    readHuggingFaceConfig(job);
    settleWorld(job);
    if (const int most = memberOr<int>(job.model, "max_position_embeddings", 0); most > 0) {
        job.training["sequence_length"] = std::min(most, 8192);
        job.ask("/training/sequence_length", "a config.json says no more than the longest sequence, " + std::to_string(most) +
                                                 ": " + std::to_string(std::min(most, 8192)) + " is assumed");
    }
    settleBatch(job);
    const std::string precision = dtype ? precisionWord(*dtype) : "";
    job.training["precision"] = precision.empty() ? "bf16" : precision;
}

} // namespace sim::frameworks
