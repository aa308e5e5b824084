// NeMo 1's YAML (NVIDIA/NeMo-Framework-Launcher at 26e42fa) and Megatron's own --yaml-cfg (megatron/training/yaml_arguments.py):
// other names for Megatron Core's settings.
#include "sim/frameworks/dialects/megatron_experts.h"
#include "sim/frameworks/dialects/primus.h"
#include "sim/frameworks/dialects/recipe_names.h"
#include "sim/frameworks/job.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

Json zeroOfNemo(const Json& name)
{
    return name == Json("mcore_distributed_optim") || name == Json("distributed_fused_adam");
}

Json isHalf(const Json& dtype)
{
    return dtype.is_null() ? Json(nullptr)
                           : Json(dtype != Json("fp32") && dtype != Json("float32") && dtype != Json("torch.float32"));
}

constexpr std::array kNemoAliases = {
    Alias{"fp8", "@fp8"}, // a switch here: the two others say which form of it
    Alias{"fp8_e4m3", "@fp8_e4m3"},
    Alias{"fp8_hybrid", "@fp8_hybrid"},
    Alias{"optim.grad_sync_dtype", "grad_reduce_in_bf16", isHalf},
    Alias{"optim.num_distributed_optimizer_instances", "num_distributed_optimizer_instances"},
    Alias{"trainer.num_nodes", "@nodes"},
    Alias{"trainer.devices", "@gpus_per_node"},
    Alias{"trainer.precision", "@precision"},
    Alias{"optim.overlap_grad_sync", "overlap_grad_reduce"},
    Alias{"optim.overlap_param_sync", "overlap_param_gather"},
    Alias{"optim.name", "use_distributed_optimizer", zeroOfNemo},
    Alias{"share_decoder_tokens_head_embeddings", "untie_embeddings_and_output_weights", negated}, // T5
    Alias{"data.train_ds.micro_batch_size", "micro_batch_size"},                                   // of fine-tuning
    Alias{"data.train_ds.global_batch_size", "global_batch_size"},
    Alias{"data.train_ds.max_seq_length", "seq_length"},
    Alias{"fsdp", "use_torch_fsdp2"},
    Alias{"fsdp_sharding_strategy", "fsdp_strategy_word"},
};

/// T5's two halves, each with sizes of its own: the layers of both, and all else as the decoder has it.
void useNamesOfHalves(Reading& reading)
{
    reading.rename([](const std::string& name) {
        if (name == "max_length") // beside the blocks: a data set's
            return std::string("@max_length");
        if (name == "model.encoder.num_layers" || name == "model.decoder.num_layers")
            return "model." + name.substr(6, 7) + "_num_layers";
        if (name.starts_with("model.decoder."))
            return "model." + name.substr(14);
        return name.starts_with("model.encoder.") ? "@encoder." + name.substr(14) : name;
    });
}

void tellEncoder(Reading& reading)
{
    // As they are called behind useMegatronNames
    static constexpr std::array kSizes = {Alias{"hidden_size", "hidden_size"},
                                          Alias{"ffn_hidden_size", "ffn_hidden_size"},
                                          Alias{"num_attention_heads", "num_attention_heads"},
                                          Alias{"kv_channels", "kv_channels"},
                                          Alias{"activation", "activation"},
                                          Alias{"normalization", "normalization"},
                                          Alias{"position_embedding_type", "position_embedding_type"},
                                          Alias{"hidden_dropout", "hidden_dropout"},
                                          Alias{"attention_dropout", "attention_dropout"},
                                          Alias{"activations_checkpoint_granularity", "recompute_granularity"},
                                          Alias{"activations_checkpoint_method", "recompute_method"},
                                          Alias{"activations_checkpoint_num_layers", "recompute_num_layers"}};
    for (const Alias& size : kSizes) {
        const std::string name = "@encoder." + std::string(size.own);
        const Json *const own = reading.peek(name), *const other = reading.peek(size.canonical);
        if (own != nullptr && (other == nullptr || *own != *other))
            reading.say(name, Became::notRepresentable,
                        "an encoder unlike the decoder has no key: its layers are imported as the decoder's, where it is " +
                            (other == nullptr ? std::string("not given") : shownValue(*other)));
    }
    reading.harmless(std::array<std::string_view, 1>{"@encoder.*"});
}

