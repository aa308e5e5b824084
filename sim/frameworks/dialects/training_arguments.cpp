// TrainingArguments of huggingface/transformers at 008e574, options of `accelerate launch` (huggingface/accelerate at 16cb6eb).
#include "sim/frameworks/dialects/training_arguments.h"
#include "sim/frameworks/catalogue_models.h"

#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

Json deepSpeedIfTrue(const Json& value)
{
    return value == Json(false) ? Json(nullptr) : Json("DEEPSPEED");
}

Json fsdpIfTrue(const Json& value)
{
    return value == Json(false) ? Json(nullptr) : Json("FSDP");
}

constexpr std::array kLauncherNames = {
    Alias{"num_processes", "accelerate.num_processes"},
    Alias{"num_machines", "accelerate.num_machines"},
    Alias{"mixed_precision", "accelerate.mixed_precision"},
    Alias{"use_deepspeed", "accelerate.distributed_type", deepSpeedIfTrue},
    Alias{"use_fsdp", "accelerate.distributed_type", fsdpIfTrue},
    Alias{"zero_stage", "accelerate.deepspeed_config.zero_stage"},
    Alias{"deepspeed_config_file", "accelerate.deepspeed_config.deepspeed_config_file"},
    Alias{"offload_optimizer_device", "accelerate.deepspeed_config.offload_optimizer_device"},
    Alias{"offload_param_device", "accelerate.deepspeed_config.offload_param_device"},
    Alias{"fsdp_sharding_strategy", "accelerate.fsdp_config.fsdp_sharding_strategy"},
    Alias{"fsdp_reshard_after_forward", "accelerate.fsdp_config.fsdp_reshard_after_forward"},
    Alias{"fsdp_version", "accelerate.fsdp_config.fsdp_version"},
    Alias{"fsdp_offload_params", "accelerate.fsdp_config.fsdp_offload_params"},
    Alias{"fsdp_activation_checkpointing", "accelerate.fsdp_config.fsdp_activation_checkpointing"},
    Alias{"nproc_per_node", "@gpus_per_node"},
    Alias{"num_gpus", "@gpus_per_node"},
    Alias{"nnodes", "@nodes"},
    Alias{"num_nodes", "@nodes"},
};

/// A file of Accelerate's that is named and not given, by its name: "zero3", "fsdp2.yaml", "multi_gpu".
struct NamedLauncher {
    std::string setting, name;
    int stage = 0;
    bool isDeepSpeed = false;
    /// Of those that TRL brings along (trl/accelerate_configs), which all start eight processes.
    bool isOfTrl() const { return setting == "accelerate_config" && name.find('.') == std::string::npos; }
};
/// "zero3", "zero_stage2", "ds-stage-1": not the digit of "zero_a100".
std::optional<int> stageInName(std::string_view name)
{
    for (const std::string_view word : {"stage", "zero"}) {
        std::size_t at = name.find(word);
        if (at == std::string_view::npos)
            continue;
        at = name.find_first_not_of("_-", at + word.size());
        if (at != std::string_view::npos && name[at] >= '0' && name[at] <= '3' &&
            (at + 1 == name.size() || !isDigit(name[at + 1])))
            return name[at] - '0';
    }
    return std::nullopt;
}

std::optional<NamedLauncher> namedLauncher(const Reading& reading)
{
    for (const char* setting : {"accelerate_config", "config_file"}) {
        const Json* const given = reading.peek(setting);
        if (given == nullptr || !given->is_string())
            continue;
        const std::string path = given->get<std::string>(), name = smallWord(path.substr(path.rfind('/') + 1));
        if (name.find("fsdp") != std::string::npos)
            return NamedLauncher{setting, name, 3, false};
        if (const std::optional<int> stage = stageInName(name))
            return NamedLauncher{setting, name, *stage, true};
        if (name.find("multi_gpu") != std::string::npos || name.find("single_gpu") != std::string::npos ||
            name.find("ddp") != std::string::npos)
            return NamedLauncher{setting, name, 0, false};
    }
    return std::nullopt;
}

std::optional<int> positiveSize(Reading& reading, const char* name, const char* pointer)
{
    if (!reading.has(name))
        return std::nullopt;
    const std::optional<int> value = reading.integer(name, pointer);
    return value && *value > 0 ? value : std::nullopt;
}

