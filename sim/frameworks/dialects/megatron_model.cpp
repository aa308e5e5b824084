// What Megatron's arguments say of the model. Facts: megatron/training/arguments.py and megatron/core/transformer/
// transformer_config.py of NVIDIA/Megatron-LM at d98e8a6 and before.
#include "sim/frameworks/dialects/megatron_model.h"

#include "sim/frameworks/dialects/megatron_layers.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim::frameworks {
namespace {

void putMegatronActivation(Job& job)
{
    Reading& reading = job.reading;
    std::string act = "gelu";
    bool gated = false, isGiven = true;
    if (std::optional<std::string> word = reading.word("activation", "/model/hidden_act")) {
        std::replace(word->begin(), word->end(), '_', '-');
        gated = word->find("glu") != std::string::npos;
        act = word->find("swiglu") != std::string::npos || *word == "silu" ? "silu"
              : word->find("squared") != std::string::npos                 ? "relu2"
                                                                           : "gelu";
        if (*word != "gelu" && *word != "openai-gelu" && *word != "fast-swiglu" && *word != "swiglu" && *word != "squared-relu" &&
            *word != "squaredrelu" && *word != "geglu" && *word != "fast-geglu" && *word != "approx-gelu" && *word != "silu")
            reading.say("activation", Became::notRepresentable, quotedText(*word) + ": the scenario has gelu, silu and relu2");
    } else if (reading.flag("swiglu", "/model/hidden_act").value_or(false)) {
        act = "silu";
        gated = true;
    } else if (reading.flag("squared_relu", "/model/hidden_act").value_or(false)) {
        act = "relu2";
    } else if (reading.flag("quick_geglu", "/model/hidden_act").value_or(false)) {
        gated = true;
    } else if (const std::optional<std::string> function = reading.word("activation_func", "/model/hidden_act")) {
        act = function->find("silu") != std::string::npos || function->find("swiglu") != std::string::npos ? "silu"
              : function->find("squared") != std::string::npos                                             ? "relu2"
                                                                                                           : "gelu";
        gated = function->find("glu") != std::string::npos;
        if (act == "gelu" && function->find("gelu") == std::string::npos)
            reading.say("activation_func", Became::notRepresentable,
                        quotedText(*function) + ": the scenario has gelu, silu and relu2; gelu is imported");
    } else {
        isGiven = false;
        if (!reading.has("gated_linear_unit"))
            reading.byDefault("swiglu", false, "/model/hidden_act", "is not given: gelu, not gated");
    }
    for (const char* name : {"swiglu", "squared_relu", "quick_geglu"})
        reading.flag(name, "/model/hidden_act");
    if (const std::optional<bool> unit = reading.flag("gated_linear_unit", "/model/gated_mlp"))
        gated = *unit;
    else if (!isGiven)
        gated = false;
    job.model["hidden_act"] = act;
    job.model["gated_mlp"] = gated;
}

/// Which layers see a window, and how far it reaches back.
void readMegatronWindow(Reading& reading, Json& model)
{
    const auto window = reading.any("window_size", "/model/sliding_window");
    const auto skips = reading.any("window_attn_skip_freq", "/model/sliding_window_pattern");
    if (!window) {
        if (skips)
            reading.say("window_attn_skip_freq", Became::harmless, "counts only beside --window-size");
        return;
    }
    const std::vector<std::string> words = wordsOfList(*window);
    std::string first = words.empty() ? "" : words.front(), second = words.size() < 2 ? "0" : words[1];
    first.erase(0, first.find_first_not_of('('));
    second.erase(std::min(second.find(')'), second.size()));
    const std::optional<int> left = wholeNumber<int>(valueOf(first));
    if (!left || *left < 0 || *left >= 100000000) {
        reading.say("window_size", Became::notRepresentable, "a window without an end is none: not imported");
        return;
    }
    model["sliding_window"] = *left + 1;
    if (second != "0")
        reading.addNote("window_size", Became::notRepresentable,
                        "a window of " + std::to_string(*left + 1) + " tokens is imported; what looks ahead is not");
    if (!skips)
        return;
    if (const std::optional<int> every = wholeNumber<int>(skips->is_string() ? valueOf(skips->get<std::string>()) : *skips)) {
        if (*every > 0)
            model["sliding_window_pattern"] = *every;
        return;
    }
    const std::vector<int> pattern =
        skips->is_array() ? valueAs<std::vector<int>>(*skips).value_or(std::vector<int>()) : layerPatternOf(shownValue(*skips));
    if (const std::optional<int> layers = valueAs<int>(model.value("num_hidden_layers", Json()));
        layers && static_cast<int>(pattern.size()) == *layers) {
        Json types = Json::array();
        for (const int isWindow : pattern)
            types.push_back(isWindow != 0 ? "sliding_attention" : "full_attention");
        model["layer_types"] = types;
    } else {
        reading.say("window_attn_skip_freq", Became::notRepresentable,
                    quotedText(shownValue(*skips)) + " does not name each of the layers: all of them have the window");
    }
}

void readMegatronAttention(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    const std::optional<int> heads = reading.integer("num_attention_heads", "/model/num_attention_heads");
    if (heads)
        job.model["num_attention_heads"] = *heads;
    const bool latent = reading.flag("multi_latent_attention", "/model/kv_lora_rank").value_or(false);
    const std::optional<bool> grouped = reading.flag("group_query_attention", "/model/num_key_value_heads");
    const std::optional<int> groups = reading.integer("num_query_groups", "/model/num_key_value_heads");
    if (latent) {
        struct LatentName {
            const char *flag, *key;
            int fallback;
        };
        for (const auto& [flag, key, fallback] :
             {LatentName{"q_lora_rank", "q_lora_rank", 0}, LatentName{"kv_lora_rank", "kv_lora_rank", 32},
              LatentName{"qk_head_dim", "qk_nope_head_dim", 128}, LatentName{"qk_pos_emb_head_dim", "qk_rope_head_dim", 64},
              LatentName{"v_head_dim", "v_head_dim", 128}})
            if (const int value = reading.integerOr(flag, std::string("/model/") + key, fallback); value > 0)
                job.model[key] = value;
        reading.say("kv_channels", Became::harmless, "latent attention has sizes of its own");
    } else {
        for (const char* name : {"q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"})
            if (reading.has(name))
                reading.say(name, Became::harmless, "counts only beside --multi-latent-attention");
        if (groups && rules.groupsNeedFlag && !grouped.value_or(false)) {
            reading.say("num_query_groups", Became::harmless,
                        "counts only beside --group-query-attention: every head has keys and values of its own");
            if (heads)
                job.model["num_key_value_heads"] = *heads;
        } else if (groups && (grouped.value_or(true))) {
            job.model["num_key_value_heads"] = *groups;
        } else if (grouped.value_or(false) && rules.groupsNeedFlag) {
            job.model["num_key_value_heads"] = 1;
            reading.byDefault("num_query_groups", 1, "/model/num_key_value_heads",
                              "is not given beside --group-query-attention: one group");
        } else if (heads) {
            job.model["num_key_value_heads"] = *heads;
            if (!grouped)
                reading.byDefault("group_query_attention", false, "/model/num_key_value_heads");
        }
        if (const std::optional<int> channels = reading.integer("kv_channels", "/model/head_dim"))
            job.model["head_dim"] = *channels;
    }
    if (const auto type = reading.word("attention_head_type", "/model/num_key_value_heads"); type == "multiquery")
        job.model["num_key_value_heads"] = 1;
    const bool normalises = reading.flag("qk_layernorm", "/model/qk_norm").value_or(false);
    if (normalises && !latent)
        job.model["qk_norm"] = true;
    else if (latent && !normalises && !rules.modelIsNamed)
        reading.byDefault("qk_layernorm", false, "",
                          "is not given: what latent attention compresses to is not normalised; it always is in the scenario");
    readMegatronWindow(reading, job.model);
    if (const auto kind = reading.word("softmax_type", "/model/attention_sinks"); kind && *kind != "vanilla") {
        job.model["attention_sinks"] = true;
        if (*kind != "learnable")
            reading.say("softmax_type", Became::notRepresentable,
                        quotedText(*kind) + ": imported as sinks that are learnt, one number a head more");
    }
}

void readMegatronExperts(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    const std::optional<int> experts = rules.experts ? rules.experts : reading.integer("num_experts", "/model/num_experts");
    if (!experts || *experts <= 1) {
        if (experts == 1)
            reading.say("num_experts", Became::harmless, "one expert is a dense layer");
        for (const char* name :
             {"moe_router_topk", "moe_ffn_hidden_size", "moe_layer_freq", "moe_shared_expert_intermediate_size"})
            if (reading.has(name))
                reading.say(name, Became::harmless, "there are no experts");
        return;
    }
    job.model["num_experts"] = *experts;
    job.model["num_experts_per_tok"] = reading.integerOr("moe_router_topk", "/model/num_experts_per_tok", rules.expertsPerToken);
    std::optional<int> ffn = reading.integer("moe_ffn_hidden_size", "/model/moe_intermediate_size");
    if (!ffn && job.model.contains("intermediate_size")) {
        ffn = memberOr<int>(job.model, "intermediate_size", 1);
        reading.byDefault("moe_ffn_hidden_size", *ffn, "/model/moe_intermediate_size", "is not given: as --ffn-hidden-size");
    }
    if (ffn)
        job.model["moe_intermediate_size"] = *ffn;
    if (const std::optional<int> shared = reading.integer("moe_shared_expert_intermediate_size", "/model/num_shared_experts");
        shared && ffn && *ffn > 0) {
        const int count = *shared > 0 ? std::max(1, static_cast<int>(std::lround(1.0 * *shared / *ffn))) : 0;
        job.model["num_shared_experts"] = count;
        if (1LL * count * *ffn != *shared)
            reading.say("moe_shared_expert_intermediate_size", Became::notRepresentable,
                        std::to_string(*shared) + " is no multiple of an expert's " + std::to_string(*ffn) +
                            "; shared experts are as large as others here: " + std::to_string(count) + " imported");
    }
    if (rules.expertInterval > 1) {
        job.model["moe_layer_freq"] = rules.expertInterval;
        job.model["first_k_dense_replace"] = rules.expertInterval - 1;
    }
    if (const auto freq = reading.any("moe_layer_freq", "/model/moe_layer_freq")) {
        if (const std::optional<int> every = wholeNumber<int>(freq->is_string() ? valueOf(freq->get<std::string>()) : *freq)) {
            job.model["moe_layer_freq"] = std::max(1, *every);
            job.model["first_k_dense_replace"] = 0;
        } else {
            std::vector<int> pattern;
            const bool isMade = shownValue(*freq).find('$') != std::string::npos; // by a loop of the script
            if (isMade) {
                reading.say("moe_layer_freq", Became::unknown,
                            quotedText(shownValue(*freq)) + " is made by code, which is not run: say which layers are dense with "
                                                            "--set model.first_k_dense_replace=…");
                job.ask("/model/first_k_dense_replace",
                        "which layers are dense is made by code, which is not run: none is assumed");
            }
            if (freq->is_array())
                pattern = valueAs<std::vector<int>>(*freq).value_or(std::vector<int>());
            else
                pattern = layerPatternOf(shownValue(*freq));
            if (const auto layers = expertLayersOf(pattern)) {
                job.model["first_k_dense_replace"] = layers->firstDense;
                job.model["moe_layer_freq"] = layers->every;
            } else if (!isMade) {
                reading.say("moe_layer_freq", Became::notRepresentable,
                            quotedText(shownValue(*freq)) +
                                ": the scenario says the first k layers dense, then every n-th of experts");
            }
        }
    }
    const bool hasBias = reading.flag("moe_router_enable_expert_bias", "/model/router_bias").value_or(false);
    if (hasBias ||
        (rules.routerHasBias && job.model.value("bias", Json()) == Json(true))) // the router's layer is one of those with biases
        job.model["router_bias"] = true;
    if (const auto score = reading.word("moe_router_score_function", "/model/scoring_func");
        score == "sigmoid" || score == "softmax")
        job.model["scoring_func"] = *score;
    const std::optional<int> groupCount = reading.integer("moe_router_num_groups", "/model/n_group");
    const std::optional<int> groupTop = reading.integer("moe_router_group_topk", "/model/topk_group");
    if (groupCount && *groupCount > 1) {
        job.model["n_group"] = *groupCount;
        if (groupTop)
            job.model["topk_group"] = *groupTop;
    }
    if (const auto factor = reading.real("moe_router_topk_scaling_factor", "/model/routed_scaling_factor"); factor && *factor > 0)
        job.model["routed_scaling_factor"] = number(*factor);
}

/// --num-layers; of an encoder and a decoder both; of a pattern of layers of several kinds their number.
void readMegatronLayerCount(Job& job)
{
    Reading& reading = job.reading;
    const char* const key = "num_hidden_layers";
    if (const std::optional<int> layers = reading.integer("num_layers", "/model/num_hidden_layers"))
        job.model[key] = *layers;
    if (const std::optional<std::string> pattern = reading.word("hybrid_layer_pattern", "/model/num_hidden_layers")) {
        const HybridPattern hybrid = hybridPatternOf(*pattern);
        job.model[key] = hybrid.layers;
        if (hybrid.predictions > 0)
            job.model["num_nextn_predict_layers"] = hybrid.predictions;
        reading.say(
            "hybrid_layer_pattern", Became::notRepresentable,
            "layers of several kinds: the scenario has no state-space layers, and attention and MLP are one layer here; " +
                std::to_string(hybrid.layers) + " transformer layers stand for them",
            "/model/num_hidden_layers");
        return;
    }
    const std::optional<int> encoder = reading.integer("encoder_num_layers", "/model/num_hidden_layers");
    const std::optional<int> decoder = reading.integer("decoder_num_layers", "/model/num_hidden_layers");
    if (job.model.contains(key) || (!encoder && !decoder))
        return;
    const int sum = std::clamp(encoder.value_or(0), 0, 1 << 20) + std::clamp(decoder.value_or(0), 0, 1 << 20);
    job.model[key] = sum;
    if (encoder && decoder)
        reading.say("decoder_num_layers", Became::notRepresentable,
                    "an encoder beside the decoder has no key: their " + std::to_string(sum) +
                        " layers are imported as those of one decoder, without attention between the two",
                    "/model/num_hidden_layers");
}

/// Positions of latent attention. Defaults are MLATransformerConfig's, but for the factor, which a command line has another for.
void readYarn(Job& job, double usualFactor)
{
    Reading& reading = job.reading;
    const std::optional<double> given = reading.real("rotary_scaling_factor", "/model/rope_scaling/factor");
    if (!given)
        reading.byDefault("rotary_scaling_factor", number(usualFactor), "/model/rope_scaling/factor");
    if (given.value_or(usualFactor) <= 1) // scales nothing
        return;
    Json scaling{{"rope_type", "yarn"}};
    struct Factor {
        const char *flag, *key;
        double fallback, least;
    };
    for (const Factor& one : {Factor{"rotary_scaling_factor", "factor", usualFactor, 1},
                              Factor{"original_max_position_embeddings", "", 4096, 1}, Factor{"beta_fast", "", 32, 0},
                              Factor{"beta_slow", "", 1, 0}, Factor{"mscale", "", 1, 0}, Factor{"mscale_all_dim", "", 0, 0}}) {
        const std::string key = *one.key == '\0' ? one.flag : one.key;
        scaling[key] = number(std::max(one.least, reading.real(one.flag, "/model/rope_scaling/" + key).value_or(one.fallback)));
    }
    job.model["rope_scaling"] = scaling;
}

/// Sizes and kinds of layers; the model a base recipe names keeps its own.
void readModel(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    const auto copyInteger = [&](const char* name, const char* key) {
        const std::optional<int> value = reading.integer(name, std::string("/model/") + key);
        if (value)
            job.model[key] = *value;
        return value;
    };
    readMegatronLayerCount(job);
    const std::optional<int> hidden = copyInteger("hidden_size", "hidden_size");
    const bool isNamed = rules.modelIsNamed && !hidden;
    copyInteger("max_position_embeddings", "max_position_embeddings");
    if (const std::optional<int> size = copyInteger("pad_vocab_size_to", "vocab_size"); size && reading.has("vocab_size"))
        reading.say("vocab_size", Became::used, "padded by --pad-vocab-size-to", "/model/vocab_size");
    else if (!size && !copyInteger("vocab_size", "vocab_size") && copyInteger("padded_vocab_size", "vocab_size"))
        reading.say("padded_vocab_size", Became::used,
                    "as it is padded for tensor parallelism: the tokenizer's own is not in the file", "/model/vocab_size");
    if (job.model.contains("vocab_size") && reading.has("padded_vocab_size"))
        reading.integer("padded_vocab_size", "/model/vocab_size");
    if (isNamed) {
        copyInteger("ffn_hidden_size", "intermediate_size");
        copyInteger("kv_channels", "head_dim");
        copyInteger("mtp_num_layers", "num_nextn_predict_layers");
        return;
    }
    readMegatronAttention(job, rules);
    putMegatronActivation(job);
    if (const std::optional<int> ffn = copyInteger("ffn_hidden_size", "intermediate_size");
        !ffn && hidden && *hidden < (1 << 26)) {
        const Json* const activation = reading.peek("activation");
        const bool isNarrow = rules.narrowsSwiglu && activation != nullptr && *activation == Json("swiglu");
        const bool swiglu = job.model["hidden_act"] == "silu" && (reading.has("swiglu") || isNarrow);
        const int size = swiglu ? static_cast<int>(*hidden * 4.0 * 2 / 3 / 64) * 64 : 4 * *hidden;
        job.model["intermediate_size"] = size;
        reading.byDefault("ffn_hidden_size", size, "/model/intermediate_size",
                          swiglu ? "is not given: 4 h x 2/3 in steps of 64 beside swiglu" : "is not given: 4 h");
    }
    const std::string norm = reading.wordOr("normalization", "/model/normalization", "LayerNorm");
    const auto small = [](std::string word) {
        std::transform(word.begin(), word.end(), word.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return word;
    };
    job.model["normalization"] = small(norm).starts_with("rms") ? "rmsnorm" : "layernorm";
    reading.flag("apply_layernorm_1p", "/model/normalization");
    // --no-position-embedding is of the time when rotation was a flag beside it: it takes the learned ones away, no more.
    const bool noTable = reading.flag("no_position_embedding", "/model/position_embedding").value_or(false);
    std::string position = small(reading.word("position_embedding_type", "/model/position_embedding").value_or(""));
    if (noTable && !position.empty() && !position.starts_with("learned"))
        reading.say("no_position_embedding", Became::harmless, "beside the type " + position + " it changes nothing");
    if (position.empty() && !noTable)
        reading.byDefault("position_embedding_type", "learned_absolute", "/model/position_embedding");
    if (position.empty() || (noTable && position.starts_with("learned")))
        position = noTable ? "none" : "learned_absolute";
    const bool isRotated = position == "rope" || position == "rotary" || position == "yarn" || position == "mrope";
    job.model["position_embedding"] = isRotated ? "rope" : position.starts_with("learned") ? "learned" : "none";
    if (position == "alibi")
        reading.say("position_embedding_type", Became::notRepresentable,
                    "alibi: it has no parameters, and its bias inside of attention is not counted; imported as none");
    else if (!isRotated && !position.starts_with("learned") && position != "none")
        reading.say("position_embedding_type", Became::notRepresentable, quotedText(position) + ": imported as none");
    const bool isLatent = job.model.contains("kv_lora_rank"); // which has a kind of its own
    const std::optional<std::string> type = reading.word("rope_type", "/model/rope_scaling/rope_type");
    const bool isOfCommand = rules.groupsNeedFlag && !rules.modelIsNamed;
    if (isLatent && isRotated && !type && isOfCommand)
        reading.byDefault("rope_type", "yarn", "/model/rope_scaling/rope_type",
                          "is not given: latent attention takes yarn, which by a factor of 1 scales nothing");
    if (isLatent && isRotated && (type ? *type == "yarn" : isOfCommand))
        readYarn(job, isOfCommand ? 1 : 40);
    if (const std::optional<double> base = reading.real("rotary_base", "/model/rope_theta"); base && *base > 1 && isRotated)
        job.model["rope_theta"] = number(*base);
    if (reading.flag("use_rope_scaling", "/model/rope_scaling").value_or(false) && isRotated && !isLatent) // of Llama 3.1
        job.model["rope_scaling"] = {
            {"rope_type", "llama3"},
            {"factor", number(std::max(1.0, reading.real("rope_scaling_factor", "/model/rope_scaling/factor").value_or(8)))},
            {"low_freq_factor", 1},
            {"high_freq_factor", 4},
            {"original_max_position_embeddings", 8192}};
    if (const std::optional<int> every = reading.integer("no_rope_freq", "/model/no_rope_layer_interval"); every && *every > 0)
        job.model["no_rope_layer_interval"] = *every;
    for (const char* name : {"norm_epsilon", "layernorm_epsilon"})
        if (const std::optional<double> epsilon = reading.real(name, "/model/layer_norm_epsilon");
            epsilon && *epsilon > 0 && *epsilon < 1)
            job.model[job.model["normalization"] == "rmsnorm" ? "rms_norm_eps" : "layer_norm_epsilon"] = *epsilon;
    const bool bias = !reading.flagOr("disable_bias_linear", "/model/bias", false);
    job.model["bias"] = bias;
    if (reading.flag("add_qkv_bias", "/model/qkv_bias").value_or(false) && !bias)
        job.model["qkv_bias"] = true;
    job.model["tie_word_embeddings"] =
        !reading.flagOr("untie_embeddings_and_output_weights", "/model/tie_word_embeddings", false);
    for (const char* key : {"hidden_dropout", "attention_dropout"}) {
        const std::string pointer = std::string("/model/") + key;
        const std::optional<double> dropout = reading.real(key, pointer);
        if (!dropout)
            reading.byDefault(key, 0.1, pointer);
        job.model[key] = std::clamp(dropout.value_or(0.1), 0.0, 0.99);
    }
    if (const std::optional<int> further = reading.integer("mtp_num_layers", "/model/num_nextn_predict_layers");
        further && *further > 0)
        job.model["num_nextn_predict_layers"] = *further;
}

} // namespace

void readMegatronModel(Job& job, const MegatronRules& rules)
{
    readModel(job, rules);
    readMegatronExperts(job, rules);
}

} // namespace sim::frameworks
