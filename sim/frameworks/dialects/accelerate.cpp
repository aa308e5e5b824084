// Accelerate's YAML (huggingface/accelerate at 16cb6eb) and axolotl's (axolotl-ai-cloud/axolotl at 067b021): FSDP and
// ParallelismConfig.
#include "sim/frameworks/dialects/accelerate.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr const char* kCompiledText = "a compiled model: see training.stack";

/// Its own few words on DeepSpeed, or DeepSpeed's file, which then says all of it.
DeepSpeedFacts readDeepSpeedOfAccelerate(Job& job, const std::string& prefix)
{
    Reading& reading = job.reading;
    const std::string fileSetting = prefix + "deepspeed_config.deepspeed_config_file",
                      stageSetting = prefix + "deepspeed_config.zero_stage";
    const auto stage = reading.integer(stageSetting, "/layout/zero_stage");
    const auto file = reading.word(fileSetting, "/layout/zero_stage");
    if (const bool isNamed = file && !file->empty() && *file != "none"; !isNamed && !reading.hasPrefix("ds_config.")) {
        if (!stage)
            reading.byDefault(stageSetting, 2, "/layout/zero_stage");
        const int clamped = std::clamp(stage.value_or(2), 0, 3);
        putDefaultReduceBucket(job, prefix + "deepspeed_config.reduce_bucket_size", clamped);
        return {.stage = clamped};
    }
    const DeepSpeedFacts facts = factsOfDeepSpeedFile(job, fileSetting, file.value_or(""));
    if (stage && *stage != facts.stage)
        reading.say(stageSetting, Became::contradictory,
                    std::to_string(*stage) + ", and DeepSpeed's file says " + std::to_string(facts.stage) + ", which counts");
    return facts;
}

/// The three batch numbers where this file, or DeepSpeed's, is all that says them.
void readBatchOfAccelerate(Job& job)
{
    Reading& reading = job.reading;
    const auto positive = [&reading](const char* name, const char* pointer) {
        const std::optional<int> value = reading.integer(name, pointer);
        return value && *value > 0 ? value : std::nullopt;
    };
    job.accumulation = positive("deepspeed_config.gradient_accumulation_steps", "/training/global_batch_size");
    job.microBatch = positive("ds_config.train_micro_batch_size_per_gpu", "/training/micro_batch_size");
    job.globalBatch = positive("ds_config.train_batch_size", "/training/global_batch_size");
    if (const auto steps = positive("ds_config.gradient_accumulation_steps", "/training/global_batch_size"))
        job.accumulation = steps;
}

} // namespace

void readOffloadOfAccelerate(Job& job, const std::string& prefix)
{
    Reading& reading = job.reading;
    const std::string setting = prefix + "deepspeed_config.offload_optimizer_device";
    constexpr const char* kPointer = "/training/offload/optimizer";
    const std::optional<std::string> device = reading.word(setting, kPointer);
    if (!device || job.training.contains("offload"))
        return;
    if (*device == "none") {
        reading.say(setting, Became::harmless, "is switched off", kPointer);
        return;
    }
    job.training["offload"]["optimizer"] = 1;
    if (*device != "cpu")
        reading.say(setting, Became::notRepresentable, *device + ": imported as the host's memory, which is faster", kPointer);
}

