// MaxText's YAML and overrides (AI-Hypercomputer/maxtext at e591f30): axes of a mesh inside a slice (ici) and between slices
// (dcn).
#include "sim/frameworks/dialects/primus.h"
#include "sim/frameworks/job.h"
#include "sim/frameworks/stacks.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim::frameworks {

namespace {

/// Powers of two that --global_parameter_scale puts on layers, heads and widths: eight times the parameters double each.
struct Scale {
    int layers = 1, heads = 1, hidden = 1;
};
Scale scaleOf(int parameters)
{
    int power = 0;
    while (power < 30 && (1 << (power + 1)) <= parameters)
        ++power;
    const int base = power / 3, rest = power % 3;
    return {.layers = 1 << base, .heads = 1 << (base + (rest > 0 ? 1 : 0)), .hidden = 1 << (base + (rest > 1 ? 1 : 0))};
}

/// Positions that are stretched; lengths and factors of "llama3.1" are written into its embedding (layers/embeddings.py), those
/// of yarn are base.yml's unless given.
void readMaxTextRopeScaling(Job& job)
{
    Reading& reading = job.reading;
    const std::optional<std::string> type = reading.word("rope_type", "/model/rope_scaling/rope_type");
    const bool isScaled = reading.flag("rope_use_scale", "/model/rope_scaling").value_or(true);
    if (type == "llama3.1" && isScaled)
        job.model["rope_scaling"] = {{"rope_type", "llama3"},
                                     {"factor", 8},
                                     {"low_freq_factor", 1},
                                     {"high_freq_factor", 4},
                                     {"original_max_position_embeddings", 8192}};
    struct Factor {
        const char *name, *key;
        double fallback, least;
    };
    Json scaling{{"rope_type", "yarn"}};
    for (const Factor& one :
         {Factor{"rope_factor", "factor", 40, 1},
          Factor{"original_max_position_embeddings", "original_max_position_embeddings", 4096, 1},
          Factor{"beta_fast", "beta_fast", 32, 0}, Factor{"beta_slow", "beta_slow", 1, 0}, Factor{"mscale", "mscale", 1, 0}}) {
        const std::string pointer = std::string("/model/rope_scaling/") + one.key;
        if (type == "yarn")
            scaling[one.key] = number(std::clamp(reading.real(one.name, pointer).value_or(one.fallback), one.least, 1e8));
        else if (reading.has(one.name))
            reading.say(one.name, Became::harmless, "counts only beside rope_type: yarn");
    }
    if (type == "yarn") { // the one factor is of the softmax, too (layers/attention_mla.py)
        scaling["mscale_all_dim"] = scaling["mscale"];
        job.model["rope_scaling"] = scaling;
    }
    if (const auto positions = reading.size("max_position_embeddings", "/model/max_position_embeddings"))
        job.model["max_position_embeddings"] = *positions;
}

/// Sizes, by default those of base.yml where no model is named; and the kind of its layers.
void readMaxTextModel(Job& job, bool isNamed)
{
    Reading& reading = job.reading;
    const std::optional<int> parameters = reading.integer("global_parameter_scale", "/model");
    const Scale scale = scaleOf(std::clamp(parameters.value_or(1), 1, 1 << 20));
    struct Size {
        const char *name, *key;
        int fallback, times;
    };
    for (const auto& [name, key, fallback, times] : {Size{"base_num_decoder_layers", "num_hidden_layers", 16, scale.layers},
                                                     Size{"base_emb_dim", "hidden_size", 2048, scale.hidden},
                                                     Size{"base_mlp_dim", "intermediate_size", 7168, scale.heads},
                                                     Size{"base_num_query_heads", "num_attention_heads", 16, scale.heads},
                                                     Size{"base_num_kv_heads", "num_key_value_heads", 16, scale.heads},
                                                     Size{"head_dim", "head_dim", 128, 1},
                                                     Size{"vocab_size", "vocab_size", 32000, 1},
                                                     Size{"base_moe_mlp_dim", "moe_intermediate_size", 0, scale.heads},
                                                     Size{"shared_experts", "num_shared_experts", 0, 1},
                                                     Size{"first_num_dense_layers", "first_k_dense_replace", 0, 1},
                                                     Size{"interleave_moe_layer_step", "moe_layer_freq", 0, 1},
                                                     Size{"nope_layer_interval", "no_rope_layer_interval", 0, 1},
                                                     Size{"q_lora_rank", "q_lora_rank", 0, 1},
                                                     Size{"kv_lora_rank", "kv_lora_rank", 0, 1},
                                                     Size{"qk_nope_head_dim", "qk_nope_head_dim", 0, 1},
                                                     Size{"qk_rope_head_dim", "qk_rope_head_dim", 0, 1},
                                                     Size{"v_head_dim", "v_head_dim", 0, 1},
                                                     Size{"sliding_window_size", "sliding_window", 0, 1},
                                                     Size{"mtp_num_layers", "num_nextn_predict_layers", 0, 1},
                                                     Size{"trainable_position_size", "max_position_embeddings", 0, 1},
                                                     Size{"chunk_attn_window_size", "attention_chunk_size", 0, 1}}) {
        const std::string pointer = std::string("/model/") + key;
        std::optional<int> value = reading.integer(name, pointer);
        if (!value && fallback > 0 && !isNamed) {
            value = fallback;
            reading.byDefault(name, fallback, pointer);
        }
        if (value && *value > 0 && *value < (1 << 20))
            job.model[key] = *value * times;
    }
    if (job.model.contains("kv_lora_rank"))
        job.model.erase("head_dim");
    if (const int every = memberOr<int>(job.model, "moe_layer_freq", 1); // each so many-th, counted from one
        every > 1 && every < (1 << 16) && !job.model.contains("first_k_dense_replace"))
        job.model["first_k_dense_replace"] = every - 1;
    if (const auto experts = reading.integer("num_experts", "/model/num_experts"); experts && *experts > 1)
        job.model["num_experts"] = *experts;
    if (const auto chosen = reading.integer("num_experts_per_tok", "/model/num_experts_per_tok");
        chosen && *chosen > 0 && job.model.contains("num_experts"))
        job.model["num_experts_per_tok"] = *chosen;
    if (job.model.contains("num_experts") && !job.model.contains("moe_intermediate_size") &&
        job.model.contains("intermediate_size"))
        job.model["moe_intermediate_size"] = job.model["intermediate_size"];
    if (const auto score = reading.word("routed_score_func", "/model/scoring_func"); score == "sigmoid" || score == "softmax")
        job.model["scoring_func"] = *score;
    if (const auto factor = reading.real("routed_scaling_factor", "/model/routed_scaling_factor"); factor && *factor > 0)
        job.model["routed_scaling_factor"] = number(*factor);
    const auto groups = reading.integer("n_routing_groups", "/model/n_group"); // -1: none
    const auto chosenGroups = reading.integer("topk_routing_group", "/model/topk_group");
    if (groups && chosenGroups && *groups > 1 && *chosenGroups > 0) {
        job.model["n_group"] = *groups;
        job.model["topk_group"] = *chosenGroups;
    }
    if (const auto isNormed = reading.flag("norm_topk_prob", "/model/norm_topk_prob"))
        job.model["norm_topk_prob"] = *isNormed;
    if (reading.flag("routed_bias", "/model/router_bias").value_or(false))
        job.model["router_bias"] = true;
    if (reading.flag("mlp_bias", "/model/expert_bias").value_or(false))
        job.model[job.model.contains("num_experts") ? "expert_bias" : "bias"] = true;
    if (const auto layers = reading.any("mlp_activations", "/model/hidden_act")) {
        const std::vector<std::string> words = wordsOfList(*layers);
        const std::string first = words.empty() ? "silu" : words.front();
        job.model["hidden_act"] = first == "gelu" ? "gelu" : first == "relu" ? "relu2" : "silu";
        job.model["gated_mlp"] = words.size() > 1;
        if (first == "relu")
            reading.say("mlp_activations", Became::notRepresentable, "relu: imported as relu2, its square");
    }
    const std::optional<std::string> block = reading.word("decoder_block", "/model/normalization");
    if (block == "gpt_oss" && job.model.contains("sliding_window"))
        job.model["sliding_window_pattern"] = 2; // such layers and whole ones take turns
    if (reading.flag("attention_sink", "/model/attention_sinks").value_or(false))
        job.model["attention_sinks"] = true;
    if (block == "gpt3") {
        job.model["normalization"] = "layernorm";
        job.model["position_embedding"] = "learned";
        job.model["bias"] = true;
    }
    if (const auto tied = reading.flag("logits_via_embedding", "/model/tie_word_embeddings"))
        job.model["tie_word_embeddings"] = *tied;
    if (const auto norm = reading.flag("use_qk_norm", "/model/qk_norm"))
        job.model["qk_norm"] = *norm;
    if (const auto bias = reading.flag("attention_bias", "/model/qkv_bias"); bias.value_or(false)) {
        job.model["qkv_bias"] = true;
        if (block && *block != "qwen2") // the one whose attention's output has none
            job.model["attention_output_bias"] = true;
    }
    readMaxTextRopeScaling(job);
    if (const auto theta = reading.real("rope_max_timescale", "/model/rope_theta"); theta && *theta > 1)
        job.model["rope_theta"] = number(*theta);
    if (const auto epsilon = reading.real("normalization_layer_epsilon", "/model/rms_norm_eps");
        epsilon && *epsilon > 0 && *epsilon < 1)
        job.model[job.model.value("normalization", Json()) == Json("layernorm") ? "layer_norm_epsilon" : "rms_norm_eps"] =
            number(*epsilon);
}

} // namespace

