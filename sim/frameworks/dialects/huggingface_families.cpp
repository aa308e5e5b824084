// Families of Hugging Face's models (huggingface/transformers at 008e574, and the code that models of others bring along).
#include "sim/frameworks/dialects/huggingface_families.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {

std::string familyOfType(const std::string& type)
{
    std::string family = type.ends_with("_text") ? type.substr(0, type.size() - 5) : type;
    struct WithOtherInputs { // their language model is that of
        std::string_view own, family;
    };
    for (const auto& [own, text] :
         {WithOtherInputs{"qwen2_5_vl", "qwen2"}, WithOtherInputs{"qwen2_vl", "qwen2"},
          WithOtherInputs{"qwen3_vl_moe", "qwen3_moe"}, WithOtherInputs{"qwen3_vl", "qwen3"},
          WithOtherInputs{"qwen3_omni_moe", "qwen3_moe"}, WithOtherInputs{"qwen3_omni_moe_thinker", "qwen3_moe"},
          WithOtherInputs{"qwen2_5_omni", "qwen2"}, WithOtherInputs{"qwen2_5_omni_thinker", "qwen2"},
          WithOtherInputs{"glm4v_moe", "glm4_moe"}, WithOtherInputs{"ernie4_5_vl_moe", "ernie4_5_moe"}})
        if (family == own)
            return std::string(text);
    return family;
}

bool isFamily(const std::string& family, std::initializer_list<std::string_view> families)
{
    return std::find(families.begin(), families.end(), family) != families.end();
}

namespace {

/// Names of one family each, as the others have them.
constexpr std::array kFamilyNames = {Alias{"rotary_emb_base", "rope_theta"},
                                     Alias{"attn_config.rope_theta", "rope_theta"},
                                     Alias{"norm_eps", "layer_norm_epsilon"},
                                     Alias{"norm_epsilon", "layer_norm_epsilon"},
                                     Alias{"ffn_config.moe_top_k", "moe_top_k"},
                                     Alias{"moe_topk", "moe_top_k"},
                                     Alias{"ffn_config.ffn_hidden_size", "ffn_hidden_size"},
                                     Alias{"no_bias", "use_bias", negated},
                                     Alias{"attention_head_dim", "head_dim"},
                                     Alias{"kv_channels", "head_dim"},
                                     Alias{"expert_layer_period", "moe_layer_freq"}, // Jamba
                                     Alias{"moe_layer_interval", "moe_layer_freq"},  // ERNIE
                                     Alias{"moe_layer_start_index", "first_k_dense_replace"},
                                     Alias{"moe_num_shared_experts", "num_shared_experts"},
                                     Alias{"moe_use_aux_free", "use_routing_bias"},
                                     Alias{"num_shared_expert", "num_shared_experts"},     // HunYuan
                                     Alias{"num_mtp_modules", "num_nextn_predict_layers"}, // MiniMax
                                     Alias{"shared_intermediate_size", "shared_expert_intermediate_size"}};

constexpr std::array kNamesOfChatGlm = {Alias{"padded_vocab_size", "vocab_size"}, Alias{"add_qkv_bias", "attention_bias"},
                                        Alias{"add_bias_linear", "use_bias"}, Alias{"layernorm_epsilon", "rms_norm_eps"}};

/// A number, or one for each layer; the first, where these differ, which is told.
std::optional<int> numberOfLayers(Reading& reading, std::string_view name, std::string_view pointer)
{
    const Json* const given = reading.peek(name);
    if (given == nullptr || !given->is_array())
        return reading.integer(name, pointer);
    const std::vector<int> all = valueAs<std::vector<int>>(*given).value_or(std::vector<int>());
    if (all.empty())
        return std::nullopt;
    const bool areEqual = std::all_of(all.begin(), all.end(), [&](int one) { return one == all.front(); });
    reading.say(name, areEqual ? Became::used : Became::notRepresentable,
                areEqual ? "" : "layers that differ from one another have no key: the first one's is imported", pointer);
    return all.front();
}

} // namespace

void useFamilyNames(Reading& reading, const std::string& family)
{
    if (family == "chatglm") {
        reading.apply(kNamesOfChatGlm);
        if (const Json* const norm = reading.peek("rmsnorm"); norm != nullptr && *norm == Json(false))
            reading.apply(std::array{Alias{"rms_norm_eps", "layer_norm_epsilon"}});
    }
    reading.apply(kFamilyNames);
}

void tellFamilyWays(Reading& reading, const std::string& family)
{
    constexpr const char* kSideBySide = "attention and MLP side by side have no key";
    const Json* const parallel = reading.peek("parallel_attn");
    const Json* const newer = reading.peek("new_decoder_architecture");
    const bool isParallelFalcon =
        family == "falcon" && (parallel == nullptr || *parallel != Json(false) || (newer != nullptr && *newer == Json(true)));
    if (parallel != nullptr)
        reading.say("parallel_attn", isParallelFalcon ? Became::notRepresentable : Became::harmless,
                    isParallelFalcon ? kSideBySide : "");
    else if (isParallelFalcon || isFamily(family, {"cohere", "cohere2", "gptj", "codegen", "phi"}))
        reading.addNote("model_type", Became::notRepresentable, kSideBySide, "/model");
    if (reading.has("use_parallel_residual") || family != "gpt_neox")
        return;
    reading.addNote("use_parallel_residual", Became::notRepresentable, std::string("is true unless given: ") + kSideBySide,
                    "/model");
}

