// LLaMA-Factory's YAML (hiyouga/LLaMA-Factory at ff6d4d1: src/llamafactory/hparams, on transformers' TrainingArguments), with the
// DeepSpeed or Accelerate file that it is started with, and its keys of Megatron Core (mcore_adapter).
#include "sim/frameworks/dialects/llamafactory_v1.h"
#include "sim/frameworks/dialects/megatron_experts.h"
#include "sim/frameworks/dialects/objectives.h"
#include "sim/frameworks/dialects/training_arguments.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr int kDefaultLength = 2048, kDefaultRank = 8;

void readAxes(Job& job)
{
    Reading& reading = job.reading;
    job.tp = reading.sizeOr("tensor_model_parallel_size", "/layout/tp", 1);
    job.pp = reading.sizeOr("pipeline_model_parallel_size", "/layout/pp", 1);
    job.cp = reading.sizeOr("context_parallel_size", "/layout/cp", 1);
    if (const std::optional<int> chunks = reading.size("virtual_pipeline_model_parallel_size", "/schedule/virtual_stages");
        chunks && *chunks > 1 && job.pp > 1) {
        job.schedule["kind"] = "interleaved-1f1b";
        job.schedule["virtual_stages"] = *chunks;
    }
    const std::optional<int> ep = reading.size("expert_model_parallel_size", "/layout/ep");
    job.expertRanks = std::clamp(ep.value_or(1), 1, 1 << 10);
    if (const std::optional<int> processes = reading.integer("accelerate.num_processes", "/cluster");
        processes && *processes > 0) {
        job.gpus = processes;
        job.gpusFrom = "accelerate.num_processes";
    }
    if (const std::optional<int> machines = reading.integer("accelerate.num_machines", "/cluster/nodes");
        machines && *machines > 0 && job.gpus && *job.gpus % *machines == 0)
        job.gpusPerNode = *job.gpus / *machines;
    settleWorld(job);
    if (ep && *ep > 1)
        job.layout["ep"] = *ep;
    readDispatcher(job, BackendAlone::no);
    const bool isCut = reading.flag("sequence_parallel", "/layout/sequence_parallel").value_or(false);
    job.layout["sequence_parallel"] = isCut && job.tp > 1;
}

/// Settings of what runs other software than Transformers' own: Megatron-Core, Unsloth, KTransformers.
constexpr std::array<std::string_view, 9> kOfOtherSoftware = {"use_mca",
                                                              "use_unsloth",
                                                              "use_kt",
                                                              "use_distributed_optimizer",
                                                              "recompute_granularity",
                                                              "tensor_model_parallel_size",
                                                              "pipeline_model_parallel_size",
                                                              "context_parallel_size",
                                                              "expert_model_parallel_size"};

/// DeepSpeed's file, FSDP by transformers' own words or Accelerate's, Megatron's optimizer, or plain replicas. After the
/// precision.
void readSharding(Job& job)
{
    Reading& reading = job.reading;
    std::optional<Sharding> sharding = readTrainersSharding(job);
    if (!sharding && reading.flag("use_distributed_optimizer", "/layout/zero_stage").value_or(false))
        sharding = Sharding{.fsdp = {.stage = 1}};
    if (!sharding) { // torchrun, as llamafactory-cli starts it
        reading.byDefault("deepspeed", nullptr, "/layout/zero_stage",
                          "neither deepspeed nor fsdp is given: every replica is whole");
        sharding = Sharding();
    }
    putSharding(job, *sharding, {});
    if (std::none_of(kOfOtherSoftware.begin(), kOfOtherSoftware.end(), [&reading](std::string_view name) {
            const Json* const given = reading.peek(name);
            return given != nullptr && *given != Json(false) && *given != Json(1);
        }))
        putStackOfTransformers(job, "model_name_or_path", sharding->deepSpeed && sharding->fsdp.stage == 3);
    for (const auto& [name, key] :
         {std::pair{"overlap_grad_reduce", "grad_reduce"}, std::pair{"overlap_param_gather", "param_gather"}})
        if (const auto given = reading.flag(name, std::string("/training/overlap/") + key))
            job.training["overlap"][key] = *given;
}

void readBatch(Job& job)
{
    Reading& reading = job.reading;
    readTrainersBatch(job, {});
    job.training["sequence_length"] = reading.sizeOr("cutoff_len", "/training/sequence_length", kDefaultLength);
}

void readPrecision(Job& job)
{
    Reading& reading = job.reading;
    std::string precision = "fp32";
    bool isGiven = false;
    for (const auto& [name, word] :
         {std::pair{"fp16", "fp16"}, std::pair{"bf16", "bf16"}, std::pair{"pure_bf16", "bf16"}, std::pair{"fp8", "fp8"}})
        if (const auto value = reading.flag(name, "/training/precision")) {
            isGiven = true;
            precision = *value ? word : precision;
        }
    if (!isGiven)
        reading.byDefault("bf16", false, "/training/precision", "is not given, nor fp16: fp32");
    if (reading.flag("pure_bf16", "/training/master_weights").value_or(false)) {
        job.training["master_weights"] = false;
    }
    job.training["precision"] = precision;
}

