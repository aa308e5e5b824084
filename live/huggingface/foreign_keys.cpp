#include "live/huggingface/foreign_keys.h"

#include <algorithm>
#include <array>

namespace live::huggingface {
namespace {

using nlohmann::json;

/// A key, with the values that change nothing besides null and false; in those of transformers' classes and of their kin that
/// people rename to them.
struct ForeignKey {
    const char* name;
    std::vector<json> neutral;
    const char* what;
};

const std::vector<ForeignKey>& foreignKeys()
{
    static const std::vector<ForeignKey> keys = {
        {"quantization_config", {}, "its weights are quantized"},
        {"compression_config", {}, "its weights are compressed"},
        {"partial_rotary_factor", {1}, "only a part of each head is rotated"},
        {"rotary_pct", {1}, "only a part of each head is rotated"},
        {"add_cross_attention", {}, "it attends to an encoder"},
        {"is_encoder_decoder", {}, "it has an encoder"},
        {"pruned_heads", {json::object(), json::array()}, "heads are left out"},
        {"attn_logit_softcapping", {}, "scores are capped"},
        {"final_logit_softcapping", {}, "logits are capped"},
        {"query_pre_attn_scalar", {}, "scores are scaled otherwise"},
        {"attention_multiplier", {}, "scores are scaled otherwise"},
        {"embedding_multiplier", {1}, "embeddings are scaled"},
        {"residual_multiplier", {1}, "residuals are scaled"},
        {"logits_scaling", {1}, "logits are scaled"},
        {"logit_scale", {1}, "logits are scaled"},
        {"scale_emb", {1}, "embeddings are scaled"},
        {"scale_depth", {1}, "residuals are scaled"},
        {"clip_qkv", {}, "queries, keys and values are clipped"},
        {"qkv_clip", {}, "queries, keys and values are clipped"},
        {"alibi", {}, "positions are biases of the scores"},
        {"use_parallel_residual", {}, "attention and MLP stand side by side"},
        {"parallel_attn", {}, "attention and MLP stand side by side"},
        {"attention_chunk_size", {}, "attention is cut into chunks"},
        {"no_rope_layers", {json::array()}, "some layers have no positions"},
        {"no_rope_layer_interval", {0}, "some layers have no positions"},
        {"router_jitter_noise", {0}, "the router's input is multiplied by noise"},
        {"shared_expert_intermediate_size", {0}, "it has a shared expert with a gate"},
    };
    return keys;
}

bool isNeutral(const json& value, const std::vector<json>& neutral)
{
    return value.is_null() || value == false || std::find(neutral.begin(), neutral.end(), value) != neutral.end();
}

} // namespace

std::vector<std::string> foreignMathematics(const json& config, ModelClass of)
{
    std::vector<std::string> out;
    for (const ForeignKey& key : foreignKeys())
        if (const auto found = config.find(key.name); found != config.end() && !isNeutral(*found, key.neutral))
            out.push_back(std::string(key.name) + " is " + found->dump(-1, ' ', false, json::error_handler_t::replace) +
                          " there: " + key.what + ", which is not known here");
    const auto parameters = config.find("rope_parameters");
    if (parameters != config.end() && parameters->is_object() && parameters->value("rope_type", json("default")) == "default")
        for (const auto& [key, value] : parameters->items())
            if (key != "rope_theta" && key != "rope_type" && key != "type" && !(key == "partial_rotary_factor" && value == 1) &&
                !value.is_null())
                out.push_back("rope_parameters." + key + " is " + value.dump(-1, ' ', false, json::error_handler_t::replace) +
                              " there, which is not known here");
    if (const auto types = config.find("layer_types"); of != ModelClass::gpt2 && types != config.end() && types->is_array())
        for (const json& type : *types)
            if (type != "full_attention" && type != "sliding_attention") {
                out.push_back("layer_types has " + type.dump(-1, ' ', false, json::error_handler_t::replace) +
                              " there; full_attention and sliding_attention are known here");
                break;
            }
    if (of == ModelClass::deepseekV3)
        for (const auto& [key, known] :
             {std::pair<const char*, json>{"scoring_func", "sigmoid"}, {"topk_method", "noaux_tc"}, {"moe_layer_freq", 1}})
            if (const auto found = config.find(key); found != config.end() && !found->is_null() && *found != known)
                out.push_back(std::string(key) + " is " + found->dump(-1, ' ', false, json::error_handler_t::replace) +
                              " there, " + known.dump() + " is what the class has");
    return out;
}

nlohmann::ordered_json keptConfig(const nlohmann::ordered_json& read, const nlohmann::ordered_json& ours)
{
    // What the scenario says too was compared when it was read; where they say it in other words, theirs stay.
    nlohmann::ordered_json kept = read;
    for (const char* key : {"dtype", "torch_dtype", "rope_interleave", "num_nextn_predict_layers"})
        if (const auto written = ours.find(key); written != ours.end())
            kept[key] = *written;
    return kept;
}

} // namespace live::huggingface
