// LLaMA-Factory's version 1 (hiyouga/LLaMA-Factory at ff6d4d1: src/llamafactory/v1/config and plugins).
#include "sim/frameworks/dialects/llamafactory_v1.h"

#include "sim/frameworks/dialects/objectives.h"
#include "sim/frameworks/dialects/training_arguments.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

struct ShardAxes {
    int replicate = 1;
    std::optional<int> shard{};
};

ShardAxes readShardAxes(Job& job)
{
    Reading& reading = job.reading;
    if (const auto cut = reading.size("cp_size", "/layout/cp"); cut && *cut > 1) {
        job.cp = std::min(*cut, 1 << 12);
        if (reading.wordOr("cp_mode", "/layout/cp", "ulysses") == "ulysses")
            putExchangedHeads(job, "cp_size");
    } else if (reading.has("cp_mode")) {
        reading.say("cp_mode", Became::harmless, "counts only beside cp_size");
    }
    if (const auto dp = reading.size("dp_size", "/layout/dp"))
        job.givenDp = std::min(*dp, 1 << 20);
    const std::optional<int> ep = reading.size("dist_config.ep_size", "/layout/ep");
    job.expertRanks = std::clamp(ep.value_or(1), 1, 1 << 12);
    settleWorld(job);
    if (ep && *ep > 1) {
        job.layout["ep"] = *ep;
        job.layout["etp"] = 1;
    }
    ShardAxes axes{.replicate = std::min(reading.size("mp_replicate_size", "/layout/dp_shard").value_or(1), 1 << 14),
                   .shard = reading.size("mp_shard_size", "/layout/dp_shard")};
    if (!axes.shard && axes.replicate > 1)
        axes.shard = std::max(1, job.dp * job.cp / axes.replicate);
    if (axes.shard) // counted with the ranks of a sequence, which putShardGroup multiplies by itself
        axes.shard = std::max(1, std::min(*axes.shard, 1 << 20) / job.cp);
    return axes;
}

Sharding shardingOfPlugin(Job& job)
{
    Reading& reading = job.reading;
    const std::string name = reading.word("dist_config.name", "/layout/zero_stage").value_or("");
    if (name == "deepspeed") {
        const std::string file = reading.word("dist_config.config_file", "/layout/zero_stage").value_or("");
        const DeepSpeedFacts facts = factsOfDeepSpeedFile(job, "dist_config.config_file", file);
        return {.fsdp = {.stage = facts.stage}, .deepSpeed = facts};
    }
    if (name == "fsdp2" || name == "fsdpturbo")
        return {.fsdp = {.stage = reading.flagOr("dist_config.reshard_after_forward", "/layout/zero_stage", true) ? 3 : 2}};
    if (name.empty())
        reading.byDefault("dist_config", nullptr, "/layout/zero_stage", "is not given: every replica is whole");
    else
        reading.say("dist_config.name", Became::unknown, quotedText(name) + " is not known here: whole replicas are imported",
                    "/layout/zero_stage");
    return {};
}

void readTunerPlugin(Job& job)
{
    Reading& reading = job.reading;
    const std::string name = reading.word("peft_config.name", "/training/lora").value_or("");
    if (name == "lora")
        readLora(job, {.rank = "peft_config.r",
                       .targets = "peft_config.target_modules",
                       .dropout = "peft_config.lora_dropout",
                       .rankUnlessGiven = 8,
                       .targetsUnlessGiven = "all",
                       .dropoutUnlessGiven = 0.05});
    else if (!name.empty())
        reading.say("peft_config.name", Became::notRepresentable,
                    name == "freeze" ? "layers that are not trained have no key: imported as if all were"
                                     : quotedText(name) + " has no key: imported as if all weights were trained");
    if (const auto bits = reading.integer("quant_config.quantization_bit", "/training/lora/base_dtype"); bits && *bits > 0) {
        if (job.training.contains("lora"))
            job.training["lora"]["base_dtype"] = *bits <= 4 ? "nf4" : "fp8";
        else
            reading.say("quant_config.quantization_bit", Became::notRepresentable,
                        "weights that are trained are not in fewer bits");
    }
}

/// What the job is trained for is in the command that starts it; preferences have settings of their own.
std::string objectiveOfPreference(Reading& reading)
{
    if (const auto loss = reading.word("pref_loss", ""))
        return *loss == "sigmoid" ? "dpo" : *loss;
    for (const char* name : {"pref_beta", "pref_ftx", "dpo_label_smoothing", "ld_alpha"})
        if (reading.has(name))
            return "dpo";
    reading.byDefault("llamafactory-cli", "sft", "", "the command that starts it says what is trained for: sft");
    return "sft";
}

} // namespace

