// GPT-NeoX's files (EleutherAI/gpt-neox at ea7aefd8, megatron/neox_arguments): Megatron's settings and DeepSpeed's side by side
// in one table, some under names of its own. As Megatron-DeepSpeed's.
#include "sim/frameworks/dialects/deepspeed.h"
#include "sim/frameworks/stacks.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace sim::frameworks {
namespace {

constexpr std::array kNeoxNames = {
    Alias{"pipe_parallel_size", "pipeline_model_parallel_size"},
    Alias{"model_parallel_size", "tensor_model_parallel_size"},
    Alias{"train_micro_batch_size_per_gpu", "micro_batch_size"},
    Alias{"train_batch_size", "global_batch_size"},
    Alias{"gradient_accumulation_steps", "gas"},
    Alias{"pos_emb", "position_embedding_type"},
    Alias{"norm", "normalization"},
    Alias{"no_weight_tying", "untie_embeddings_and_output_weights"},
    Alias{"rotary_emb_base", "rotary_base"},
    Alias{"rotary_pct", "rotary_percent"},
    Alias{"num_kv_heads", "num_query_groups"},
    Alias{"intermediate_size", "ffn_hidden_size"},
    Alias{"use_qk_layernorm", "qk_layernorm"},
    Alias{"moe_num_experts", "num_experts"},
    Alias{"moe_top_k", "topk"},
    Alias{"precision", "@precision"},
    Alias{"pipe_partition_method", "pp_partition_method"},
};

/// Of DeepSpeed's own tables.
bool isOfDeepSpeed(const std::string& name)
{
    static constexpr std::array<std::string_view, 12> kTables = {
        "zero_optimization.", "fp16.",         "bf16.",       "bfloat16.",    "optimizer.", "scheduler.",
        "flops_profiler.",    "comms_logger.", "autotuning.", "tensorboard.", "wandb.",     "csv_monitor."};
    return std::any_of(kTables.begin(), kTables.end(), [&name](std::string_view table) { return name.starts_with(table); });
}

/// ParallelMLP (megatron/model/transformer.py): of a gated activation two matrices of a third of the width that is given, each
/// rounded up, so that an MLP has as many parameters as one without a gate. Experts are other code.
void putGatedWidth(Job& job)
{
    Reading& reading = job.reading;
    static constexpr std::array<std::string_view, 5> kGated = {"geglu", "reglu", "bilinear", "swiglu", "glu"}; // activations.py
    const Json* const activation = reading.peek("activation");
    const long long steps = std::clamp(reading.integer("mlp_multiple_of", "/model/intermediate_size").value_or(1), 1, 1 << 20);
    if (activation == nullptr || std::find(kGated.begin(), kGated.end(), shownValue(*activation)) == kGated.end()) {
        if (reading.has("mlp_multiple_of"))
            reading.say("mlp_multiple_of", Became::harmless, "the activation is not gated");
        return;
    }
    job.model["gated_mlp"] = true;
    const long long given = memberOr<int>(job.model, "intermediate_size", 0);
    if (given < 1)
        return;
    const long long third = given * 2 / 3 / 2;
    job.model["intermediate_size"] = std::min<long long>((third + steps - 1) / steps * steps, 1 << 30);
    const std::string text = "of an activation with a gate each matrix has a third of the width, rounded up to a multiple of " +
                             std::to_string(steps) + ": " + job.model["intermediate_size"].dump();
    if (reading.takeDefaults("/model/intermediate_size"))
        reading.byDefault("intermediate_size", job.model["intermediate_size"], "/model/intermediate_size",
                          "is not given: 4 h, and " + text);
    else
        reading.say("ffn_hidden_size", Became::used, text);
}

/// Layers that are no attention: "mamba", "rwkv", "gmlp" of attention_config.
bool isAttention(std::string_view kind)
{
    return kind.find("mamba") == std::string_view::npos && kind.find("rwkv") == std::string_view::npos &&
           kind.find("mlp") == std::string_view::npos;
}

/// Of such layers the number of heads is not looked at there; here it has to divide the width.
void putHeadsOfOtherLayers(Job& job)
{
    const int heads = memberOr<int>(job.model, "num_attention_heads", 0), hidden = memberOr<int>(job.model, "hidden_size", 0);
    constexpr int kUsualWidth = 64;
    if (heads < 1 || hidden < 1 || hidden % heads == 0)
        return;
    job.model["num_attention_heads"] = job.model["num_key_value_heads"] =
        hidden % kUsualWidth == 0 ? hidden / kUsualWidth : std::gcd(hidden, heads);
    job.reading.say("num_attention_heads", Became::notRepresentable,
                    "is not looked at by such layers: " + job.model["num_attention_heads"].dump() +
                        " heads, which divide the width, stand in its place",
                    "/model/num_attention_heads");
}

} // namespace

