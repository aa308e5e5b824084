// GPT-NeoX's files (EleutherAI/gpt-neox at ea7aefd8, megatron/neox_arguments): Megatron's settings and DeepSpeed's side by side
// in one table, some under names of its own. As Megatron-DeepSpeed's.
#include "sim/frameworks/dialects/deepspeed.h"

#include <algorithm>
#include <array>

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
    if (const Json* const kind = reading.peek("@attention"); kind != nullptr)
        reading.say("@attention", Became::used,
                    shownValue(*kind).find("flash") != std::string::npos ? "attention is fused" : "attention is not fused",
                    "/training/flash_attention");
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
    if (const Json* const kind = reading.peek("@attention")) {
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
    static constexpr std::array kNot = {Alias{"gpt_j_residual", "attention and MLP side by side have no key"},
                                        Alias{"rwkv_*", "layers without attention have no key"},
                                        Alias{"mamba_*", "state-space layers have no key"},
                                        Alias{"output_layer_parallelism", "an output layer cut over its inputs has no key"},
                                        Alias{"te_fp8_format", "precision layer by layer has no key"},
                                        Alias{"sparsity_config*", "attention that is sparse has no key"},
                                        Alias{"moe_*", "how tokens reach their experts: see training.moe"}};
    if (const auto cut = reading.word("output_layer_parallelism", ""); cut == "column")
        reading.say("output_layer_parallelism", Became::harmless, "as it is here");
    reading.notRepresentable(kNot);
    reading.harmless(std::array<std::string_view, 23>{"te_*",
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
                                                      "mlp_multiple_of",
                                                      "make_vocab_*",
                                                      "weight_*",
                                                      "text_gen_*",
                                                      "sample_*",
                                                      "use_wandb"});
}

} // namespace sim::frameworks