/// NeMo 1's fine-tuning: peft_scheme, and sizes of each scheme beside it.
void readPeftOfNemo(Job& job)
{
    Reading& reading = job.reading;
    if (const auto scheme = reading.word("peft.peft_scheme", "/training/lora"); scheme && *scheme == "lora") {
        job.training["lora"] = {{"rank", reading.sizeOr("peft.lora_tuning.adapter_dim", "/training/lora/rank", 32)}};
        if (const auto dropout = reading.real("peft.lora_tuning.adapter_dropout", "/training/lora/dropout");
            dropout && *dropout > 0 && *dropout < 1)
            job.training["lora"]["dropout"] = *dropout;
        readMegatronTargets(job, "peft.lora_tuning.target_modules", "attention_qkv");
    } else if (scheme && *scheme != "none" && *scheme != "null")
        reading.say("peft.peft_scheme", Became::notRepresentable, "adapters of this kind have no key; see training.lora");
    else if (scheme)
        reading.say("peft.peft_scheme", Became::harmless, "nothing is adapted");
    if (reading.has("peft.peft_scheme"))
        reading.harmless(std::array<std::string_view, 1>{"peft.*"});
}

} // namespace

void readNemo(Job& job)
{
    Reading& reading = job.reading;
    useNamesOfHalves(reading);
    dropBlocks(reading);
    reading.apply(kNemoAliases);
    useMegatronNames(reading);
    reading.setSpelling(spelledInModel);
    if (reading.flag("mcore_gpt", "").has_value())
        reading.say("mcore_gpt", Became::harmless, "");
    MegatronRules rules{.groupsNeedFlag = false, .offloadNeedsSwitch = true, .p2pIsOff = true};
    if (reading.peek("num_layers") == nullptr && reading.peek("hidden_size") == nullptr)
        if (const auto name = reading.word("name_or_path", "/model/base"); name && !name->empty()) {
            putModelByName(job, "name_or_path", *name);
            rules.modelIsNamed = true;
        }
    readMegatronArguments(job, rules);
    tellEncoder(reading);
    readPeftOfNemo(job);
    const bool isFp8 = job.training["precision"] == Json("fp8");
    for (const char* form : {"@fp8_e4m3", "@fp8_hybrid"})
        if (reading.has(form))
            reading.say(form, Became::harmless, isFp8 ? "which form of 8 bits" : "counts only beside fp8: true");
    if (const Json* const sequence = reading.peek("sequence_parallel");
        job.training["overlap"]["tp_comm"] == Json(true) && (sequence == nullptr || *sequence != Json(true))) {
        job.training["overlap"]["tp_comm"] = false;
        reading.say("tp_comm_overlap", Became::used, "without sequence parallelism NeMo switches it off: false is imported");
    }
    if (const auto strategy = reading.word("fsdp_strategy_word", "/layout/zero_stage");
        strategy && job.layout["zero_stage"] == Json(3)) {
        if (*strategy == "grad")
            job.layout["zero_stage"] = 2;
        else if (*strategy != "full")
            reading.say("fsdp_strategy_word", Became::notRepresentable, "which ranks share parameters: see layout.dp_shard");
    }
    if (const auto block = reading.word("transformer_block_type", ""); block && *block != "pre_ln")
        reading.say("transformer_block_type", Became::notRepresentable, "the order of normalisation has no key");
    else if (block)
        reading.say("transformer_block_type", Became::harmless, "");
    tellPackedSequence(reading);
    static constexpr std::array kNemoNot = {
        Alias{"mcore_customization_config.parallel_attention", "attention and MLP side by side have no key"},
        Alias{"mcore_customization_config.new_decoder_architecture", "attention and MLP side by side have no key"},
        Alias{"*parallel_attention", "attention and MLP side by side have no key"},
        Alias{"drop_layers", "layers that are left out have no key"}, Alias{"peft.*", "see training.lora"}};
    reading.notRepresentable(kNemoNot);
    reading.harmless(std::array<std::string_view, 29>{"relative_position_*",
                                                      "pretrained_checkpoint.*",
                                                      "dataset.*",
                                                      "run_dir",
                                                      "max_steps",
                                                      "global_train_batch_size",
                                                      "attention_dropout",
                                                      "ENV_VARS.*",
                                                      "@max_length",
                                                      "mcore_t5",
                                                      "share_token_embeddings",
                                                      "arch",
                                                      "hydra.*",
                                                      "env_vars.*",
                                                      "s3_checkpointing.*",
                                                      "precision",
                                                      "mcore_customization_config.*",
                                                      "attention_type",
                                                      "ffn_dropout",
                                                      "validation_*",
                                                      "*megatron_timer*",
                                                      "enable_megatron_timers",
                                                      "deteministic_mode",
                                                      "restore_*",
                                                      "rotary_*",
                                                      "embedding_*",
                                                      "seq_len_*",
                                                      "tp_overlap*",
                                                      "nccl_*"});
    reading.harmless(std::array<std::string_view, 36>{"trainer.*",
                                                      "exp_manager.*",
                                                      "run.*",
                                                      "optim.*",
                                                      "data.*",
                                                      "tokenizer.*",
                                                      "name",
                                                      "restore_from_path",
                                                      "defaults*",
                                                      "megatron_amp_O2",
                                                      "nsys_profile.*",
                                                      "grad_allreduce_chunk_size_mb",
                                                      "grad_div_ar_fusion",
                                                      "gradient_as_bucket_view",
                                                      "gradient_accumulation_fusion",
                                                      "normalize_attention_scores",
                                                      "transformer_engine",
                                                      "use_cpu_initialization",
                                                      "onnx_safe",
                                                      "num_micro_batches_with_partial*",
                                                      "activations_checkpoint_layers_per_pipeline",
                                                      "hidden_dropout",
                                                      "persist_layer_norm",
                                                      "openai_gelu",
                                                      "use_emha",
                                                      "ub_tp_*",
                                                      "sharp",
                                                      "pre_process",
                                                      "post_process",
                                                      "bert_*",
                                                      "masked_softmax_fusion",
                                                      "get_attention_mask*",
                                                      "native_amp*",
                                                      "apply_*",
                                                      "reduce_amax",
                                                      "use_flash_attention"});
}