bool isNeox(const Reading& reading)
{
    for (const char* name : {"pipe_parallel_size", "pipe-parallel-size"}) // a flag of that name is old Megatron-DeepSpeed's
        if (reading.has(name) && !reading.spelled(name).starts_with("--"))
            return true;
    return false;
}

void useNeoxNames(Reading& reading)
{
    reading.rename([](const std::string& name) {
        std::string own = name;
        std::replace(own.begin(), own.end(), '-', '_');
        if (own.starts_with("attention_config"))
            return std::string(own.ends_with("[0][0]") ? "@attention" : "@more." + own);
        return isOfDeepSpeed(own) ? "ds_config." + own : own;
    });
    reading.apply(kNeoxNames);
    if (const Json* const kind = reading.peek("@attention"); kind != nullptr && isAttention(shownValue(*kind)))
        reading.say("@attention", Became::used,
                    shownValue(*kind).find("flash") != std::string::npos ? "attention is fused" : "attention is not fused",
                    "/training/flash_attention");
    else if (kind != nullptr)
        reading.say("@attention", Became::notRepresentable,
                    "layers without attention have no key: as many layers of a transformer stand for them",
                    "/model/num_hidden_layers");
    reading.harmless(std::array<std::string_view, 1>{"@more.*"});
}

void putNeoxDefaults(Job& job)
{
    Reading& reading = job.reading;
    for (const char* key : {"hidden_dropout", "attention_dropout"}) // 0 unless given, not Megatron's 0.1
        if (!reading.has(key)) {
            const std::string pointer = std::string("/model/") + key;
            reading.takeDefaults(pointer);
            reading.byDefault(key, 0, pointer);
            job.model[key] = 0;
        }
    putGatedWidth(job);
    if (const Json* const kind = reading.peek("@attention"); kind != nullptr && !isAttention(shownValue(*kind))) {
        putHeadsOfOtherLayers(job);
    } else if (kind != nullptr) {
        reading.takeDefaults("/training/flash_attention");
        job.training["flash_attention"] = shownValue(*kind).find("flash") != std::string::npos;
    }
    const bool inMlp = reading.flag("use_bias_in_mlp", "/model/bias").value_or(true);
    const bool inAttention = reading.flag("use_bias_in_attn_linear", "/model/qkv_bias").value_or(true);
    if (reading.has("use_bias_in_mlp") || reading.has("use_bias_in_attn_linear")) {
        job.model["bias"] = inMlp;
        if (!inMlp && inAttention)
            job.model["qkv_bias"] = true;
    }
    if (const auto width = reading.size("sliding_window_width", "/model/sliding_window"); width && *width < (1 << 30)) {
        job.model["sliding_window"] = *width + 1; // besides the token's own place
        reading.say("sliding_window_width", Became::used, "as many tokens before each, and itself", "/model/sliding_window");
    }
    putSoftware(job, stacks::kNeox, "layers cut as Megatron does, with a loss that keeps less");
    Json software = job.training["stack"].is_object() ? job.training["stack"] : Json{{"base", stacks::kNeox}};
    software["gathers_logits"] = false;
    software["loss"] = {{"saved", 2}};
    job.training["stack"] = std::move(software);
    static constexpr std::array kNot = {Alias{"gpt_j_residual", "attention and MLP side by side have no key"},
                                        Alias{"rwkv_*", "layers without attention have no key"},
                                        Alias{"mamba_*", "state-space layers have no key"},
                                        Alias{"output_layer_parallelism", "an output layer cut over its inputs has no key"},
                                        Alias{"te_fp8_format", "precision layer by layer has no key"},
                                        Alias{"sparsity_config*", "attention that is sparse has no key"},
                                        Alias{"gmlp_attn_dim", "attention of its own width beside gates has no key"},
                                        Alias{"moe_*", "how tokens reach their experts: see training.moe"}};
    if (const auto cut = reading.word("output_layer_parallelism", ""); cut == "column")
        reading.say("output_layer_parallelism", Became::harmless, "as it is here");
    reading.notRepresentable(kNot);
    reading.harmless(std::array<std::string_view, 26>{"te_*",
                                                      "warmup_iters",
                                                      "deepspeed_slurm",
                                                      "comment",
                                                      "attention_type",
                                                      "include",
                                                      "extra_save_iters",
                                                      "checkpoint_*",
                                                      "steps_per_print",
                                                      "wall_clock_*",
                                                      "gradient_clipping",
                                                      "no_ssh_check",
                                                      "launcher",
                                                      "user_script",
                                                      "tokenizer_*",
                                                      "*_fusion",
                                                      "lr_*",
                                                      "keep_last_*",
                                                      "label_*",
                                                      "use_bias_in_norms",
                                                      "rms_norm_*",
                                                      "make_vocab_*",
                                                      "weight_*",
                                                      "text_gen_*",
                                                      "sample_*",
                                                      "use_wandb"});
}

} // namespace sim::frameworks