void readRecompute(Job& job)
{
    Reading& reading = job.reading;
    const bool isOff = reading.flagOr("disable_gradient_checkpointing", "/training/recompute", false);
    std::string recompute = isOff ? "none" : "full";
    if (const auto given = reading.flag("gradient_checkpointing", "/training/recompute"))
        recompute = *given ? "full" : recompute;
    if (const auto granularity = reading.word("recompute_granularity", "/training/recompute"))
        recompute = *granularity == "selective" ? "selective" : *granularity == "full" ? "full" : "none";
    job.training["recompute"] = recompute;
}

/// What of the model is trained.
void readFinetuning(Job& job)
{
    Reading& reading = job.reading;
    const std::string type = reading.wordOr("finetuning_type", "/training/lora", "lora");
    if (type == "lora") {
        const int rank = reading.sizeOr("lora_rank", "/training/lora/rank", kDefaultRank);
        job.training["lora"] = {{"rank", rank}};
        const auto given = reading.any("lora_target", "/training/lora/targets");
        if (!given)
            reading.byDefault("lora_target", "all", "/training/lora/targets");
        std::string target = given ? shownValue(*given) : std::string("all");
        if (wordsOfList(Json(target)) == std::vector<std::string>{"all"}) // or a list of it
            target = "all";
        if (const auto dropout = reading.real("lora_dropout", "/training/lora/dropout"); dropout && *dropout > 0)
            job.training["lora"]["dropout"] = *dropout;
        if (const auto bits = reading.integer("quantization_bit", "/training/lora/base_dtype"))
            job.training["lora"]["base_dtype"] = *bits <= 4 ? "nf4" : "fp8";
        job.training["lora"]["targets"] =
            importedLoraTargets(job, "lora_target", wordsOfList(Json(target)), {.rank = rank, .areAll = target == "all"});
    } else if (type != "full") {
        reading.say("finetuning_type", Became::notRepresentable,
                    type == "freeze" ? "layers that are not trained have no key: imported as if all were"
                                     : quotedText(type) + " has no key: imported as if all weights were trained");
    }
    const std::string stage = reading.wordOr("stage", "", "sft");
    const bool isPlain = stage == "sft" || stage == "pt";
    if (isPlain)
        putFusedLoss(job, "enable_liger_kernel"); // other stages ask Liger for logits
    countSequences(job, sequencesOfObjective(job, "stage", stage));
}

} // namespace