/// What is said of the file that is named, beside what it holds.
void readLauncherFile(Job& job)
{
    Reading& reading = job.reading;
    const std::optional<NamedLauncher> named = namedLauncher(reading);
    for (const char* setting : {"accelerate_config", "config_file"})
        if (reading.hasPrefix("accelerate.distributed_type"))
            reading.say(setting, Became::used, "the file is given, too", "/layout/zero_stage");
        else if (reading.has(setting) && !named)
            reading.say(setting, Became::unknown, "how states are shared is in that file; give it too", "/layout/zero_stage");
    constexpr int kProcessesOfTrl = 8;
    if (named && named->isOfTrl() && !reading.has("accelerate.num_processes")) {
        job.gpus = named->name == "single_gpu" ? 1 : kProcessesOfTrl;
        job.gpusFrom = named->setting;
    }
}

} // namespace

AccelerateAxes readTrainersWorld(Job& job)
{
    Reading& reading = job.reading;
    reading.apply(kLauncherNames);
    readLauncherFile(job);
    const AccelerateAxes axes = readAccelerateAxes(job, "accelerate.");
    if (!job.gpus) {
        job.nodes = positiveSize(reading, "@nodes", "/cluster/nodes");
        job.gpusPerNode = positiveSize(reading, "@gpus_per_node", "/cluster/gpus_per_node");
        job.gpus = positiveSize(reading, "@gpus", "/cluster");
        for (const char* name : {"@env.NNODES", "@env.NUM_NODES"})
            if (!job.nodes)
                job.nodes = positiveSize(reading, name, "/cluster/nodes");
        for (const char* name : {"@env.NPROC_PER_NODE", "@env.GPUS_PER_NODE"})
            if (!job.gpusPerNode)
                job.gpusPerNode = positiveSize(reading, name, "/cluster/gpus_per_node");
        const bool isToldOutside = reading.has("@nodes") || reading.has("@env.NNODES");
        if (job.gpusPerNode && !job.nodes && !job.gpus && !job.askedGpus && !isToldOutside) {
            job.nodes = 1;
            reading.byDefault("nnodes", 1, "/cluster/nodes", "the launcher starts one node unless told");
        }
    } else {
        for (const char* name : {"@nodes", "@gpus_per_node", "@gpus"})
            if (reading.has(name))
                reading.say(name, Became::used, "counted by Accelerate's processes, too", "/cluster");
    }
    settleWorld(job);
    return axes;
}

void readTrainersPrecision(Job& job, const TrainerDefaults& defaults)
{
    Reading& reading = job.reading;
    std::string precision;
    bool isOff = false;
    for (const char* name : {"fp16", "bf16", "fp8"})
        if (const auto value = reading.flag(name, "/training/precision")) {
            precision = *value ? name : precision;
            isOff = isOff || (!*value && name == std::string_view("bf16"));
        }
    for (const char* word : {"bf16", "fp16"})
        if (precision.empty() &&
            reading.flag(std::string("ds_config.") + word + ".enabled", "/training/precision").value_or(false))
            precision = word;
    if (const auto word = reading.word("accelerate.mixed_precision", "/training/precision");
        word && precision.empty() && precisionWord(*word) != "fp32")
        precision = precisionWord(*word);
    if (precision.empty() && isOff)
        precision = "fp32";
    if (precision.empty()) {
        precision = defaults.precision;
        reading.byDefault("bf16", precision == "bf16", "/training/precision", "is not given, nor fp16: " + precision);
    }
    job.training["precision"] = precision;
}

std::optional<Sharding> readTrainersSharding(Job& job)
{
    Reading& reading = job.reading;
    if (const auto file = reading.word("deepspeed", "/layout/zero_stage"); file && !file->empty()) {
        const DeepSpeedFacts facts = factsOfDeepSpeedFile(job, "deepspeed", *file);
        return Sharding{.fsdp = {.stage = facts.stage}, .deepSpeed = facts};
    }
    const std::optional<std::string> type = reading.word("accelerate.distributed_type", "/layout/zero_stage");
    if (type && (smallWord(*type) == "deepspeed" || smallWord(*type) == "fsdp")) {
        const Sharding sharding = readAccelerateSharding(job, "accelerate.");
        readOffloadOfAccelerate(job, "accelerate.");
        return sharding;
    }
    if (!type && reading.hasPrefix("accelerate.fsdp_config."))
        return Sharding{.fsdp = readFsdp(reading, "accelerate.fsdp_config.")};
    if (const Json* const words = reading.peek("fsdp"); words != nullptr && !wordsOfList(*words).empty() && *words != Json(false))
        return Sharding{.fsdp = readFsdp(reading, "fsdp_config.")};
    if (const auto named = namedLauncher(reading)) {
        const std::string stage = "stage " + std::to_string(named->stage) + " of " + (named->isDeepSpeed ? "DeepSpeed" : "FSDP");
        const std::string what = named->stage == 0 && !named->isDeepSpeed ? std::string("plain replicas") : stage;
        if (named->isOfTrl())
            reading.say(named->setting, Became::used, "TRL's own file: " + what, "/layout/zero_stage");
        else
            reading.say(named->setting, Became::unknown, what + ", as the file's name has it; give the file too",
                        "/layout/zero_stage");
        Sharding sharding{.fsdp = {.stage = named->stage}};
        if (named->isDeepSpeed)
            sharding.deepSpeed = DeepSpeedFacts{.stage = named->stage};
        return sharding;
    }
    return type ? std::optional(Sharding()) : std::nullopt; // plain replicas, as it says
}