void readHuggingFaceExperts(Job& job, const std::string& family)
{
    Reading& reading = job.reading;
    for (const char* name :
         {"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", "ffn_config.moe_num_experts"})
        if (const auto experts = numberOfLayers(reading, name, "/model/num_experts"); experts && *experts > 1)
            job.model["num_experts"] = *experts;
    if (!job.model.contains("num_experts"))
        return;
    for (const char* name : {"moe_top_k", "experts_per_token", "num_experts_per_token", "moe_k", "num_experts_per_tok"})
        if (const auto chosen = numberOfLayers(reading, name, "/model/num_experts_per_tok"))
            job.model["num_experts_per_tok"] = *chosen;
    if (!job.model.contains("num_experts_per_tok")) {
        job.model["num_experts_per_tok"] = 2;
        reading.byDefault("num_experts_per_tok", 2, "/model/num_experts_per_tok");
    }
    const int dense = memberOr<int>(job.model, "intermediate_size", 0);
    std::optional<int> ffn = numberOfLayers(reading, "moe_intermediate_size", "/model/moe_intermediate_size");
    if (!ffn && dense > 0) {
        ffn = dense;
        reading.byDefault("moe_intermediate_size", dense, "/model/moe_intermediate_size",
                          "is not given: experts are as large as intermediate_size");
    }
    if (ffn)
        job.model["moe_intermediate_size"] = *ffn;
    for (const char* name : {"n_shared_experts", "num_shared_experts"})
        if (const auto shared = numberOfLayers(reading, name, "/model/num_shared_experts"); shared && *shared > 0)
            job.model["num_shared_experts"] = *shared;
    if (const auto shared = reading.integer("shared_expert_intermediate_size", "/model/num_shared_experts");
        shared && *shared > 0 && ffn && *ffn > 0)
        job.model["num_shared_experts"] = std::max(1, *shared / *ffn);
    if (const auto first = reading.integer("first_k_dense_replace", "/model/first_k_dense_replace"))
        job.model["first_k_dense_replace"] = *first;
    for (const char* name : {"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"})
        if (const auto every = reading.integer(name, "/model/moe_layer_freq"); every && *every > 0)
            job.model["moe_layer_freq"] = *every;
    // Where experts begin. Qwen's and Llama 4's steps mean layers step-1, 2 step-1, …; DeepSeek's the multiples that are not
    // among the first.
    if (const int every = memberOr<int>(job.model, "moe_layer_freq", 1); every > 1) {
        if (reading.has("decoder_sparse_step") || reading.has("interleave_moe_layer_step"))
            job.model["first_k_dense_replace"] = every - 1;
        else if (const auto offset = reading.integer("expert_layer_offset", "/model/first_k_dense_replace")) // Jamba
            job.model["first_k_dense_replace"] = std::clamp(*offset, 0, every - 1);
        else if (const int first = memberOr<int>(job.model, "first_k_dense_replace", 0); first % every != 0)
            job.model["first_k_dense_replace"] = (first / every + 1) * every;
    }
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
    else if (isFamily(family, {"deepseek_v3", "deepseek_v32", "glm4_moe", "glm_moe_dsa", "kimi_k2", "llama4", "minimax_m2"}))
        job.model["scoring_func"] = "sigmoid";
    const std::optional<std::string> method = reading.word("topk_method", "/model/router_bias");
    const bool isBalancedByBias =
        method ? *method == "noaux_tc" : isFamily(family, {"deepseek_v3", "deepseek_v32", "glm4_moe", "glm_moe_dsa", "kimi_k2"});
    if (reading.flag("use_routing_bias", "/model/router_bias").value_or(isBalancedByBias))
        job.model["router_bias"] = true;
    if (family == "llama4" && !job.model.contains("num_shared_experts"))
        job.model["num_shared_experts"] = 1;
    if (const auto last = reading.integer("moe_layer_end_index", "/model/moe_layer_freq");
        last && *last >= 0 && *last < memberOr<int>(job.model, "num_hidden_layers", 0) - 1)
        reading.say("moe_layer_end_index", Became::notRepresentable, "dense layers at the end have no key");
    const auto topGroup = reading.integer("topk_group", "/model/topk_group");
    if (const auto groups = reading.integer("n_group", "/model/n_group"); groups && *groups > 1) {
        job.model["n_group"] = *groups;
        if (topGroup)
            job.model["topk_group"] = *topGroup;
    }
    if (const auto factor = reading.real("routed_scaling_factor", "/model/routed_scaling_factor"); factor && *factor > 0)
        job.model["routed_scaling_factor"] = number(*factor);
    if (const auto normed = reading.flag("norm_topk_prob", "/model/norm_topk_prob"))
        job.model["norm_topk_prob"] = *normed;
}

} // namespace sim::frameworks
