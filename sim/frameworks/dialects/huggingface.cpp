// config.json of Hugging Face's models (huggingface/transformers at 008e574): the model block, under all the names its families
// use.
#include "sim/frameworks/dialects/huggingface_families.h"

#include "sim/text/quoted.h"

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
        ModelKey{"num_attention_heads", {"num_attention_heads", "n_head", "n_heads", "num_heads"}},
        ModelKey{"num_key_value_heads",
                 {"num_key_value_heads", "num_kv_heads", "multi_query_group_num", "attn_config.kv_n_heads"}},
        ModelKey{"head_dim", {"head_dim", "", "", ""}},
        ModelKey{"intermediate_size", {"intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"}},
        ModelKey{"vocab_size", {"vocab_size", "", "", ""}},
        ModelKey{"max_position_embeddings", {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"}},
        ModelKey{"max_position_embeddings", {"seq_length", "", "", ""}}, // BLOOM, ChatGLM
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

void readRopeScaling(Job& job, const std::string& prefix)
{
    Reading& reading = job.reading;
    const std::string whole = prefix.substr(0, prefix.size() - 1);
    if (const Json* const given = reading.peek(whole);
        given != nullptr && !given->is_null() && !given->is_object() && *given != Json(false))
        reading.say(whole, Became::unknown,
                    shownValue(*given) + " is no table of a rope_type and its numbers: no scaling is imported",
                    "/model/rope_scaling");
    if (!reading.hasPrefix(prefix))
        return;
    Json scaling = Json::object();
    for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "beta_fast",
                            "beta_slow", "attention_factor", "mscale", "mscale_all_dim"})
        if (const auto value = reading.real(prefix + key, std::string("/model/rope_scaling/") + key))
            scaling[key] = number(*value);
    if (const auto truncates = reading.flag(prefix + "truncate", "/model/rope_scaling/truncate"))
        scaling["truncate"] = *truncates;
    for (const char* name : {"type", "rope_type"}) // the newer name counts where both stand
        if (const auto kind = reading.word(prefix + name, "/model/rope_scaling/rope_type"))
            scaling["rope_type"] = *kind;
    const std::string kind = memberOr<std::string>(scaling, "rope_type", "");
    const bool isKnown = kind == "linear" || kind == "llama3" || kind == "yarn";
    if (isKnown && scaling.contains("factor")) {
        // Transformers takes each from the table and stops where one is missing (modeling_rope_utils.py).
        for (const auto& [key, usual] : {std::pair{"low_freq_factor", 1}, {"high_freq_factor", 4}})
            if (kind == "llama3" && !scaling.contains(key))
                reading.byDefault(prefix + key, usual, std::string("/model/rope_scaling/") + key,
                                  "is not given, and Transformers has no default: Llama 3.1's");
        job.model["rope_scaling"] = scaling;
    } else if (!kind.empty() && kind != "default" && !isKnown)
        for (const char* name : {"rope_type", "type"})
            reading.say(prefix + name, Became::notRepresentable, "the scenario scales by linear, llama3 or yarn");
    else if (isKnown) // transformers, modeling_rope_utils.py: factor is required of each of these
        for (const char* name : {"rope_type", "type"})
            reading.say(prefix + name, Became::unknown, quotedText(kind) + " without a factor: no scaling is imported");
    else if (kind.empty())
        for (const auto& [key, value] : scaling.items())
            reading.say(prefix + key, Became::unknown, "counts beside a rope_type, which is not given: no scaling is imported");
}

namespace {

/// Since transformers 5 rope_theta and what was rope_scaling are one table, rope_parameters; with tables in it where layers
/// differ.
std::string withoutRopeParameters(const std::string& name)
{
    constexpr std::string_view kTable = "rope_parameters.";
    if (!name.starts_with(kTable) || name.find('.', kTable.size()) != std::string::npos)
        return name;
    const std::string key = name.substr(kTable.size());
    return key == "rope_theta" || key == "partial_rotary_factor" ? key : "rope_scaling." + key;
}

} // namespace