Sharding wholeReplicas(Job& job)
{
    if (job.reading.program().empty() && !job.reading.hasPrefix("accelerate.")) { // a file that a command names
        job.ask("/layout/zero_stage",
                "how states are shared is in Accelerate's or DeepSpeed's file, or in the command that starts "
                "this: plain replicas are assumed; give that file, too");
        return {};
    }
    for (const char* setting : {"accelerate_config", "config_file"})
        if (job.reading.has(setting)) {
            job.ask("/layout/zero_stage", "how states are shared is in " + shownText(shownValue(*job.reading.peek(setting)), 80) +
                                              ", which is not given: plain replicas are assumed");
            return {};
        }
    job.reading.byDefault("deepspeed", nullptr, "/layout/zero_stage",
                          "neither deepspeed nor fsdp is given: every replica is whole");
    return {};
}

void putSharding(Job& job, const Sharding& sharding, const AccelerateAxes& axes)
{
    putShardGroup(job, sharding.fsdp, axes.shard, axes.replicate);
    if (sharding.deepSpeed) {
        putGradientsOfDeepSpeed(job, *sharding.deepSpeed, "ds_config.");
        putOverlapOfDeepSpeed(job, *sharding.deepSpeed, "ds_config.");
    } else {
        putOverlapOfFsdp(job, sharding.fsdp.stage == 3);
        for (const char* prefix : {"fsdp_config.", "accelerate.fsdp_config."})
            putMixedPrecisionOfFsdp(job, prefix);
        job.addsUpWhole = true;
    }
}

void putWeightsAsLoaded(Job& job, const Sharding& sharding, const std::string& setting)
{
    Reading& reading = job.reading;
    const auto given = reading.word(setting, "/training/master_weights");
    if (!given)
        return;
    const std::string format = precisionWord(*given);
    const bool isNarrow = format == "bf16" || format == "fp16";
    const bool isShared = sharding.deepSpeed.has_value() || sharding.fsdp.stage > 0;
    const bool isNarrowJob = job.training["precision"] == "bf16" || job.training["precision"] == "fp16";
    if (isNarrow && !isShared && !job.training.contains("lora")) {
        job.training["master_weights"] = false;
        if (!isNarrowJob) // no autocast: products are in what the weights are in
            job.training["precision"] = format;
        reading.say(setting, Became::used,
                    "weights are loaded in 16 bits and updated as they are: neither DeepSpeed nor FSDP makes a copy in 32",
                    "/training/master_weights");
    } else {
        reading.say(setting, Became::used,
                    !isNarrow                       ? ""
                    : job.training.contains("lora") ? "of what is frozen; adapters are in 32 bits"
                                                    : "the optimizer has a copy in 32 bits",
                    "/training/master_weights");
    }
}

void readTrainersBatch(Job& job, const TrainerDefaults& defaults)
{
    Reading& reading = job.reading;
    job.microBatch = reading.sizeOr("per_device_train_batch_size", "/training/micro_batch_size", defaults.microBatch);
    job.accumulation = reading.sizeOr("gradient_accumulation_steps", "/training/global_batch_size", 1);
    settleBatch(job);
}

void readTrainersRecompute(Job& job, const TrainerDefaults& defaults)
{
    Reading& reading = job.reading;
    std::optional<bool> recomputes = reading.flag("gradient_checkpointing", "/training/recompute");
    for (const char* name : {"fsdp_config.activation_checkpointing", "fsdp_config.fsdp_activation_checkpointing",
                             "accelerate.fsdp_config.fsdp_activation_checkpointing"})
        if (reading.flag(name, "/training/recompute").value_or(false))
            recomputes = true;
    if (!recomputes)
        reading.byDefault("gradient_checkpointing", defaults.recomputes, "/training/recompute");
    job.training["recompute"] = recomputes.value_or(defaults.recomputes) ? "full" : "none";
}