bool isLlamaFactoryV1(const Reading& reading)
{
    return reading.has("model") && !reading.has("model_name_or_path");
}

void readLlamaFactoryV1(Job& job)
{
    Reading& reading = job.reading;
    if (const auto name = reading.word("model", "/model/base"))
        putModelByName(job, "model", *name);
    const ShardAxes axes = readShardAxes(job);
    job.training["precision"] = reading.flagOr("bf16", "/training/precision", true) ? "bf16" : "fp32";
    const Sharding sharding = shardingOfPlugin(job);
    readTunerPlugin(job);
    putSharding(job, sharding, {.replicate = axes.replicate, .shard = axes.shard});
    job.addsUpWhole = false; // its own loop (v1/core/base_trainer.py) lets each backward pass reduce
    if (!sharding.deepSpeed && sharding.fsdp.stage > 0)
        job.training["gradient_dtype"] = "fp32"; // fsdp2.py, get_mp_policy
    job.microBatch = reading.sizeOr("micro_batch_size", "/training/micro_batch_size", 1);
    job.globalBatch = reading.size("global_batch_size", "/training/global_batch_size");
    settleBatch(job);
    countSequences(
        job, sequencesOfObjective(job, reading.has("pref_loss") ? "pref_loss" : "objective", objectiveOfPreference(reading)));
    job.training["sequence_length"] = reading.sizeOr("cutoff_len", "/training/sequence_length", 2048);
    job.training["recompute"] = reading.flagOr("enable_activation_checkpointing", "/training/recompute", true) ? "full" : "none";
    job.training["flash_attention"] = reading.wordOr("flash_attn", "/training/flash_attention", "sdpa") != "eager";
    putOptimizer(job, "optim_config.name", reading.word("optim_config.name", "/training/optimizer").value_or("adamw"));
    if (const auto kernels = reading.word("kernel_config.name", "/training/stack")) {
        if (kernels->find("liger") != std::string::npos) {
            job.training["loss_chunk_tokens"] = kFusedLossChunk;
            reading.say("kernel_config.name", Became::used,
                        "Liger's: the loss takes the head along, by about 1,024 tokens; its norms and MLP have no key",
                        "/training/loss_chunk_tokens");
        } else {
            reading.say("kernel_config.name", Became::used, "on NVIDIA's GPUs, of dense models, Transformers' own",
                        "/training/stack");
        }
    }
    putStackOfTransformers(job, "model", sharding.deepSpeed && sharding.fsdp.stage == 3);
    if (const auto strategy = reading.word("batching_strategy", "/training/documents"); strategy && *strategy != "normal")
        reading.say("batching_strategy", Became::notRepresentable, std::string(kPackedDocuments), "/training/documents");
    static constexpr auto kNot = std::to_array<Alias>({
        {"dist_config.offload_params", "parameters on the host have no key"},
        {"peft_config.freeze_*", "layers that are not trained have no key"},
        {"dist_config.ep_*", "see layout.ep"},
        {"quant_config.*", "4 bits are bitsandbytes' NF4"},
        {"kernel_config.include_kernels", "kernels of one kind of layer: see training.stack"},
    });
    reading.notRepresentable(kNot);
    if (reading.hasPrefix("ds_config."))
        harmlessOfDeepSpeed(reading);
    reading.harmless(std::to_array<std::string_view>({"ds_config.*",
                                                      "dist_config.dcp_path",
                                                      "dist_config.pin_memory",
                                                      "dist_config",
                                                      "peft_config",
                                                      "peft_config.lora_alpha",
                                                      "peft_config.use_rslora",
                                                      "peft_config.adapter_*",
                                                      "peft_config.export_*",
                                                      "peft_config.modules_to_save",
                                                      "quant_config*",
                                                      "kernel_config*",
                                                      "optim_config*",
                                                      "init_config*",
                                                      "lr_scheduler_config*",
                                                      "model_class",
                                                      "trust_remote_code",
                                                      "custom_chat_template",
                                                      "template",
                                                      "train_dataset",
                                                      "eval_*",
                                                      "output_dir",
                                                      "learning_rate",
                                                      "num_train_epochs",
                                                      "max_steps",
                                                      "max_grad_norm",
                                                      "batching_workers",
                                                      "dist_timeout",
                                                      "seed",
                                                      "full_determinism",
                                                      "resume_from_checkpoint",
                                                      "save_*",
                                                      "logging_*",
                                                      "pref_*",
                                                      "simpo_gamma",
                                                      "dpo_*",
                                                      "ld_alpha",
                                                      "sample_backend",
                                                      "max_new_tokens",
                                                      "report_to",
                                                      "run_name"}));
}

} // namespace sim::frameworks