/// Which layers see a window, a chunk, or all; which ones have no rotation.
static void readHuggingFaceLayerTypes(Job& job, const std::string& type)
{
    Reading& reading = job.reading;
    const std::string family = familyOfType(type);
    const bool isGemma3 = family == "gemma3";
    if (const auto chunk = reading.integer("attention_chunk_size", "/model/attention_chunk_size"); chunk && *chunk > 0)
        job.model["attention_chunk_size"] = *chunk;
    if (const auto every = reading.integer("no_rope_layer_interval", "/model/no_rope_layer_interval"); every && *every > 0)
        job.model["no_rope_layer_interval"] = *every;
    if (const auto list = reading.any("no_rope_layers", "/model/no_rope_layer_interval");
        list && list->is_array() && !list->empty()) { // an empty one is as none
        const auto rotated = valueAs<std::vector<int>>(*list).value_or(std::vector<int>());
        const auto first = std::find(rotated.begin(), rotated.end(), 0);
        const int every = first == rotated.end() ? 0 : static_cast<int>(first - rotated.begin()) + 1;
        bool isRegular = every > 0;
        for (std::size_t i = 0; i < rotated.size(); ++i)
            isRegular = isRegular && (rotated[i] == 0) == ((static_cast<int>(i) + 1) % every == 0);
        if (isRegular)
            job.model["no_rope_layer_interval"] = every;
        else if (every > 0)
            reading.say("no_rope_layers", Became::notRepresentable,
                        "layers without rotation that are not every n-th have no key");
    } else if (family == "llama4" && !job.model.contains("no_rope_layer_interval")) {
        job.model["no_rope_layer_interval"] = 4;
        reading.byDefault("no_rope_layers", 4, "/model/no_rope_layer_interval", "are not given: every fourth layer");
    }
    std::optional<int> pattern;
    if (const Json* const letters = reading.peek("sliding_window_pattern"); letters != nullptr && letters->is_string()) {
        const std::string text = letters->get<std::string>(); // EXAONE's "LLLG": three local ones, one global
        const bool isRegular = text.find_first_not_of('L') == text.size() - 1 && text.ends_with('G');
        reading.say("sliding_window_pattern", isRegular ? Became::used : Became::notRepresentable,
                    isRegular ? "" : quotedText(text) + " is no window on all but each n-th layer",
                    "/model/sliding_window_pattern");
        if (isRegular)
            pattern = static_cast<int>(text.size());
    } else {
        pattern = reading.integer("sliding_window_pattern", "/model/sliding_window_pattern");
    }
    const auto types = reading.any("layer_types", "/model/layer_types");
    if (!job.model.contains("sliding_window"))
        return;
    if (pattern && *pattern > 0)
        job.model["sliding_window_pattern"] = *pattern;
    else if (types && types->is_array() && !types->empty()) {
        Json list = Json::array();
        for (const Json& one : *types)
            list.push_back(one == Json("sliding_attention") ? "sliding_attention" : "full_attention");
        const auto firstFull = std::find(list.begin(), list.end(), Json("full_attention"));
        const int every = static_cast<int>(firstFull - list.begin()) + 1; // each every-th of them, or a list
        bool isRegular = firstFull != list.end();
        for (std::size_t i = 0; i < list.size(); ++i)
            isRegular = isRegular && (list[i] == Json("full_attention")) == ((static_cast<int>(i) + 1) % every == 0);
        if (isRegular)
            job.model["sliding_window_pattern"] = every;
        else
            job.model["layer_types"] = list;
    } else if (isGemma3 || isFamily(family, {"gemma2", "gpt_oss"})) {
        job.model["sliding_window_pattern"] = isGemma3 ? 6 : 2;
        reading.byDefault("sliding_window_pattern", isGemma3 ? 6 : 2, "/model/sliding_window_pattern",
                          "is not given: as models of the type " + type + " have it");
    }
}

/// T5's and BART's own names, as the others have them.
constexpr std::array kEncoderNames = {Alias{"d_ff", "intermediate_size"},
                                      Alias{"num_heads", "num_attention_heads"},
                                      Alias{"d_kv", "head_dim"},
                                      Alias{"encoder_layers", "num_layers"},
                                      Alias{"decoder_layers", "num_decoder_layers"},
                                      Alias{"encoder_attention_heads", "num_attention_heads"},
                                      Alias{"encoder_ffn_dim", "intermediate_size"},
                                      Alias{"feed_forward_proj", "hidden_act"},
                                      Alias{"dense_act_fn", "hidden_activation"}};