void readTrainersKernels(Job& job)
{
    Reading& reading = job.reading;
    putOptimizer(job, "optim", reading.wordOr("optim", "/training/optimizer", "adamw_torch"));
    for (const char* name : {"use_liger_kernel", "use_liger"})
        putFusedLoss(job, name);
}

void putStackOfTrainer(Job& job, const Sharding& sharding, const std::string& setting)
{
    Reading& reading = job.reading;
    for (const char* name : {"torch_compile", "use_unsloth", "accelerate.dynamo_config.dynamo_backend"})
        if (const Json* const given = reading.peek(name);
            given != nullptr && *given != Json(false) && smallWord(shownValue(*given)) != "no") {
            reading.say(name, Became::notRepresentable, "a compiler or kernels of its own: see training.stack",
                        "/training/stack");
            return;
        }
    putStackOfTransformers(job, setting, sharding.deepSpeed && sharding.fsdp.stage == 3);
}

void readLora(Job& job, const LoraNames& names)
{
    Reading& reading = job.reading;
    const int rank = reading.sizeOr(names.rank, "/training/lora/rank", names.rankUnlessGiven);
    Json lora{{"rank", rank}};
    const auto given = reading.any(names.targets, "/training/lora/targets");
    if (!given && !names.targetsUnlessGiven.empty())
        reading.byDefault(names.targets, names.targetsUnlessGiven, "/training/lora/targets",
                          "is not given: PEFT's own, for Llama's family and those like it");
    const std::vector<std::string> modules = moduleNames(given.value_or(Json(names.targetsUnlessGiven)));
    if (!modules.empty())
        lora["targets"] = importedLoraTargets(job, names.targets, modules, {.rank = rank, .areAll = namesAllLinear(modules)});
    const auto dropout = reading.real(names.dropout, "/training/lora/dropout");
    if (!dropout && names.dropoutUnlessGiven > 0)
        reading.byDefault(names.dropout, number(names.dropoutUnlessGiven), "/training/lora/dropout");
    if (const double share = dropout.value_or(names.dropoutUnlessGiven); share > 0)
        lora["dropout"] = number(std::min(share, 0.99));
    job.training["lora"] = lora;
    for (const char* parameters : {"lora_target_parameters", "target_parameters"})
        tellTargetParameters(job, parameters);
}

void readQuantisedBase(Job& job)
{
    Reading& reading = job.reading;
    for (const auto& [name, dtype] : {std::pair{"load_in_8bit", "fp8"}, std::pair{"load_in_4bit", "nf4"}}) {
        const Json* const given = reading.peek(name);
        if (given == nullptr || *given == Json(false))
            continue;
        if (!job.training.contains("lora")) {
            reading.say(name, Became::notRepresentable, "weights that are trained are not in fewer bits");
            continue;
        }
        reading.flag(name, "/training/lora/base_dtype");
        job.training["lora"]["base_dtype"] = dtype;
        if (dtype == std::string_view("fp8"))
            reading.say(name, Became::notRepresentable, "whole numbers of 8 bits: fp8, which is as wide, is imported",
                        "/training/lora/base_dtype");
    }
}

void tellSettingsFile(Job& job, std::string_view setting)
{
    const Json* const given = job.reading.peek(setting);
    if (given == nullptr)
        return;
    const auto lastOf = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
    const std::string name = lastOf(shownValue(*given));
    const bool isBeside =
        std::any_of(job.fileNames.begin(), job.fileNames.end(), [&](const std::string& file) { return lastOf(file) == name; });
    job.reading.say(setting, isBeside ? Became::harmless : Became::unknown,
                    isBeside ? "is read beside it"
                             : "is a file of settings that is not given, and what it says is missing: give it as a further FILE");
}