namespace {

/// MaxText counts versions in front of sizes (configs/models/deepseek2-16b.yml and others).
std::string nameInCatalogue(const std::string& name)
{
    static constexpr std::array kNames = {
        Alias{"deepseek2-16b", "deepseek-v2-lite"}, Alias{"deepseek2-236b", "deepseek-v2"},
        Alias{"deepseek3-671b*", "deepseek-v3"},    Alias{"deepseek_v2_16B", "deepseek-v2-lite"},
        Alias{"llama3-8b", "llama3.0-8b"},          Alias{"llama3-70b", "llama3.0-70b"}};
    for (const Alias& one : kNames)
        if (matchesPattern(name, one.own))
            return std::string(one.canonical);
    return name;
}

/// A file of settings that a command names in place of base.yml: where it is not given, the model (unless it `isNamed`), the
/// batch and the length are its. True where it says the model.
bool readConfigOfCommand(Job& job, bool isNamed)
{
    Reading& reading = job.reading;
    const auto file = reading.word("@config", "");
    if (!file)
        return false;
    if (std::any_of(job.fileNames.begin(), job.fileNames.end(),
                    [&](const std::string& name) { return name.substr(name.rfind('/') + 1) == *file; })) {
        reading.say("@config", Became::harmless, "is given, too");
        return false;
    }
    reading.say("@config", Became::unknown, "what it sets stands in another file, which is not read: give it, too");
    if (!isNamed) {
        const std::string id = modelByName(job.catalogue, file->substr(0, file->rfind('.')));
        if (!id.empty())
            job.model["base"] = id;
        job.ask("/model", "the model is set by " + *file + (id.empty() ? std::string() : ": by its name it is " + id));
    }
    for (const auto& [setting, pointer] :
         {std::pair{"per_device_batch_size", "/training/micro_batch_size"},
          std::pair{"max_target_length", "/training/sequence_length"}, std::pair{"remat_policy", "/training/recompute"}})
        if (!reading.has(setting))
            job.ask(pointer, std::string(setting) + " may be set by " + *file + ": base.yml's is assumed");
    return !isNamed;
}

/// The format of parameters, in which gradients and moments are too; and the optimizer.
void readMaxTextWeights(Job& job, bool ofPrimus)
{
    Reading& reading = job.reading;
    std::optional<std::string> given = reading.word("weight_dtype", "/training/moment_dtype");
    if (!given && ofPrimus) {
        given = "bfloat16"; // its pre_trainer.yaml
        reading.byDefault("weight_dtype", *given, "/training/moment_dtype");
    }
    if (given) {
        if (precisionWord(*given) == "fp32" || precisionWord(*given).empty()) {
            reading.say("weight_dtype", Became::harmless, "is the default");
        } else {
            job.training["moment_dtype"] = job.training["gradient_dtype"] = "bf16";
            reading.say("weight_dtype", Became::notRepresentable,
                        *given + ": gradients and moments are in 16 bits, which is imported, and there is no copy of the "
                                 "parameters in fp32, which the scenario counts (4 bytes a parameter)",
                        "/training/moment_dtype");
        }
    }
    if (const auto rule = reading.word("opt_type", "/training/optimizer"))
        putOptimizer(job, "opt_type", *rule == "adam_pax" ? "adamw" : *rule);
}

} // namespace