AccelerateAxes readAccelerateAxes(Job& job, const std::string& of)
{
    Reading& reading = job.reading;
    dropIdleFsdp(reading, of);
    const std::optional<int> processes = reading.integer(of + "num_processes", "/cluster");
    const std::optional<int> machines = reading.integer(of + "num_machines", "/cluster/nodes");
    if (processes && *processes > 0) {
        job.gpus = processes;
        job.gpusFrom = of + "num_processes";
        if (machines && *machines > 0 && *processes % *machines == 0)
            job.gpusPerNode = *processes / *machines;
    }
    const std::string prefix = of + "parallelism_config.parallelism_config_";
    const bool isAlone = of.empty(); // beside what it launches most jobs have no axes
    job.tp = isAlone ? reading.sizeOr(prefix + "tp_size", "/layout/tp", 1)
                     : reading.size(prefix + "tp_size", "/layout/tp").value_or(1);
    job.cp = isAlone ? reading.sizeOr(prefix + "cp_size", "/layout/cp", 1)
                     : reading.size(prefix + "cp_size", "/layout/cp").value_or(1);
    const char* const cutAxis = job.tp > 1 ? "tp_size" : job.cp > 1 ? "cp_size" : nullptr;
    if (const auto sp = reading.integer(prefix + "sp_size", "/layout/cp"); sp && *sp > 1) {
        const bool hasBoth = job.cp > 1; // parallelism_config.py, __post_init__
        job.cp = std::clamp(job.cp, 1, 1 << 15) * std::clamp(*sp, 1, 1 << 15);
        if (hasBoth)
            reading.say(prefix + "sp_size", Became::contradictory,
                        "Accelerate refuses it beside cp_size (" + reading.placeOf(prefix + "cp_size") +
                            "); imported as one ring of both",
                        "/layout/cp");
        else
            putExchangedHeads(job, prefix + "sp_size");
    }
    const std::optional<int> replicateGiven = reading.integer(prefix + "dp_replicate_size", "/layout/dp_shard");
    AccelerateAxes axes{.replicate = std::clamp(replicateGiven.value_or(1), 1, 1 << 10),
                        .shard = reading.integer(prefix + "dp_shard_size", "/layout/dp_shard"),
                        .areCounted = processes.has_value()};
    if (axes.shard)
        axes.shard = std::clamp(*axes.shard, 1, 1 << 14);
    if (!processes && (replicateGiven || axes.shard))
        job.givenDp = axes.replicate * axes.shard.value_or(1);
    if (axes.replicate > 1 && axes.shard.value_or(1) == 1 && cutAxis != nullptr)
        reading.say(prefix + "dp_replicate_size", Became::contradictory,
                    "Accelerate refuses replicas without shards (dp_shard_size of " + reading.placeOf(prefix + "dp_shard_size") +
                        " is 1) beside tensor or context parallelism (" + cutAxis + " of " + reading.placeOf(prefix + cutAxis) +
                        ")");
    return axes;
}

Sharding readAccelerateSharding(Job& job, const std::string& prefix)
{
    Reading& reading = job.reading;
    Sharding sharding;
    const std::string type = smallWord(reading.wordOr(prefix + "distributed_type", "/layout/zero_stage", "NO"));
    if (type == "fsdp") {
        sharding.fsdp = readFsdp(reading, prefix + "fsdp_config.");
    } else if (type == "deepspeed") {
        sharding.deepSpeed = readDeepSpeedOfAccelerate(job, prefix);
        sharding.fsdp.stage = sharding.deepSpeed->stage;
    }
    return sharding;
}

void harmlessOfAccelerate(Reading& reading, const std::string& prefix)
{
    static constexpr std::array<Alias, 3> kNot = {
        {{"fsdp_config.fsdp_offload_params", "parameters on the host have no key"},
         {"deepspeed_config.offload_param_device", "parameters on the host have no key"},
         {"parallelism_config.*_cp_comm_strategy", "how context-parallel ranks talk has no key"}}};
    static constexpr std::array<std::string_view, 27> kHarmless = {"compute_environment",
                                                                   "debug",
                                                                   "downcast_bf16",
                                                                   "enable_cpu_affinity",
                                                                   "machine_rank",
                                                                   "main_*",
                                                                   "rdzv_*",
                                                                   "same_network",
                                                                   "tpu_*",
                                                                   "use_cpu",
                                                                   "dynamo_config*",
                                                                   "fsdp_config.*",
                                                                   "deepspeed_config.*",
                                                                   "megatron_lm_config.*",
                                                                   "command*",
                                                                   "commands*",
                                                                   "gpu_ids",
                                                                   "parallelism_config.*",
                                                                   "fp8_config*",
                                                                   "mpirun_config*",
                                                                   "num_cpu*",
                                                                   "*_config",
                                                                   "ec2_*",
                                                                   "iam_*",
                                                                   "log*",
                                                                   "use_parallelism_config",
                                                                   "fp16"};
    for (const auto& [own, why, change] : kNot) {
        const std::string name = prefix + std::string(own);
        reading.notRepresentable(std::array{Alias{name, why}});
    }
    for (const std::string_view own : kHarmless) {
        const std::string name = prefix + std::string(own);
        reading.harmless(std::array{std::string_view(name)});
    }
}