void harmlessOfTrainer(Reading& reading)
{
    if (reading.hasPrefix("ds_config."))
        harmlessOfDeepSpeed(reading);
    harmlessOfAccelerate(reading, "accelerate.");
    static constexpr auto kNot = std::to_array<Alias>({
        {"packing", kPackedDocuments},
        {"padding_free", kPackedDocuments},
        {"group_by_length", "sequences of like lengths together: see training.documents"},
        {"neftune_noise_alpha", "noise on embeddings has no key"},
        {"auto_find_batch_size", "the batch is made smaller until it fits: the one that is given is imported"},
        {"fp8_*", "see training.precision"},
        {"tp_size", "tensor parallelism of Transformers' own: see layout.tp"},
        {"activation_offloading", "activations on the host: see training.offload.activation_layers"},
        {"load_in_*", "weights in fewer bits: see training.lora.base_dtype"},
        {"use_dora", "imported as LoRA"},
        {"lora_modules_to_save", "weights that are trained beside adapters have no key"},
        {"modules_to_save", "weights that are trained beside adapters have no key"},
        {"use_ipex", "is not for GPUs"},
    });
    reading.notRepresentable(kNot);
    static constexpr auto kHarmless = std::to_array<std::string_view>({"ds_config.*",
                                                                       "accelerate.*",
                                                                       "fsdp*",
                                                                       "deepspeed*",
                                                                       "do_*",
                                                                       "dataset*",
                                                                       "eval_*",
                                                                       "evaluation_*",
                                                                       "per_device_eval_*",
                                                                       "per_gpu_*",
                                                                       "output_dir",
                                                                       "overwrite_*",
                                                                       "logging_*",
                                                                       "log_*",
                                                                       "save_*",
                                                                       "report_to",
                                                                       "run_name",
                                                                       "learning_rate",
                                                                       "lr_*",
                                                                       "num_train_epochs",
                                                                       "max_steps",
                                                                       "warmup_*",
                                                                       "weight_decay",
                                                                       "max_grad_norm",
                                                                       "adam_*",
                                                                       "seed",
                                                                       "data_seed",
                                                                       "tf32",
                                                                       "ddp_*",
                                                                       "dataloader_*",
                                                                       "resume_from_checkpoint",
                                                                       "push_to_hub*",
                                                                       "hub_*",
                                                                       "remove_unused_columns",
                                                                       "label_*",
                                                                       "load_best_*",
                                                                       "metric_for_*",
                                                                       "greater_is_better",
                                                                       "gradient_checkpointing_kwargs*",
                                                                       "optim_*",
                                                                       "include_*",
                                                                       "disable_tqdm",
                                                                       "local_rank",
                                                                       "trust_remote_code",
                                                                       "use_fast_tokenizer",
                                                                       "tokenizer_*",
                                                                       "cache_dir",
                                                                       "model_revision",
                                                                       "low_cpu_mem_usage",
                                                                       "preprocessing_*",
                                                                       "torch_empty_cache_steps",
                                                                       "torchdynamo",
                                                                       "torch_compile*",
                                                                       "average_tokens_*",
                                                                       "ignore_data_skip",
                                                                       "accelerator_config*",
                                                                       "parallelism_config*",
                                                                       "past_index",
                                                                       "prediction_loss_only",
                                                                       "jit_mode_eval",
                                                                       "use_cpu",
                                                                       "no_cuda",
                                                                       "full_determinism",
                                                                       "skip_memory_metrics",
                                                                       "batch_eval_metrics",
                                                                       "bf16_full_eval",
                                                                       "fp16_*",
                                                                       "use_legacy_*",
                                                                       "restore_*",
                                                                       "enable_jit_checkpoint",
                                                                       "liger_kernel_config*",
                                                                       "train_on_inputs",
                                                                       "length_column_name",
                                                                       "project",
                                                                       "trackio_*",
                                                                       "wandb_*",
                                                                       "use_reentrant",
                                                                       "split_batches",
                                                                       "main_process_*",
                                                                       "machine_rank",
                                                                       "rdzv_*",
                                                                       "master_*",
                                                                       "node_rank",
                                                                       "same_network",
                                                                       "max_restarts",
                                                                       "tee",
                                                                       "role",
                                                                       "multi_gpu",
                                                                       "dynamo_backend",
                                                                       "num_cpu_threads_per_process",
                                                                       "debug",
                                                                       "deepspeed_*",
                                                                       "zero3_*",
                                                                       "gradient_clipping",
                                                                       "downcast_bf16",
                                                                       "enable_cpu_affinity",
                                                                       "gpu_ids",
                                                                       "module",
                                                                       "standalone",
                                                                       "monitor_interval",
                                                                       "start_method",
                                                                       "use_env",
                                                                       "validation_*",
                                                                       "train_file",
                                                                       "test_file",
                                                                       "streaming",
                                                                       "max_train_samples",
                                                                       "max_eval_samples",
                                                                       "predict_with_generate",
                                                                       "use_auth_token",
                                                                       "token",
                                                                       "env.*"});
    reading.harmless(kHarmless);
}

} // namespace sim::frameworks