void readLlamaFactory(Job& job)
{
    Reading& reading = job.reading;
    if (isLlamaFactoryV1(reading)) {
        readLlamaFactoryV1(job);
        return;
    }
    if (const auto name = reading.word("model_name_or_path", "/model/base"))
        putModelByName(job, "model_name_or_path", *name);
    readAxes(job);
    readPrecision(job);
    readSharding(job);
    readBatch(job);
    readRecompute(job);
    readFinetuning(job);
    const std::string attention = reading.wordOr("flash_attn", "/training/flash_attention", "auto");
    job.training["flash_attention"] = attention != "disabled" && attention != "off";
    putOptimizer(job, "optim", reading.wordOr("optim", "/training/optimizer", "adamw_torch"));
    if (reading.hasPrefix("ds_config."))
        harmlessOfDeepSpeed(reading);
    if (const Json* const apart = reading.peek("neat_packing"); apart == nullptr || *apart == Json(false))
        tellPackedAcross(reading, "packing", "neat_packing");
    static constexpr std::array kNot = {
        Alias{"quantization_bit", "weights that are trained are not in fewer bits"},
        Alias{"quantization_method", "4 bits are bitsandbytes' NF4"},
        Alias{"quantization_type", "4 bits are NF4"},
        Alias{"double_quantization", "scales of 4 bits are quantised"},
        Alias{"packing", kPackedDocuments},
        Alias{"neat_packing", kPackedDocuments},
        Alias{"fp8_enable_fsdp_float8_all_gather", "parameters gathered in 8 bits have no key"},
        Alias{"use_galore", "another optimizer: adamw is imported"},
        Alias{"use_apollo", "another optimizer: adamw is imported"},
        Alias{"use_badam", "another optimizer: adamw is imported"},
        Alias{"use_adam_mini", "another optimizer: adamw is imported"},
        Alias{"use_muon", "another optimizer: adamw is imported"},
        Alias{"use_llama_pro", "layers that are not trained have no key"},
        Alias{"freeze_*", "layers that are not trained have no key"},
        Alias{"mixture_of_depths", "tokens that pass layers by have no key"},
        Alias{"shift_attn", "attention in groups of tokens has no key"},
        Alias{"use_dora", "imported as LoRA"},
        Alias{"additional_target", "weights that are trained beside adapters have no key"},
        Alias{"use_kt", "layers that the host computes have no key"},
        Alias{"use_unsloth*", "kernels of its own have no key: see training.stack"},
        Alias{"sequence_parallel_*", "how sequences are cut: see layout.cp"},
        Alias{"ref_model*", "the other passes of preference training are not imported"},
        Alias{"reward_model*", "the other passes of preference training are not imported"},
        Alias{"image_*", "what images take is not counted: the model is its text part"},
        Alias{"video_*", "what images take is not counted: the model is its text part"},
        Alias{"audio_*", "what sounds take is not counted: the model is its text part"},
        Alias{"accelerate.fsdp_config.fsdp_offload_params", "parameters on the host have no key"}};
    reading.notRepresentable(kNot);
    reading.harmless(std::to_array<std::string_view>({"accelerate.*",
                                                      "do_*",
                                                      "dataset*",
                                                      "eval*",
                                                      "val_size",
                                                      "template",
                                                      "max_samples",
                                                      "overwrite_*",
                                                      "preprocessing_*",
                                                      "dataloader_*",
                                                      "output_dir",
                                                      "logging_*",
                                                      "save_*",
                                                      "plot_loss",
                                                      "report_to",
                                                      "learning_rate",
                                                      "num_train_epochs",
                                                      "lr_scheduler_*",
                                                      "warmup_*",
                                                      "ddp_*",
                                                      "resume_from_checkpoint",
                                                      "seed",
                                                      "weight_decay",
                                                      "max_grad_norm",
                                                      "adam_*",
                                                      "max_steps",
                                                      "trust_remote_code",
                                                      "cache_dir",
                                                      "use_fast_tokenizer",
                                                      "resize_vocab",
                                                      "split_special_tokens",
                                                      "add_*",
                                                      "new_special_tokens*",
                                                      "init_special_tokens",
                                                      "model_revision",
                                                      "low_cpu_mem_usage",
                                                      "rope_scaling",
                                                      "enable_liger_kernel",
                                                      "moe_aux_loss_coef",
                                                      "use_reentrant_gc",
                                                      "upcast_*",
                                                      "train_from_scratch",
                                                      "infer_*",
                                                      "offload_folder",
                                                      "use_kv_cache",
                                                      "*_hub_token",
                                                      "print_param_status",
                                                      "media_dir",
                                                      "train_on_prompt",
                                                      "mask_history",
                                                      "streaming",
                                                      "buffer_size",
                                                      "mix_strategy",
                                                      "interleave_probs",
                                                      "ignore_pad_token_for_loss",
                                                      "tool_format",
                                                      "default_system",
                                                      "enable_thinking",
                                                      "preserve_thinking",
                                                      "tokenized_path",
                                                      "data_shared_file_system",
                                                      "lora_*",
                                                      "loraplus_*",
                                                      "use_rslora",
                                                      "pissa_*",
                                                      "create_new_adapter",
                                                      "pref_*",
                                                      "dpo_*",
                                                      "kto_*",
                                                      "simpo_*",
                                                      "ppo_*",
                                                      "ld_alpha",
                                                      "galore_*",
                                                      "apollo_*",
                                                      "badam_*",
                                                      "muon_*",
                                                      "use_swanlab",
                                                      "swanlab_*",
                                                      "ray_*",
                                                      "master_*",
                                                      "enable_torch_profiler",
                                                      "profiler_*",
                                                      "profile_modules",
                                                      "fp8_backend",
                                                      "deepspeed*",
                                                      "fsdp_*",
                                                      "bias_activation_fusion",
                                                      "apply_rope_fusion",
                                                      "moe_grouped_gemm",
                                                      "adapter_*",
                                                      "compute_accuracy",
                                                      "include_*",
                                                      "run_name",
                                                      "remove_unused_columns",
                                                      "group_by_length",
                                                      "tf32",
                                                      "predict_with_generate"}));
    reading.harmless(std::to_array<std::string_view>({"kt_*",
                                                      "chunk_size",
                                                      "cpu_infer",
                                                      "mode",
                                                      "disable_shuffling",
                                                      "use_cache",
                                                      "early_stopping*",
                                                      "neftune_*",
                                                      "hub_*",
                                                      "push_to_hub",
                                                      "use_mca",
                                                      "use_*asft*",
                                                      "use_dft_loss",
                                                      "oft_*",
                                                      "asft_*",
                                                      "eaft_*",
                                                      "module_dropout",
                                                      "per_device_eval_batch_size",
                                                      "gradient_checkpointing_kwargs*",
                                                      "use_eaft_loss"}));
}

} // namespace sim::frameworks