void readMaxText(Job& job)
{
    Reading& reading = job.reading;
    const bool ofPrimus = openPrimus(reading);
    bool isNamed = false;
    if (const auto name = reading.word("model_name", "/model/base"); name && *name != "default") {
        putModelByName(job, "model_name", nameInCatalogue(*name));
        isNamed = true;
    } else if (const std::optional<std::string> file = modelOfPrimus(reading)) {
        putModelByName(job, "@primus.model", nameInCatalogue(*file));
        isNamed = true;
    }
    isNamed = readConfigOfCommand(job, isNamed) || isNamed;
    const auto axis = [&](const char* name, std::string_view pointer, int inside = 1, int between = 1) {
        long long size = 1;
        int open = 0;
        for (const auto& [tier, fallback] : {std::pair{"ici_", inside}, std::pair{"dcn_", between}}) {
            const int part = reading.integer(tier + std::string(name) + "_parallelism", pointer).value_or(fallback);
            open += part < 0 ? 1 : 0;
            size *= std::max(1, std::min(part, 1 << 16));
        }
        return std::pair(static_cast<int>(std::min<long long>(size, 1 << 22)), open);
    };
    const auto [tensor, tensorOpen] = axis("tensor", "/layout/tp");
    const auto [sequence, sequenceOpen] = axis("tensor_sequence", "/layout/tp");
    const auto [context, contextOpen] = axis("context", "/layout/cp");
    const auto [pipeline, pipelineOpen] = axis("pipeline", "/layout/pp");
    const auto [expert, expertOpen] = axis("expert", "/layout/ep");
    // What is not given takes the rest: of a slice its shards, of slices their replicas.
    const auto [data, dataOpen] = axis("data", "/layout/dp", 1, -1);
    const auto [fsdp, fsdpOpen] = axis("fsdp", "/layout/dp_shard", -1, 1);
    const auto [transpose, transposeOpen] = axis("fsdp_transpose", "/layout/dp_shard");
    job.tp = std::clamp(tensor, 1, 1 << 16) * (tensor < (1 << 14) ? std::min(sequence, 1 << 8) : 1);
    const auto [lengths, lengthsOpen] = axis("sequence", "/layout/cp"); // of 2024, when there was no axis of this name beside it
    job.cp = context * std::min(lengths, 1 << 8);
    job.pp = pipeline;
    // Experts are an axis of the same product: their ranks share a batch as data-parallel ones do.
    const long long given =
        std::min<long long>(1LL * data * fsdp, 1 << 22) * std::min<long long>(1LL * transpose * expert, 1 << 10);
    const bool isOpen = dataOpen + fsdpOpen + transposeOpen > 0;
    if (!isOpen || !job.askedGpus) {
        if (isOpen)
            job.ask("/layout/dp", "an axis of -1 takes the rest of the devices, which the file does not count: give --gpus N");
        job.givenDp = static_cast<int>(std::min<long long>(given, 1 << 24));
        job.gpusFrom = "ici_fsdp_parallelism";
    }
    settleWorld(job);
    const bool isSharded = fsdp > 1 || fsdpOpen > 0 || transpose > 1;
    job.layout["zero_stage"] = isSharded ? 3 : 0;
    const bool isRestSharded = fsdpOpen + transposeOpen > 0;
    const int replicas = isRestSharded || !isOpen ? data : std::max(1, job.dp / std::max(1, fsdp * transpose * expert));
    if (isSharded && replicas > 1 && job.dp % replicas == 0)
        job.layout["dp_shard"] = job.dp / replicas * job.cp;
    job.layout["ep"] = std::max(1, expert);
    job.layout["sequence_parallel"] = sequence > 1;
    if (const auto length = reading.integer("max_target_length", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    else {
        job.training["sequence_length"] = 2048;
        reading.byDefault("max_target_length", 2048, "/training/sequence_length");
    }
    double perDevice = 12;
    if (const auto batch = reading.real("per_device_batch_size", "/training/micro_batch_size");
        batch && *batch > 0 && *batch < 1e6)
        perDevice = *batch;
    else
        reading.byDefault("per_device_batch_size", 12, "/training/micro_batch_size");
    const int accumulation =
        std::clamp(reading.integer("gradient_accumulation_steps", "/training/global_batch_size").value_or(1), 1, 1 << 16);
    const double global = std::min(std::round(perDevice * static_cast<double>(job.gpus.value_or(1)) * accumulation), 1e9);
    job.globalBatch = std::max(1, static_cast<int>(global));
    int parts = accumulation;
    if (job.pp > 1) {
        const int microbatches = reading.integer("num_pipeline_microbatches", "/training/micro_batch_size").value_or(-1);
        const bool isDelayed = reading.flag("pipeline_delay_activation_forwarding", "/training/micro_batch_size").value_or(false);
        parts = std::clamp(microbatches > 0 ? microbatches : job.pp * (isDelayed ? 2 : 1), 1, 1 << 20);
        const int repeats = std::clamp(reading.integer("num_pipeline_repeats", "/schedule/virtual_stages").value_or(1), 1, 10000);
        job.schedule["kind"] = repeats > 1 ? "looped-bfs" : "gpipe";
        job.schedule["virtual_stages"] = repeats;
    }
    job.microBatch = static_cast<int>(std::max<long long>(1, *job.globalBatch / (1LL * job.dp * parts)));
    settleBatch(job);
    const std::string dtype = precisionWord(reading.wordOr("dtype", "/training/precision", "bfloat16"));
    job.training["precision"] = dtype.empty() ? "bf16" : dtype;
    if (const auto quantized = reading.word("quantization", "/training/precision");
        quantized && quantized->find("fp8") != std::string::npos)
        job.training["precision"] = "fp8";
    else if (quantized && !quantized->empty())
        reading.say("quantization", Became::notRepresentable,
                    quotedText(*quantized) + ": products in this format have no key, " + (dtype.empty() ? "bf16" : dtype) +
                        " is imported");
    readMaxTextWeights(job, ofPrimus);
    const std::string remat = reading.wordOr("remat_policy", "/training/recompute", "full");
    job.training["recompute"] = remat == "full" ? "full" : remat == "none" ? "none" : "selective";
    if (remat != "full" && remat != "none" && remat != "minimal")
        reading.say("remat_policy", Became::notRepresentable, "which tensors are kept has no key: selective is nearest");
    const std::string attention = reading.wordOr("attention", "/training/flash_attention", "autoselected");
    job.training["flash_attention"] = attention != "dot_product";
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/param_gather", true);
    job.put("/training/overlap/p2p", true);
    reading.byDefault("XLA's scheduler", true, "/training/overlap/grad_reduce", "transfers are hidden where the compiler can");
    putSoftware(job, stacks::kXla, "XLA compiles the whole step");
    readMaxTextModel(job, isNamed);
    if (tensorOpen + sequenceOpen + contextOpen + lengthsOpen + pipelineOpen + expertOpen > 0)
        reading.addNote("-1", Became::unknown, "an axis other than data or fsdp takes the rest of the devices: 1 is imported");
    if (const Json* const kind = reading.peek("dataset_type"); kind != nullptr && *kind == Json("synthetic"))
        reading.say("packing", Became::harmless, // input_pipeline/synthetic_data_processing.py: a segment is a sequence
                    "synthetic data is one document a sequence");
    else if (!reading.has("packing"))
        reading.byDefault("packing", true, "/training/documents",
                          "is not given: base.yml's, documents are packed into sequences; imported as whole sequences");
    static constexpr std::array kMaxTextNot = {
        Alias{"ici_autoregressive_parallelism", "has no key"}, Alias{"capacity_factor", "tokens that are dropped have no key"},
        Alias{"packing", kPackedDocuments}, Alias{"optimizer_memory_host_offload", "see training.offload.optimizer"},
        Alias{"context_parallel_strategy", "how context-parallel ranks talk has no key"}};
    reading.notRepresentable(kMaxTextNot);
    static constexpr std::array<std::string_view, 37> kMaxTextHarmless = {"base_output_directory",
                                                                          "run_name",
                                                                          "hardware",
                                                                          "scan_layers",
                                                                          "steps",
                                                                          "dataset*",
                                                                          "enable_*",
                                                                          "learning_rate*",
                                                                          "tokenizer*",
                                                                          "log*",
                                                                          "profiler*",
                                                                          "base_config",
                                                                          "checkpoint*",
                                                                          "async*",
                                                                          "hf_*",
                                                                          "grain*",
                                                                          "use_iota*",
                                                                          "sa_*",
                                                                          "adam*",
                                                                          "gcs*",
                                                                          "reuse*",
                                                                          "skip*",
                                                                          "upload*",
                                                                          "compile*",
                                                                          "dump*",
                                                                          "xla*",
                                                                          "jax*",
                                                                          "load*",
                                                                          "allow_split*",
                                                                          "decoder_block",
                                                                          "mlp_activations",
                                                                          "logits*",
                                                                          "normalize*",
                                                                          "rope_*",
                                                                          "metrics*",
                                                                          "monitor*",
                                                                          "max_prefill*"};
    reading.harmless(kMaxTextHarmless);
    reading.harmless(std::array<std::string_view, 14>{"inhomogeneous_layer_cycle_interval", "mlp_activations_limit",
                                                      "max_segments_per_seq", "megablox", "sparse_matmul", "num_vocab_tiling",
                                                      "fused_*", "sharding_strategy", "replicate_*", "trainable_position_size",
                                                      "use_*", "dropout_rate", "attention_type", "quantize_kvcache"});
}

} // namespace sim::frameworks
