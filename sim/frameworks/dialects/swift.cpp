// ms-swift's trainers on Transformers: `swift sft`, `swift pt`, `swift rlhf` (modelscope/ms-swift at 3602360: swift/arguments,
// swift/trainers/arguments.py, swift/config). `megatron sft` is Megatron's.
#include "sim/frameworks/dialects/objectives.h"
#include "sim/frameworks/dialects/training_arguments.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr std::array kSwiftNames = {
    Alias{"train_type", "tuner_type"},
    Alias{"sft_type", "tuner_type"},
    Alias{"model_id_or_path", "model"},
    Alias{"batch_size", "per_device_train_batch_size"},
    Alias{"torch_dtype", "dtype"},
    Alias{"lora_target_modules", "target_modules"},
    Alias{"use_flash_attn", "attn_impl", [](const Json& on) { return on == Json(false) ? Json("sdpa") : Json("flash_attn"); }}};

/// DeepSpeed's files that it brings along (swift/config), by their names.
std::optional<Sharding> swiftsDeepSpeed(Job& job)
{
    Reading& reading = job.reading;
    const Json* const given = reading.peek("deepspeed");
    const std::string name = given == nullptr ? std::string() : shownValue(*given);
    std::string word = name == "default-zero2" || name == "default-zero3" ? name.substr(8) : name; // until version 3
    const bool isOffloaded = word.ends_with("_offload");
    if (isOffloaded)
        word.resize(word.size() - 8);
    if (word.size() != 5 || !word.starts_with("zero") || word[4] < '0' || word[4] > '3' || reading.hasPrefix("ds_config."))
        return std::nullopt;
    const int stage = word[4] - '0';
    reading.say("deepspeed", Became::used,
                "ms-swift's own file: stage " + std::to_string(stage) + (isOffloaded ? ", states on the host" : "") +
                    ", transfers that do not overlap",
                "/layout/zero_stage");
    if (isOffloaded)
        job.training["offload"]["optimizer"] = 1;
    if (isOffloaded && stage == 3)
        reading.addNote("deepspeed", Became::notRepresentable, "parameters on the host have no key");
    return Sharding{.fsdp = {.stage = stage}, .deepSpeed = DeepSpeedFacts{.stage = stage, .overlap = false}};
}

/// FSDP's file that it brings along: shards of all, recomputed by FSDP in place of the model (fsdp2.json).
std::optional<Sharding> swiftsFsdp(Job& job)
{
    Reading& reading = job.reading;
    const Json* const given = reading.peek("fsdp");
    if (given == nullptr || *given != Json("fsdp2"))
        return std::nullopt;
    reading.say("fsdp", Became::used, "ms-swift's own file: shards of parameters, gradients and optimizer, all recomputed",
                "/layout/zero_stage");
    reading.say("gradient_checkpointing", Became::used, "FSDP's own is on in that file");
    return Sharding{.fsdp = {.stage = 3}};
}

/// sequence_parallel_size: Ulysses, and rings where heads do not divide.
void readSwiftSequenceParallel(Job& job)
{
    Reading& reading = job.reading;
    const std::optional<int> ulysses = reading.size("sequence_parallel_size", "/layout/cp");
    if (!ulysses || *ulysses == 1)
        return;
    const int parts = std::min(*ulysses, 1 << 12);
    job.cp = parts;
    putExchangedHeads(job, "sequence_parallel_size");
}

AccelerateAxes readSwiftWorld(Job& job)
{
    Reading& reading = job.reading;
    const bool isCounted = reading.has("@env.NPROC_PER_NODE") || reading.has("nproc_per_node") ||
                           reading.hasPrefix("accelerate.num_processes") || reading.has("num_processes") ||
                           reading.has("@gpus_per_node");
    if (!isCounted && !job.askedGpus) {
        job.gpus = 1;
        reading.byDefault(
            "NPROC_PER_NODE", 1, "/layout/dp",
            "is not given: one process; GPUs beside the first would hold layers of the same model one after another");
    }
    return readTrainersWorld(job);
}