/// Layers of an encoder and of a decoder as those of one: there is no key for two.
static void joinEncoder(Job& job, bool isT5)
{
    Reading& reading = job.reading;
    const int encoder = memberOr<int>(job.model, "num_hidden_layers", 0);
    const std::optional<int> decoder = reading.size("num_decoder_layers", "/model/num_hidden_layers");
    if (encoder < 1 || encoder > (1 << 20))
        return;
    if (!decoder && isT5)
        reading.byDefault("num_decoder_layers", encoder, "/model/num_hidden_layers", "is not given: as many as the encoder's");
    const int sum = encoder + std::min(decoder.value_or(encoder), 1 << 20);
    job.model["num_hidden_layers"] = sum;
    reading.say("model_type", Became::notRepresentable,
                "an encoder beside the decoder has no key: a stand-in is imported, their " + std::to_string(sum) +
                    " layers as those of one decoder, without attention between the two",
                "/model");
}

/// Sizes that a family's configurations leave out where they are its own.
static void putFamilySizes(Job& job, const std::string& type)
{
    struct Size {
        std::string_view key;
        int value;
    };
    static constexpr std::array kGemma3 = {Size{"num_hidden_layers", 26},   Size{"hidden_size", 2304},
                                           Size{"intermediate_size", 9216}, Size{"num_attention_heads", 8},
                                           Size{"num_key_value_heads", 4},  Size{"head_dim", 256},
                                           Size{"vocab_size", 262208},      Size{"max_position_embeddings", 131072}};
    if (familyOfType(type) != "gemma3")
        return;
    for (const auto& [key, value] : kGemma3)
        if (!job.model.contains(key)) {
            job.model[std::string(key)] = value;
            job.reading.byDefault(key, value, "/model/" + std::string(key),
                                  "is not given: as models of the type " + type + " have it");
        }
}