void readAccelerate(Job& job)
{
    Reading& reading = job.reading;
    const AccelerateAxes axes = readAccelerateAxes(job, "");
    if (const auto tp = reading.integer("megatron_lm_config.megatron_lm_tp_degree", "/layout/tp"); tp && *tp > 0)
        job.tp = *tp;
    if (const auto pp = reading.integer("megatron_lm_config.megatron_lm_pp_degree", "/layout/pp"); pp && *pp > 0)
        job.pp = *pp;
    settleWorld(job);
    if (axes.areCounted && axes.shard && axes.replicate * *axes.shard != job.dp)
        reading.addNote("num_processes", Became::contradictory,
                        std::to_string(job.tp * job.cp * job.pp * job.dp) + " processes leave dp " + std::to_string(job.dp) +
                            "; dp_replicate x dp_shard is " + std::to_string(axes.replicate * *axes.shard),
                        "/layout/dp");
    Sharding sharding = readAccelerateSharding(job, "");
    FsdpFacts& facts = sharding.fsdp;
    const DeepSpeedFacts deepSpeed = sharding.deepSpeed.value_or(DeepSpeedFacts());
    const std::string type = smallWord(reading.word("distributed_type", "/layout/zero_stage").value_or("NO"));
    bool isSelective = false;
    if (type == "deepspeed") {
        readBatchOfAccelerate(job);
    } else if (type == "megatron_lm") {
        isSelective = reading.flag("megatron_lm_config.megatron_lm_recompute_activations", "/training/recompute").value_or(false);
        job.accumulation = reading.size("megatron_lm_config.megatron_lm_num_micro_batches", "/training/global_batch_size");
        facts.stage =
            reading.flag("megatron_lm_config.megatron_lm_use_distributed_optimizer", "/layout/zero_stage").value_or(false) ? 1
                                                                                                                           : 0;
        job.layout["sequence_parallel"] =
            reading.flag("megatron_lm_config.megatron_lm_sequence_parallelism", "/layout/sequence_parallel").value_or(false) &&
            job.tp > 1;
    }
    putShardGroup(job, facts, axes.shard, axes.replicate);
    const auto checkpointing = reading.flag("fsdp_config.fsdp_activation_checkpointing", "/training/recompute");
    if (!checkpointing && !isSelective)
        reading.byDefault("fsdp_config.fsdp_activation_checkpointing", false, "/training/recompute");
    job.training["recompute"] = checkpointing.value_or(false) ? "full" : isSelective ? "selective" : "none";
    if (job.accumulation && *job.accumulation < 1)
        job.accumulation.reset();
    if (!job.accumulation)
        if (const auto steps = reading.integer("gradient_accumulation_steps", "/training/global_batch_size"); steps && *steps > 0)
            job.accumulation = steps;
    const bool isAsked = !job.microBatch && !job.globalBatch;
    settleBatch(job);
    if (isAsked)
        job.ask("/training/global_batch_size",
                "sequence and batch are not in this file, the training script has them: a global batch of " +
                    std::to_string(job.globalBatch.value_or(1)) + " = micro-batch 1" +
                    (job.accumulation ? " x accumulation " + std::to_string(*job.accumulation) : std::string()) + " x dp " +
                    std::to_string(job.dp) + " is assumed");
    std::string precision = deepSpeed.precision; // of DeepSpeed's file, where that is given
    if (precision.empty())
        precision = precisionWord(reading.wordOr("mixed_precision", "/training/precision", "no"));
    else
        reading.say("mixed_precision", Became::harmless, "DeepSpeed's file says " + precision);
    job.training["precision"] = precision.empty() ? "fp32" : precision;
    if (type == "deepspeed") {
        putGradientsOfDeepSpeed(job, deepSpeed, "ds_config.");
        putOverlapOfDeepSpeed(job, deepSpeed, "ds_config.");
        readOffloadOfAccelerate(job, "");
    } else {
        putOverlapOfFsdp(job, facts.stage == 3);
        // Its launcher says a file's settings to the program in variables, of which this is none (utils/launch.py,
        // prepare_multi_gpu_env; FullyShardedDataParallelPlugin.__post_init__ reads them).
        reading.harmless(std::array<std::string_view, 1>{"fsdp_config.*mixed_precision_policy*"},
                         "is handed to no program by Accelerate's launcher: FSDP computes and reduces in mixed_precision unless "
                         "the script's FullyShardedDataParallelPlugin says otherwise (--set training.gradient_dtype=…)");
        job.addsUpWhole = true;
        reading.say("deepspeed_config.offload_optimizer_device", Became::harmless,
                    "counts only beside distributed_type: DEEPSPEED");
    }
    constexpr const char* kCompiler = "dynamo_config.dynamo_backend";
    if (const Json* const compiler = reading.peek(kCompiler); compiler != nullptr && smallWord(shownValue(*compiler)) != "no")
        reading.say(kCompiler, Became::notRepresentable, kCompiledText);
    else if (type == "fsdp" || type == "deepspeed")
        putStackOfTransformers(job, "distributed_type", type == "deepspeed" && facts.stage == 3);
    if (reading.hasPrefix("ds_config.")) {
        harmlessOfDeepSpeed(reading);
        reading.harmless(std::array<std::string_view, 1>{"ds_config.*"});
    }
    harmlessOfAccelerate(reading, "");
}