void readMegatronYaml(Job& job)
{
    Reading& reading = job.reading;
    // Sections are for the reader's eye: "system.precision.bf16" of FlagScale and Primus' "overrides.bf16" are Megatron's bf16.
    reading.rename([](const std::string& name) {
        const std::size_t adapters = name.find(".lora.");
        return adapters == std::string::npos ? name.substr(name.rfind('.') + 1) : "@" + name.substr(adapters + 1);
    });
    useMegatronNames(reading);
    reading.setSpelling([](std::string_view name) { return std::string(name); });
    const bool isConfig = reading.has("activation_func"); // --yaml-cfg, where it alone says what the MLP does
    if (isConfig) {
        reading.apply(std::array{Alias{"activation_func", "activation"}, Alias{"gated_linear_unit", "@gated"}});
        if (reading.has("@gated"))
            reading.say("@gated", Became::harmless, "activation_func says it");
    }
    readMegatronArguments(job, isConfig ? MegatronRules{.groupsNeedFlag = false, .narrowsSwiglu = true}
                                        : rulesOfPrimus(reading, rulesOfNamedModel(job, {})));
    tellRefusedMegatronArguments(job);
    readPrimusOverMegatron(job);
    reading.harmless(std::array<std::string_view, 6>{"work_group", "user_name", "workspace", "framework", "config", // Primus
                                                     "*_sink_level"});
}

} // namespace sim::frameworks