/// The whole of a config.json whose names have no prefix.
static void readHuggingFaceConfig(Job& job)
{
    Reading& reading = job.reading;
    // A model of several kinds of input has its language model in a block of its own, one that speaks as well in one further in.
    const std::string_view text =
        reading.hasPrefix("thinker_config.text_config.") ? "thinker_config.text_config." : "text_config.";
    const bool isNested = reading.hasPrefix(text);
    if (isNested) {
        reading.rename([text](const std::string& name) {
            if (name == "model_type" || name == "tie_word_embeddings")
                return "outer." + name;
            return name.starts_with(text) ? name.substr(text.size()) : name;
        });
        if (reading.peek("tie_word_embeddings") == nullptr)
            reading.apply(std::array{Alias{"outer.tie_word_embeddings", "tie_word_embeddings"}});
        if (reading.peek("model_type") == nullptr)
            reading.apply(std::array{Alias{"outer.model_type", "model_type"}});
    }
    reading.rename(withoutRopeParameters);
    const std::string type = reading.word("model_type", "/model").value_or("");
    const std::string family = familyOfType(type);
    useFamilyNames(reading, family);
    const bool isT5 = isFamily(family, {"t5", "mt5", "umt5", "longt5"});
    const bool isBart = isFamily(family, {"bart", "mbart", "pegasus", "marian", "blenderbot"});
    if (isT5 || isBart)
        reading.apply(kEncoderNames);
    if (isFamily(family, {"llama4"})) // the width of an expert, and beside it that of dense layers
        reading.apply(
            std::array{Alias{"intermediate_size", "moe_intermediate_size"}, Alias{"intermediate_size_mlp", "intermediate_size"}});
    readHuggingFaceModel(job, "");
    putFamilySizes(job, type);
    if (isT5 || isBart)
        joinEncoder(job, isT5);
    else if (reading.hasPrefix("vision_config") || reading.hasPrefix("audio_config"))
        reading.say(reading.has("outer.model_type") ? "outer.model_type" : "model_type", Became::notRepresentable,
                    "a stand-in is imported, the text part alone: encoders of images and sounds take no time and memory in it",
                    "/model");
    if (const auto ratio = reading.real("expansion_ratio", "/model/intermediate_size"); // MPT
        ratio && *ratio > 0 && *ratio < 100 && job.model.contains("hidden_size") && !job.model.contains("intermediate_size"))
        job.model["intermediate_size"] = std::max(1, static_cast<int>(*ratio * memberOr<int>(job.model, "hidden_size", 1)));
    const bool isBert = isFamily(family, {"bert", "roberta", "xlm-roberta", "electra", "deberta"});
    const bool isGpt2 = isBert || isBart ||
                        isFamily(family, {"gpt2", "gpt_bigcode", "gptj", "gpt_neox", "gpt_neo", "opt", "bloom", "mpt", "falcon"});
    if (isGpt2 && !job.model.contains("intermediate_size") && job.model.contains("hidden_size")) {
        job.model["intermediate_size"] = 4 * std::min(memberOr<int>(job.model, "hidden_size", 1), 1 << 26);
        reading.byDefault("n_inner", job.model["intermediate_size"], "/model/intermediate_size", "is not given: 4 x n_embd");
    }
    if (family == "qwen" && job.model.contains("intermediate_size")) {
        job.model["intermediate_size"] = std::max(1, memberOr<int>(job.model, "intermediate_size", 2) / 2);
        reading.say("intermediate_size", Became::used, "the first Qwen's two matrices share it: half of it is imported",
                    "/model/intermediate_size");
    }
    const bool isNewer = reading.flag("new_decoder_architecture", "/model/num_key_value_heads").value_or(false);
    const bool isShared = reading.flag("multi_query", "/model/num_key_value_heads").value_or(type == "gpt_bigcode");
    if (isShared && !isNewer && !reading.has("num_key_value_heads"))
        job.model["num_key_value_heads"] = 1;
    if (!job.model.contains("num_key_value_heads") && job.model.contains("num_attention_heads")) {
        job.model["num_key_value_heads"] = job.model["num_attention_heads"];
        reading.byDefault("num_key_value_heads", job.model["num_attention_heads"], "/model/num_key_value_heads");
    }
    if (!job.model.contains("tie_word_embeddings")) {
        const bool tied = isT5 || (isGpt2 && !isFamily(family, {"gpt_neox", "gptj"})) ||
                          isFamily(family, {"gemma", "gemma2", "gemma3", "cohere", "cohere2", "starcoder2"});
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
                  : *word == "relu"                                                                        ? "relu2"
                                                                                                           : "silu";
            const bool isKnown = act != "silu" || *word == "silu" || *word == "swish" || *word == "swiglu";
            if (*word == "relu")
                reading.say(name, Became::notRepresentable, "relu: imported as relu2, its square");
            else if (!isKnown)
                reading.say(name, Became::notRepresentable,
                            quotedText(*word) + ": the scenario has gelu, silu and relu2; silu is imported");
            isActGiven = true;
        }
    if (!isActGiven) {
        act = isGpt2 || isT5 || type.starts_with("gemma") ? "gelu" : "silu";
        reading.byDefault("hidden_act", act, "/model/hidden_act");
    }
    job.model["hidden_act"] = act;
    job.model["gated_mlp"] = !isGpt2 && act != "relu2" && !isFamily(family, {"starcoder2", "phi", "apertus"});
    if (const auto gated = reading.flag("is_gated_act", "/model/gated_mlp"))
        job.model["gated_mlp"] = *gated;
    // norm_eps is any normalisation's.
    const bool isLayerNorm =
        isGpt2 ||
        (reading.has("layer_norm_epsilon") && family != "qwen" && !reading.spelled("layer_norm_epsilon").ends_with("norm_eps")) ||
        reading.has("layer_norm_eps") || isFamily(family, {"starcoder2", "phi", "nemotron", "olmo", "dbrx"});
    job.model["normalization"] = isLayerNorm ? "layernorm" : "rmsnorm";
    for (const char* name : {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps"})
        if (const auto epsilon = reading.real(name, isLayerNorm ? "/model/layer_norm_epsilon" : "/model/rms_norm_eps");
            epsilon && *epsilon > 0 && *epsilon < 1)
            job.model[isLayerNorm ? "layer_norm_epsilon" : "rms_norm_eps"] = number(*epsilon);
    job.model["position_embedding"] = isBert || isBart || isFamily(family, {"gpt2", "gpt_bigcode", "gpt_neo", "opt"}) ? "learned"
                                      : isT5 || isFamily(family, {"bloom", "mpt"})                                    ? "none"
                                                                                                                      : "rope";
    if (const auto theta = reading.real("rope_theta", "/model/rope_theta"); theta && *theta > 1)
        job.model["rope_theta"] = number(*theta);
    readRopeScaling(job, "rope_scaling.");
    bool bias =
        isBert || isBart || isFamily(family, {"gpt2", "gpt_bigcode", "gpt_neox", "gpt_neo", "opt", "bloom", "starcoder2", "phi"});
    for (const char* name : {"mlp_bias", "use_bias", "bias"})
        bias = reading.flag(name, "/model/bias").value_or(bias);
    const bool attentionBias =
        reading.flag("attention_bias", "/model/qkv_bias").value_or(isFamily(family, {"qwen", "qwen2", "qwen2_moe"}));
    job.model["bias"] = bias;
    if (attentionBias && !bias)
        job.model["qkv_bias"] = true;
    if (const auto output = reading.flag("attention_out_bias", "/model/attention_output_bias"); output && !bias) // of Seed-OSS
        job.model["attention_output_bias"] = *output;
    if (isFamily(family, {"gpt_oss"})) { // of all matrices of attention, of the router and of experts
        job.model["attention_output_bias"] = attentionBias;
        job.model["attention_sinks"] = true;
        job.model["expert_bias"] = true;
        job.model["router_bias"] = true;
    }
    for (const char* name : {"use_qk_norm", "qk_layernorm"})
        if (reading.flag(name, "/model/qk_norm").value_or(false) && !isFamily(family, {"llama4"}))
            job.model["qk_norm"] = true;
    if (isFamily(family, {"qwen3", "qwen3_moe", "qwen3_next", "gemma3", "olmo2", "olmo3", "olmoe", "exaone4", "apertus"}))
        job.model["qk_norm"] = true;
    const bool usesWindow = reading.flag("use_sliding_window", "/model/sliding_window")
                                .value_or(!isFamily(family, {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}));
    if (const auto window = reading.integer("sliding_window", "/model/sliding_window"); window && *window > 0 && usesWindow)
        job.model["sliding_window"] = *window;
    readHuggingFaceLayerTypes(job, type);
    for (const char* key : {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
        if (const auto value = reading.integer(key, std::string("/model/") + key); value && *value > 0)
            job.model[key] = *value;
    if (job.model.contains("kv_lora_rank"))
        job.model.erase("head_dim");
    const bool predictsMore = reading.flag("use_mtp", "/model/num_nextn_predict_layers").value_or(true);
    if (const auto further = reading.integer("num_nextn_predict_layers", "/model/num_nextn_predict_layers");
        further && *further > 0 && predictsMore)
        job.model["num_nextn_predict_layers"] = *further;
    readHuggingFaceExperts(job, family);
    tellFamilyWays(reading, family);
    for (const char* name : {"dtype", "torch_dtype"})
        reading.word(name, "/training/precision");
    static constexpr std::array<std::string_view, 35> kModelHarmless = {"architectures*",
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
                                                                        "emb_dropout_prob",
                                                                        "embd_*",
                                                                        "summary_*",
                                                                        "task_specific_params*",
                                                                        "scale_att*",
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
                                                                        "outer.*",
                                                                        "rope_scaling*",
                                                                        "rope_parameters*",
                                                                        "id2label*",
                                                                        "label2id*",
                                                                        "vocab_type",
                                                                        "pad_token*",
                                                                        "use_sliding_window"};
    static constexpr std::array kModelNot = {
        Alias{"vision_config*", "an encoder beside the text model has no key"},
        Alias{"audio_config*", "an encoder beside the text model has no key"},
        Alias{"mm_tokens_per_image", "an encoder beside the text model has no key"},
        Alias{"partial_rotary_factor", "heads that are turned in part have no key"},
        Alias{"rotary_dim", "heads that are turned in part have no key"},
        Alias{"rotary_pct", "heads that are turned in part have no key"},
        Alias{"rotary_percentage", "heads that are turned in part have no key"},
        Alias{"attn_layer_*", "state-space layers have no key: all layers are counted as attention"},
        Alias{"mamba_*", "state-space layers have no key: all layers are counted as attention"},
        Alias{"attn_type_list", "attention that is linear has no key: it is counted as usual attention"},
        Alias{"use_cla", "keys and values that layers share have no key"},
        Alias{"fp32_residual_connection", "a residual stream in 32 bits has no key"},
        Alias{"apply_residual_connection_post_layernorm", "the order of normalisation has no key"},
        Alias{"use_parallel_residual", "attention and MLP side by side have no key"},
        Alias{"linear_*", "attention that is linear has no key: it is counted as usual attention"},
        Alias{"full_attention_interval", "attention that is linear has no key: it is counted as usual attention"},
        Alias{"alibi", "a bias inside of attention is not counted"},
        Alias{"attn_config.alibi", "a bias inside of attention is not counted"},
        Alias{"index_*", "attention that is sparse has no key"},
        Alias{"type_vocab_size", "embeddings of token types are not in the model"}};
    for (const char* name : {"partial_rotary_factor", "rotary_pct", "rotary_percentage"})
        if (const Json* const part = reading.peek(name); part != nullptr && part->is_number() && part->get<double>() == 1)
            reading.say(name, Became::harmless, "heads are turned whole");
    if (const Json* const kinds = reading.peek("attn_type_list");
        kinds != nullptr && kinds->is_array() &&
        std::all_of(kinds->begin(), kinds->end(), [](const Json& one) { return one == 1; }))
        reading.say("attn_type_list", Became::harmless, "all layers have usual attention");
    reading.notRepresentable(kModelNot);
    reading.harmless(kModelHarmless);
    reading.harmless(std::array<std::string_view, 71>{"*_dropout_prob",
                                                      "dropout_rate",
                                                      "initializer_*",
                                                      "relative_attention_*",
                                                      "mtp_num_hidden_layers", // Transformers trains without them
                                                      "mtp_use_dedicated_embeddings",
                                                      "enable_talker",
                                                      "position_embedding_type",
                                                      "use_dynamic_ntk",
                                                      "use_flash_attn*",
                                                      "use_logn_attn",
                                                      "apply_query_key_layer_scaling",
                                                      "bias_dropout_fusion",
                                                      "multi_query_attention",
                                                      "original_rope",
                                                      "post_layer_norm",
                                                      "rmsnorm",
                                                      "moe_capacity*",
                                                      "moe_gate",
                                                      "moe_k",
                                                      "cla_share_factor",
                                                      "num_logits_to_keep",
                                                      "mtp_transformer_layers",
                                                      "qk_norm_type",
                                                      "floor_scale",
                                                      "attn_scale",
                                                      "attn_temperature_tuning",
                                                      "bf16",
                                                      "fp16",
                                                      "fp32",
                                                      "offset_alibi",
                                                      "skip_bias_add",
                                                      "logit_scale",
                                                      "ffn_config.*",
                                                      "attn_config.*",
                                                      "cache_implementation",
                                                      "*softcapping",
                                                      "query_pre_attn_scalar",
                                                      "rope_local_base_freq",
                                                      "initial_context_length",
                                                      "swiglu_limit",
                                                      "rotary*",
                                                      "norm_type",
                                                      "clip_qkv",
                                                      "*layer_norm*",
                                                      "dropout",
                                                      "init_std",
                                                      "layerdrop",
                                                      "word_embed_proj_dim",
                                                      "use_mrope",
                                                      "mlp_type",
                                                      "attention_softmax_in_fp32",
                                                      "*_token_index",
                                                      "boi_*",
                                                      "eoi_*",
                                                      "image_*",
                                                      "classifier_dropout",
                                                      "chunk_size_*",
                                                      "is_*",
                                                      "output_*",
                                                      "return_dict*",
                                                      "use_bfloat16",
                                                      "torchscript",
                                                      "pruned_heads*",
                                                      "original_max_position_embeddings",
                                                      "sliding_window_size",
                                                      "init_*",
                                                      "is_decoder",
                                                      "gradient_checkpointing",
                                                      "tokenizer_class",
                                                      "for_llm_compressor"});
}

void readHuggingFace(Job& job)
{
    Reading& reading = job.reading;
    std::optional<std::string> dtype;
    for (const char* name : {"dtype", "torch_dtype"}) // newer, older
        if (const Json* const given = reading.peek(name); given != nullptr && !dtype)
            dtype = shownValue(*given);
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