/// The batch is made 16 examples where accumulation is not said (TrainArgumentsMixin.__post_init__).
void readSwiftBatch(Job& job)
{
    Reading& reading = job.reading;
    constexpr int kExamples = 16;
    job.microBatch = reading.sizeOr("per_device_train_batch_size", "/training/micro_batch_size", 1);
    job.accumulation = reading.size("gradient_accumulation_steps", "/training/global_batch_size");
    if (!job.accumulation) {
        const long long step = 1LL * *job.microBatch * job.dp * job.cp; // of all processes, as it counts
        job.accumulation = static_cast<int>(std::max(1LL, (kExamples + step - 1) / step));
        reading.byDefault("gradient_accumulation_steps", *job.accumulation, "/training/global_batch_size",
                          "is not given: 16 examples over all processes");
    }
    settleBatch(job);
}

void readSwiftTuner(Job& job, const std::string& command)
{
    Reading& reading = job.reading;
    const std::string type = reading.wordOr("tuner_type", "/training/lora", command == "pt" ? "full" : "lora");
    if (type == "full")
        return;
    if (type != "lora" && type != "longlora")
        reading.say("tuner_type", Became::notRepresentable,
                    quotedText(type) + " has no key: imported as LoRA with the rank that is given, or 8");
    readLora(job, {.rank = "lora_rank",
                   .targets = "target_modules",
                   .dropout = "lora_dropout",
                   .rankUnlessGiven = 8,
                   .targetsUnlessGiven = "all-linear",
                   .dropoutUnlessGiven = 0.05});
    for (const char* name : {"quant_bits", "quantization_bit"})
        if (const auto bits = reading.integer(name, "/training/lora/base_dtype"); bits && *bits > 0)
            job.training["lora"]["base_dtype"] = *bits <= 4 ? "nf4" : "fp8";
}

void readSwiftLength(Job& job, const std::string& objective)
{
    Reading& reading = job.reading;
    constexpr const char* kPointer = "/training/sequence_length";
    constexpr int kMostOfPart = 1 << 28;
    const auto length = reading.size("max_length", kPointer);
    if (!length)
        job.ask(kPointer, "max_length is not given: ms-swift takes the longest of the model; 2048 stands in its place");
    int tokens = std::min(length.value_or(2048), kMostOfPart);
    if (isReinforcement(objective)) // of the prompt alone
        tokens += std::min(reading.sizeOr("max_completion_length", kPointer, 512), kMostOfPart);
    job.training["sequence_length"] = tokens;
}

} // namespace