void readAxolotl(Job& job)
{
    Reading& reading = job.reading;
    if (const auto base = reading.word("base_model", "/model/base"))
        putModelByName(job, "base_model", *base);
    job.tp = reading.sizeOr("tensor_parallel_size", "/layout/tp", 1);
    job.cp = reading.sizeOr("context_parallel_size", "/layout/cp", 1);
    if (const auto old = reading.integer("sequence_parallel_degree", "/layout/cp"); old && *old > 0)
        job.cp = *old;
    std::optional<int> shard = reading.integer("dp_shard_size", "/layout/dp_shard");
    if (shard)
        shard = std::clamp(*shard, 1, 1 << 14);
    const std::optional<int> replicateGiven = reading.integer("dp_replicate_size", "/layout/dp_shard");
    std::optional<int> ep = reading.integer("expert_parallel_size", "/layout/ep");
    if (ep)
        ep = std::clamp(*ep, 1, 1 << 10);
    const int replicate = std::clamp(replicateGiven.value_or(1), 1, 1 << 10);
    if ((shard || replicateGiven) && 1LL * replicate * std::max(1, shard.value_or(1)) * std::max(1, ep.value_or(1)) < (1 << 24)) {
        job.givenDp = replicate * std::max(1, shard.value_or(1)) * std::max(1, ep.value_or(1));
        job.gpusFrom = "dp_shard_size";
    }
    job.expertRanks = std::max(1, ep.value_or(1));
    settleWorld(job);
    if (ep && *ep > 1)
        job.layout["ep"] = *ep;
    FsdpFacts facts;
    std::optional<DeepSpeedFacts> deepSpeed;
    if (reading.hasPrefix("fsdp_config.") || reading.peek("fsdp") != nullptr || shard)
        facts = readFsdp(reading, "fsdp_config.");
    else if (const auto file = reading.word("deepspeed", "/layout/zero_stage")) {
        deepSpeed = factsOfDeepSpeedFile(job, "deepspeed", *file);
        facts.stage = deepSpeed->stage;
        if (file->find("cpuoffload_all") != std::string::npos)
            job.training["offload"]["optimizer"] = 1;
    }
    putShardGroup(job, facts, shard, replicate);
    if (const auto length = reading.integer("sequence_len", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    const auto positive = [](std::optional<int> value) { return value && *value > 0 ? value : std::nullopt; };
    job.microBatch = positive(reading.integer("micro_batch_size", "/training/micro_batch_size"));
    job.accumulation = positive(reading.integer("gradient_accumulation_steps", "/training/global_batch_size"));
    if (const auto both = positive(reading.integer("batch_size", "/training/global_batch_size")); both && !job.accumulation)
        job.accumulation = std::max(1, *both / std::max(1, job.microBatch.value_or(1))); // of one device, in 2023
    if (!job.accumulation)
        job.accumulation = 1;
    settleBatch(job);
    const bool is32 = !reading.peek("bf16") && !reading.peek("fp16") && !reading.peek("bfloat16") && !reading.peek("float16");
    std::string precision = "fp32";
    for (const auto& [name, word] : {std::pair{"float16", "fp16"}, std::pair{"fp16", "fp16"}, std::pair{"bfloat16", "bf16"},
                                     std::pair{"bf16", "bf16"}, std::pair{"fp8", "fp8"}})
        if (const auto value = reading.any(name, "/training/precision"); value && *value != Json(false))
            precision = word;
    if (is32)
        reading.byDefault("bf16", false, "/training/precision", "is not given: fp32");
    job.training["precision"] = precision;
    bool recomputes = false;
    for (const char* name :
         {"gradient_checkpointing", "fsdp_config.activation_checkpointing", "fsdp_config.fsdp_activation_checkpointing"})
        if (const auto value = reading.any(name, "/training/recompute"))
            recomputes = recomputes || (*value != Json(false) && *value != Json("false"));
    if (!reading.has("gradient_checkpointing"))
        reading.byDefault("gradient_checkpointing", false, "/training/recompute");
    job.training["recompute"] = recomputes ? "full" : "none";
    if (const Json* const checkpoints = reading.peek("gradient_checkpointing");
        checkpoints != nullptr && shownValue(*checkpoints).starts_with("offload")) // axolotl: "offload", "offload_disk"
        reading.say(
            "gradient_checkpointing", Became::notRepresentable,
            quotedText(shownValue(*checkpoints)) +
                ": what layers keep is on the host (see training.offload.activation_layers): full is imported, with it on the "
                "GPU",
            "/training/recompute");
    if (const auto name = reading.word("optimizer", "/training/optimizer"))
        putOptimizer(job, "optimizer", *name);
    if (const auto flash = reading.flag("flash_attention", "/training/flash_attention"))
        job.training["flash_attention"] = *flash;
    if (const auto kernel = reading.word("attn_implementation", "/training/flash_attention"))
        job.training["flash_attention"] = *kernel != "eager";
    if (const auto adapter = reading.word("adapter", "/training/lora"); adapter == "lora" || adapter == "qlora") {
        constexpr int kRankOfPeft = 8; // LoraConfig
        const int rank = reading.size("lora_r", "/training/lora/rank").value_or(0);
        if (rank == 0)
            reading.byDefault("lora_r", kRankOfPeft, "/training/lora/rank", "has no default in axolotl: PEFT's own in its place");
        job.training["lora"] = {{"rank", rank > 0 ? rank : kRankOfPeft}};
        const auto given = reading.any("lora_target_modules", "/training/lora/targets");
        // Both count: the linear layers are added to those that are named (axolotl, loaders/adapter.py).
        const bool isLinear = reading.flag("lora_target_linear", "/training/lora/targets").value_or(false);
        // Experts of Llama 4 are then layers of their own (axolotl, monkeypatch/models/llama4/modeling.py).
        constexpr const char* kLinear = "llama4_linearized_experts";
        const bool areExpertsLinear = memberOr<std::string>(job.model, "base", "").starts_with("llama4") &&
                                      reading.flag(kLinear, "/training/lora/targets").value_or(false);
        if (areExpertsLinear)
            reading.say(kLinear, Became::used, "experts are layers of their own, which adapters reach", "/training/lora/targets");
        if (given || isLinear)
            job.training["lora"]["targets"] = importedLoraTargets(job, given ? "lora_target_modules" : "lora_target_linear",
                                                                  moduleNames(given.value_or(Json(""))),
                                                                  {.rank = memberOr<int>(job.training["lora"], "rank", 0),
                                                                   .areAll = isLinear,
                                                                   .allBy = isLinear ? "lora_target_linear" : "",
                                                                   .areExpertsLinear = areExpertsLinear});
        tellTargetParameters(job, "lora_target_parameters");
        if (const auto dropout = reading.real("lora_dropout", "/training/lora/dropout"); dropout && *dropout > 0)
            job.training["lora"]["dropout"] = *dropout;
        const bool is8Bit = reading.flag("load_in_8bit", "/training/lora/base_dtype").value_or(false);
        const bool is4Bit = reading.flag("load_in_4bit", "/training/lora/base_dtype").value_or(adapter == "qlora");
        if (is4Bit || is8Bit)
            job.training["lora"]["base_dtype"] = is4Bit ? "nf4" : "fp8";
    }
    for (const char* fused : {"liger_fused_linear_cross_entropy", "cut_cross_entropy"})
        putFusedLoss(job, fused);
    if (deepSpeed) {
        putGradientsOfDeepSpeed(job, *deepSpeed, "ds_config.");
        putOverlapOfDeepSpeed(job, *deepSpeed, "ds_config.");
    } else {
        putOverlapOfFsdp(job, facts.stage == 3);
        putMixedPrecisionOfFsdp(job, "fsdp_config.");
        job.addsUpWhole = true;
    }
    if (const Json* const compiles = reading.peek("torch_compile"); compiles == nullptr || *compiles == Json(false))
        putStackOfTransformers(job, "base_model", deepSpeed && facts.stage == 3);
    else
        reading.say("torch_compile", Became::notRepresentable, kCompiledText);
    if (reading.hasPrefix("ds_config."))
        harmlessOfDeepSpeed(reading);
    static constexpr std::array kAxolotlNot = {
        Alias{"fsdp_config.offload_params", "parameters on the host have no key"},
        Alias{"fsdp_config.fsdp_offload_params", "parameters on the host have no key"},
        Alias{"load_in_8bit", "weights that are trained are not in 8 bits"},
        Alias{"load_in_4bit", "weights that are trained are not in 4 bits"},
        Alias{"sample_packing", kPackedDocuments},
        Alias{"activation_offloading", "activations on the host: see training.offload.activation_layers"},
        Alias{"tiled_mlp", "an MLP in pieces of the sequence has no key"},
        Alias{"rl", "the other passes of preference training are not imported"},
        Alias{"trl.*", "generation in between has no key"},
        Alias{"qat.*", "weights rounded while training have no key"},
        Alias{"relora*", "see training.lora"},
        Alias{"unfrozen_parameters*", "weights that are not trained: see training.lora"},
        Alias{"lisa_*", "weights that are not trained: see training.lora"},
        Alias{"gptq", "weights in 4 bits have no key"},
        Alias{"model_quantization_config*", "weights in 4 bits have no key"},
        Alias{"quantize_moe_experts", "weights in 4 bits have no key"},
        Alias{"fp8_enable_fsdp_float8_all_gather", "parameters gathered in 8 bits have no key"},
        Alias{"ring_attn_func", "how context-parallel ranks talk has no key"}};
    reading.notRepresentable(kAxolotlNot);
    reading.harmless(std::array<std::string_view, 60>{"remove_unused_columns",
                                                      "eot_tokens",
                                                      "tokens*",
                                                      "processor_type",
                                                      "skip_prepare_dataset",
                                                      "loss_watchdog_*",
                                                      "torchdistx_path",
                                                      "gptq_*",
                                                      "max_packed_sequence_len",
                                                      "ebft.*",
                                                      "experimental_*",
                                                      "experts_implementation",
                                                      "llama4_linearized_experts",
                                                      "trackio_*",
                                                      "pretraining_dataset*",
                                                      "model_config.*",
                                                      "*_attn_impl",
                                                      "fused_attn_kernel",
                                                      "fused_*",
                                                      "resize_*",
                                                      "num_labels",
                                                      "eta_min",
                                                      "flash_optimum",
                                                      "dsv4_*",
                                                      "reward_model",
                                                      "swanlab*",
                                                      "nemo_gym_*",
                                                      "min_sample_len",
                                                      "hf_use_auth_token",
                                                      "vllm.*",
                                                      "accelerator_config.*",
                                                      "freeze_mm_modules",
                                                      "low_cpu_mem_usage",
                                                      "diffusion.*",
                                                      "revision_of_model",
                                                      "reinit_weights",
                                                      "nvfp4_*",
                                                      "streaming*",
                                                      "hatchery.*",
                                                      "total_num_tokens",
                                                      "base_model_ignore_patterns",
                                                      "device_map*",
                                                      "cls_model_config",
                                                      "eaft_*",
                                                      "torch_dtype",
                                                      "expert_parallel_*",
                                                      "jagged_*",
                                                      "ray_*",
                                                      "curriculum_*",
                                                      "otel_*",
                                                      "rl_*",
                                                      "kto_*",
                                                      "orpo_*",
                                                      "do_causal_*",
                                                      "process_reward_model",
                                                      "flash_attn_*",
                                                      "llmcompressor.*",
                                                      "full_finetune",
                                                      "center_rewards_*",
                                                      "pretrain_*"});
    static constexpr std::array<std::string_view, 64> kAxolotlHarmless = {"datasets*",
                                                                          "dataset*",
                                                                          "val_set_size",
                                                                          "output_dir",
                                                                          "wandb*",
                                                                          "num_epochs",
                                                                          "lr_*",
                                                                          "learning_rate",
                                                                          "weight_decay",
                                                                          "warmup*",
                                                                          "logging*",
                                                                          "eval*",
                                                                          "save*",
                                                                          "special_tokens*",
                                                                          "plugins*",
                                                                          "liger_*",
                                                                          "tokenizer*",
                                                                          "chat_template*",
                                                                          "pad_to_sequence_len",
                                                                          "train_on_inputs",
                                                                          "group_by_length",
                                                                          "tf32",
                                                                          "resume*",
                                                                          "debug",
                                                                          "seed",
                                                                          "saves_per_epoch",
                                                                          "max_steps",
                                                                          "fsdp_version",
                                                                          "fsdp*",
                                                                          "strict",
                                                                          "hub_*",
                                                                          "model_type",
                                                                          "trust_remote_code",
                                                                          "sdp_attention",
                                                                          "xformers*",
                                                                          "early_stopping*",
                                                                          "auto_resume*",
                                                                          "local_rank",
                                                                          "gradient_checkpointing_kwargs*",
                                                                          "adam_*",
                                                                          "max_grad_norm",
                                                                          "cosine*",
                                                                          "lora_*",
                                                                          "push_*",
                                                                          "base_model_config",
                                                                          "is_*",
                                                                          "use_*",
                                                                          "load_best*",
                                                                          "dataloader*",
                                                                          "ddp*",
                                                                          "torch_compile*",
                                                                          "bnb*",
                                                                          "cut_cross*",
                                                                          "deepspeed",
                                                                          "unfrozen*",
                                                                          "peft*",
                                                                          "loraplus*",
                                                                          "shuffle*",
                                                                          "s2_*",
                                                                          "neftune*",
                                                                          "sample_packing*",
                                                                          "eager_*",
                                                                          "flex_*",
                                                                          "mlflow*"};
    reading.harmless(kAxolotlHarmless);
}

} // namespace sim::frameworks