void readSwift(Job& job)
{
    Reading& reading = job.reading;
    reading.apply(kSwiftNames);
    const std::string& program = reading.program();
    const bool isPreference = program.find("rlhf") != std::string::npos || (program.empty() && reading.has("rlhf_type"));
    const std::string command = isPreference ? "rlhf" : program.find("pt") != std::string::npos ? "pt" : "sft";
    const std::string objective = isPreference ? reading.wordOr("rlhf_type", "", "dpo") : "sft";
    if (const auto name = reading.word("model", "/model/base"))
        putModelByName(job, "model", *name);
    tellSettingsFile(job, "config");
    readSwiftSequenceParallel(job);
    const int cut = job.cp;
    AccelerateAxes axes = readSwiftWorld(job);
    if (cut > 1) {
        job.cp = cut;
        job.gpus = job.askedGpus ? std::nullopt : job.gpus;
        settleWorld(job);
    }
    readTrainersPrecision(job, {.precision = "bf16"});
    std::optional<Sharding> sharding = swiftsDeepSpeed(job);
    const std::optional<Sharding> ofFsdp = swiftsFsdp(job);
    if (!sharding)
        sharding = ofFsdp ? ofFsdp : readTrainersSharding(job);
    if (!sharding)
        sharding = wholeReplicas(job);
    readSwiftTuner(job, command);
    putSharding(job, *sharding, axes);
    if (reading.has("dtype"))
        putWeightsAsLoaded(job, *sharding, "dtype");
    else if (sharding->fsdp.stage == 0 && !sharding->deepSpeed && !job.training.contains("lora")) {
        job.training["master_weights"] = false;
        reading.byDefault("torch_dtype", "bfloat16", "/training/master_weights",
                          "is not given: as the model's config.json has it, 16 bits; they are updated as they are");
    }
    readSwiftBatch(job);
    countSequences(job, sequencesOfObjective(job, isPreference ? "rlhf_type" : "objective", objective));
    readSwiftLength(job, objective);
    readTrainersRecompute(job, {.recomputes = true});
    readTrainersKernels(job);
    for (const char* name : {"attn_impl", "attn_implementation"})
        if (const auto kernel = reading.word(name, "/training/flash_attention"))
            job.training["flash_attention"] = *kernel != "eager";
    if (reading.word("tuner_backend", "/training/stack") == "unsloth")
        reading.say("tuner_backend", Became::notRepresentable, "kernels of its own: see training.stack", "/training/stack");
    else
        putStackOfTrainer(job, *sharding, reading.has("model") ? "model" : "tuner_type");
    static constexpr auto kNot = std::to_array<Alias>({
        {"packing*", kPackedDocuments},
        {"freeze_*", "weights that are not trained have no key"},
        {"trainable_*", "weights that are trained beside adapters have no key"},
        {"use_galore", "another optimizer: adamw is imported"},
        {"use_badam", "another optimizer: adamw is imported"},
        {"optimizer", "another optimizer, or rates of its own for parts of the model: adamw is imported"},
        {"lisa_activated_layers", "weights that are not trained have no key"},
        {"zero_hpz_partition_size", "secondary partitions have no key"},
        {"deepspeed_autotp_size", "DeepSpeed's tensor parallelism: see layout.tp"},
        {"device_map", "layers over GPUs one after another have no key"},
        {"max_pixels", "what images take is not counted: the model is its text part"},
        {"vit_*", "what images take is not counted: the model is its text part"},
        {"use_vllm", "the step of training is imported; generation in between is not"},
        {"use_lmdeploy", "the step of training is imported; generation in between is not"},
        {"vllm_*", "the step of training is imported; generation in between is not"},
        {"lmdeploy_*", "the step of training is imported; generation in between is not"},
        {"sleep_level", "what is moved to the host for generation has no key"},
        {"offload_model", "what is moved to the host for generation has no key"},
        {"offload_optimizer", "what is moved to the host for generation has no key"},
        {"move_model_batches", "the step of training is imported; generation in between is not"},
        {"ref_model*", "the forward pass of the reference model is not simulated"},
        {"teacher_*", "the forward pass of the teacher is not simulated"},
        {"reward_model*", "the forward pass of the reward model is not simulated"},
        {"task_type", "another head than the vocabulary's has no key"},
        {"chord_*", "supervised examples beside the generated ones are not simulated"},
        {"rope_scaling", "see model.rope_scaling"},
        {"reft_*", "has no key: imported as LoRA"},
        {"llamapro_*", "layers that are added have no key: imported as LoRA"},
        {"num_infer_workers", "the step of training is imported; generation in between is not"},
    });
    reading.notRepresentable(kNot);
    static constexpr auto kHarmless = std::to_array<std::string_view>({"max_completion_length",
                                                                       "max_model_len",
                                                                       "aligner_lr",
                                                                       "use_gym_env",
                                                                       "tau_*",
                                                                       "fipo_*",
                                                                       "delta",
                                                                       "gkd_*",
                                                                       "val_dataset*",
                                                                       "cached_*",
                                                                       "split_dataset_*",
                                                                       "load_from_cache_file",
                                                                       "interleave_prob",
                                                                       "stopping_strategy",
                                                                       "shuffle_*",
                                                                       "download_mode",
                                                                       "columns",
                                                                       "strict",
                                                                       "disable_auto_*",
                                                                       "model_*",
                                                                       "custom_*",
                                                                       "template*",
                                                                       "system",
                                                                       "truncation_strategy",
                                                                       "agent_template",
                                                                       "norm_bbox",
                                                                       "use_chat_template",
                                                                       "padding_side",
                                                                       "loss_*",
                                                                       "is_binary_*",
                                                                       "response_prefix",
                                                                       "enable_thinking",
                                                                       "preserve_thinking",
                                                                       "add_non_*",
                                                                       "disable_ignore_*",
                                                                       "max_new_tokens",
                                                                       "temperature",
                                                                       "top_*",
                                                                       "repetition_penalty",
                                                                       "num_beams",
                                                                       "stream",
                                                                       "stop_words",
                                                                       "lora_*",
                                                                       "use_rslora",
                                                                       "init_*",
                                                                       "adapters",
                                                                       "external_plugins",
                                                                       "use_hf",
                                                                       "check_model",
                                                                       "add_version",
                                                                       "create_checkpoint_*",
                                                                       "swanlab_*",
                                                                       "acc_*",
                                                                       "train_dataloader_*",
                                                                       "early_stop*",
                                                                       "max_epochs",
                                                                       "safe_serialization",
                                                                       "max_shard_size",
                                                                       "router_aux_*",
                                                                       "enable_dft_loss",
                                                                       "enable_channel_loss",
                                                                       "callbacks",
                                                                       "galore_*",
                                                                       "lisa_*",
                                                                       "resume_only_model",
                                                                       "metric",
                                                                       "quant_method",
                                                                       "quant_*",
                                                                       "bnb_*",
                                                                       "lazy_tokenize",
                                                                       "local_repo_path",
                                                                       "num_labels",
                                                                       "problem_type",
                                                                       "new_special_tokens",
                                                                       "experts_impl",
                                                                       "self_cognition_*",
                                                                       "check_dataset_*",
                                                                       "use_loss_scale",
                                                                       "beta",
                                                                       "rpo_alpha",
                                                                       "cpo_alpha",
                                                                       "simpo_gamma",
                                                                       "sft_alpha",
                                                                       "desirable_*",
                                                                       "undesirable_*",
                                                                       "center_rewards_*",
                                                                       "num_generations*",
                                                                       "reward_*",
                                                                       "epsilon*",
                                                                       "log_completions",
                                                                       "num_iterations",
                                                                       "dynamic_sample",
                                                                       "overlong_*",
                                                                       "max_resample_*",
                                                                       "soft_*",
                                                                       "scale_rewards",
                                                                       "advantage_*",
                                                                       "kl_*",
                                                                       "steps_per_*",
                                                                       "generation_*",
                                                                       "async_generate",
                                                                       "importance_sampling_*",
                                                                       "multi_turn_*",
                                                                       "max_turns",
                                                                       "gc_collect_*",
                                                                       "label_smoothing",
                                                                       "f_divergence_*",
                                                                       "lmbda",
                                                                       "seq_kd",
                                                                       "tensor_parallel_size",
                                                                       "ddp_*",
                                                                       "gym_*",
                                                                       "ds3_gather_*",
                                                                       "deterministic",
                                                                       "eval_*",
                                                                       "extra_eval_*",
                                                                       "gpu_memory_utilization",
                                                                       "offload_*",
                                                                       "ref_adapters",
                                                                       "use_logits_*",
                                                                       "attn_*",
                                                                       "template_*",
                                                                       "logprobs",
                                                                       "response_length",
                                                                       "gamma",
                                                                       "cosine_*",
                                                                       "load_*",
                                                                       "push_to_hub*",
                                                                       "tuner_backend",
                                                                       "model"});
    reading.harmless(kHarmless);
    harmlessOfTrainer(reading);
}

} // namespace sim::frameworks
