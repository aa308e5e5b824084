// VeOmni's YAML (ByteDance-Seed/VeOmni at d977449: veomni/arguments/arguments_types.py): model, data and train, over FSDP 2 with
// Ulysses and expert parallelism. Until 2026 what train.accelerator and its kin hold stood in train itself.
#include "sim/frameworks/dialects/objectives.h"
#include "sim/frameworks/dialects/training_arguments.h"

#include "sim/frameworks/stacks.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr std::array kVeOmniNames = {
    Alias{"train.ulysses_parallel_size", "train.accelerator.ulysses_size"},
    Alias{"train.expert_parallel_size", "train.accelerator.ep_size"},
    Alias{"train.context_parallel_size", "train.accelerator.cp_size"},
    Alias{"train.tensor_parallel_size", "train.accelerator.tp_size"},
    Alias{"train.pipeline_parallel_size", "train.accelerator.pp_size"},
    Alias{"train.data_parallel_replicate_size", "train.accelerator.dp_replicate_size"},
    Alias{"train.data_parallel_shard_size", "train.accelerator.dp_shard_size"},
    Alias{"train.data_parallel_mode", "train.accelerator.fsdp_config.fsdp_mode"},
    Alias{"train.enable_full_shard", "train.accelerator.fsdp_config.full_shard"},
    Alias{"train.accelerator.fsdp_config.reshard_after_forward", "train.accelerator.fsdp_config.full_shard"},
    Alias{"train.enable_reshard_after_forward", "train.accelerator.fsdp_config.full_shard"},
    Alias{"train.enable_fsdp_offload", "train.accelerator.fsdp_config.offload"},
    Alias{"train.enable_mixed_precision", "train.accelerator.fsdp_config.mixed_precision.enable"},
    Alias{"train.enable_gradient_checkpointing", "train.gradient_checkpointing.enable"},
    Alias{"train.enable_activation_offload", "train.accelerator.offload_config.enable_activation"},
    Alias{"train.accelerator.offload.enable_activation", "train.accelerator.offload_config.enable_activation"},
    Alias{"train.optimizer", "train.optimizer.type"},
    Alias{"train.rmpad", "train.dyn_bsz"},
    Alias{"train.rmpad_with_pos_ids", "train.dyn_bsz"},
    Alias{"model.attn_implementation", "model.ops_implementation.attn_implementation"},
    Alias{"model.moe_implementation", "model.ops_implementation.moe_implementation"},
    Alias{"model.lora_config.rank", "model.lora_config.r"},
    Alias{"model.lora_config.lora_modules", "model.lora_config.target_modules"},
};

struct VeOmniAxes {
    int replicate = 1;
    std::optional<int> shard{};
};

VeOmniAxes readVeOmniAxes(Job& job)
{
    Reading& reading = job.reading;
    const std::string of = "train.accelerator.";
    job.tp = reading.size(of + "tp_size", "/layout/tp").value_or(1);
    job.pp = reading.size(of + "pp_size", "/layout/pp").value_or(1);
    job.cp = reading.size(of + "cp_size", "/layout/cp").value_or(1);
    for (const auto& [name, size] : {std::pair{"tp_size", job.tp}, std::pair{"pp_size", job.pp}, std::pair{"cp_size", job.cp}})
        if (size > 1) // TrainingArguments._validate_accelerator
            reading.say(of + name, Became::contradictory, "VeOmni refuses more than 1: not supported yet");
    if (const auto ulysses = reading.size(of + "ulysses_size", "/layout/cp"); ulysses && *ulysses > 1) {
        const int ring = std::min(job.cp, 1 << 12);
        job.cp = ring * std::min(*ulysses, 1 << 12);
        putExchangedHeads(job, of + "ulysses_size", ring);
    }
    const auto given = [&](const char* name) { // -1: what is left
        const std::optional<int> value = reading.integer(of + name, "/layout/dp_shard");
        return value && *value > 0 ? std::optional(std::min(*value, 1 << 14)) : std::nullopt;
    };
    VeOmniAxes axes;
    const std::optional<int> replicate = given("dp_replicate_size");
    axes.shard = given("dp_shard_size");
    if (replicate && axes.shard)
        job.givenDp = *replicate * *axes.shard;
    const std::optional<int> ep = reading.size(of + "ep_size", "/layout/ep");
    job.expertRanks = std::clamp(ep.value_or(1), 1, 1 << 12);
    settleWorld(job);
    if (axes.shard && !replicate)
        axes.replicate = std::max(1, job.dp / *axes.shard);
    else
        axes.replicate = replicate.value_or(1);
    if (!axes.shard && axes.replicate > 1)
        axes.shard = std::max(1, job.dp / axes.replicate);
    if (ep && *ep > 1) {
        job.layout["ep"] = *ep;
        job.layout["etp"] = 1;
    }
    return axes;
}

void readVeOmniSharding(Job& job, const VeOmniAxes& axes)
{
    Reading& reading = job.reading;
    const std::string of = "train.accelerator.fsdp_config.";
    const std::string mode = reading.wordOr(of + "fsdp_mode", "/layout/zero_stage", "fsdp2");
    const bool dropsParameters = reading.flag(of + "full_shard", "/layout/zero_stage").value_or(true);
    FsdpFacts facts{.stage = mode == "ddp" ? 0 : dropsParameters ? 3 : 2};
    if (reading.flag("train.init_fsdp_no_shard", "/layout/zero_stage").value_or(false))
        facts.stage = 0;
    putShardGroup(job, facts, axes.shard, axes.replicate);
    putOverlapOfFsdp(job, facts.stage == 3);
    const std::string mixed = of + "mixed_precision.";
    const bool isMixed = reading.flag(mixed + "enable", "/training/precision").value_or(true);
    const std::string word = reading.word(mixed + "param_dtype", "/training/precision").value_or("bfloat16");
    job.training["precision"] = isMixed ? precisionWord(word) : "fp32";
    if (!reading.has(mixed + "enable") && !reading.has(mixed + "param_dtype"))
        reading.byDefault(mixed + "param_dtype", word, "/training/precision");
    const auto reduced = reading.word(mixed + "reduce_dtype", "/training/gradient_dtype");
    job.training["gradient_dtype"] = reduced && precisionWord(*reduced) != "fp32" ? "bf16" : "fp32";
    if (!reduced)
        reading.byDefault(mixed + "reduce_dtype", "float32", "/training/gradient_dtype");
}

/// Kernels: fused ones of Liger and Triton unless "eager" is asked for. The loss takes the head along.
void readVeOmniKernels(Job& job)
{
    Reading& reading = job.reading;
    const std::string of = "model.ops_implementation.";
    job.training["flash_attention"] =
        reading.wordOr(of + "attn_implementation", "/training/flash_attention", "flash_attention_2") != "eager";
    constexpr const char* kLoss = "/training/loss_chunk_tokens";
    const auto loss = reading.word(of + "cross_entropy_loss_implementation", kLoss);
    if (loss.value_or("liger_kernel") != "eager") {
        job.training["loss_chunk_tokens"] = kFusedLossChunk;
        if (loss)
            reading.addNote(of + "cross_entropy_loss_implementation", Became::used,
                            "no file says how long a chunk is: 1,024 tokens stand for it", kLoss);
        else
            reading.byDefault(of + "cross_entropy_loss_implementation", "liger_kernel", kLoss,
                              "is not given: the head and the loss together, by about 1,024 tokens");
    }
    const bool isEager = reading.word(of + "rms_norm_implementation", "/training/stack") == "eager";
    if (reading.flag("train.torch_compile.enable", "/training/stack").value_or(false)) {
        reading.say("train.torch_compile.enable", Became::notRepresentable, "a compiled model: see training.stack",
                    "/training/stack");
    } else if (isEager) {
        putSoftware(job, stacks::kEager, "the nearest of the catalogue: module by module, over FSDP 2");
    } else {
        putSoftware(job, stacks::kFusedModules,
                    "the nearest of the catalogue: fused norms, MLP and loss (Liger's here) without a compiler");
    }
}

void readVeOmniTuning(Job& job)
{
    Reading& reading = job.reading;
    if (reading.has("model.lora_config.r"))
        readLora(job, {.rank = "model.lora_config.r",
                       .targets = "model.lora_config.target_modules",
                       .dropout = "model.lora_config.lora_dropout"});
    putOptimizer(job, "train.optimizer.type", reading.wordOr("train.optimizer.type", "/training/optimizer", "adamw"));
    const bool recomputes = reading.flagOr("train.gradient_checkpointing.enable", "/training/recompute", true);
    job.training["recompute"] = recomputes ? "full" : "none";
}

void readVeOmniBatch(Job& job)
{
    Reading& reading = job.reading;
    job.microBatch = reading.sizeOr("train.micro_batch_size", "/training/micro_batch_size", 1);
    job.globalBatch = reading.size("train.global_batch_size", "/training/global_batch_size");
    settleBatch(job);
    job.training["sequence_length"] = reading.sizeOr("data.max_seq_len", "/training/sequence_length", 2048);
    if (reading.flag("train.dyn_bsz", "/training/documents").value_or(true))
        reading.has("train.dyn_bsz")
            ? reading.say("train.dyn_bsz", Became::notRepresentable,
                          std::string(kPackedDocuments) + "; a micro-batch is as many tokens as its sequences may have")
            : reading.byDefault("train.dyn_bsz", true, "/training/documents",
                                "is not given: a micro-batch is as many tokens as its sequences may have, packed; imported as "
                                "whole sequences");
    const std::string type = reading.word("data.data_type", "").value_or("conversation");
    countSequences(job, sequencesOfObjective(job, "data.data_type", type == "dpo" ? "dpo" : "sft"));
}

} // namespace

void readVeOmni(Job& job)
{
    Reading& reading = job.reading;
    reading.apply(kVeOmniNames);
    for (const char* name : {"model.model_path", "model.config_path"})
        if (const auto path = reading.word(name, "/model/base"); path && !job.model.contains("base"))
            putModelByName(job, name, *path);
        else if (path)
            reading.say(name, Became::harmless, "the model is known");
    const VeOmniAxes axes = readVeOmniAxes(job);
    readVeOmniSharding(job, axes);
    readVeOmniBatch(job);
    readVeOmniTuning(job);
    readVeOmniKernels(job);
    static constexpr auto kNot = std::to_array<Alias>({
        {"train.accelerator.fsdp_config.offload", "parameters on the host have no key"},
        {"train.accelerator.offload_config.enable_activation", "activations on the host: see training.offload.activation_layers"},
        {"train.bsz_warmup_ratio", "batches that grow: the last size is imported"},
        {"train.accelerator.enable_async", "Ulysses' transfers beside the products have no key"},
        {"train.accelerator.extra_parallel_*", "parallelism of other parts of the model has no key"},
        {"train.chunk_mbs_config.enable", "layers that take a micro-batch in parts have no key"},
        {"train.enable_batch_invariant_mode", "kernels that do not depend on the batch have no key"},
        {"train.enable_full_determinism", "kernels that give the same bits each time have no key"},
        {"model.encoders.*", "what images and sounds take is not counted: the model is its text part"},
        {"model.decoders.*", "what images and sounds take is not counted: the model is its text part"},
        {"model.foundation.*", "changes to the model's config.json: say them with --set model.…"},
        {"model.model_config.*", "changes to the model's config.json: say them with --set model.…"},
        {"train.freeze_*", "weights that are not trained have no key"},
        {"train.vit_lr", "what images take is not counted"},
        {"model.lora_config.*", "imported as LoRA"},
        {"model.ops_implementation.moe_implementation", "how experts' products are computed: see training.stack"},
        {"data.mm_configs.*", "what images and sounds take is not counted: the model is its text part"},
    });
    reading.harmless(
        std::to_array<std::string_view>({"model.lora_config.alpha", "model.lora_config.lora_alpha",
                                         "model.lora_config.use_rslora", "train.freeze_vit", "model.lora_config.base_model_*"}));
    reading.notRepresentable(kNot);
    reading.harmless(std::to_array<std::string_view>({"data.train_*",
                                                      "data.eval_*",
                                                      "data.data_*",
                                                      "data.datasets_*",
                                                      "data.multisource_*",
                                                      "data.source_*",
                                                      "data.dyn_bsz_*",
                                                      "data.text_keys",
                                                      "data.chat_template",
                                                      "data.silent_*",
                                                      "data.dataloader*",
                                                      "data.drop_last",
                                                      "data.num_workers",
                                                      "data.prefetch_*",
                                                      "data.pin_memory",
                                                      "data.shuffle*",
                                                      "model.tokenizer_path",
                                                      "model.safetensor_*",
                                                      "model.basic_modules",
                                                      "model.ops_implementation.*",
                                                      "model.input_*",
                                                      "model.output_*",
                                                      "model.encode_target",
                                                      "train.checkpoint.*",
                                                      "train.wandb.*",
                                                      "train.profile.*",
                                                      "train.channel_loss.*",
                                                      "train.optimizer.*",
                                                      "train.output_dir",
                                                      "train.lr*",
                                                      "train.weight_decay",
                                                      "train.max_grad_norm",
                                                      "train.num_train_epochs",
                                                      "train.init_device",
                                                      "train.empty_cache_steps",
                                                      "train.gc_steps",
                                                      "train.eval_*",
                                                      "train.seed",
                                                      "train.max_steps",
                                                      "train.save_*",
                                                      "train.load_*",
                                                      "train.hf_*",
                                                      "train.use_wandb",
                                                      "train.wandb_*",
                                                      "train.enable_profiling",
                                                      "train.profile_*",
                                                      "train.ckpt_manager",
                                                      "train.async_*",
                                                      "train.dyn_bsz_*",
                                                      "train.pad_*",
                                                      "train.sync_each_*",
                                                      "train.broadcast_*",
                                                      "train.ep_sharded_*",
                                                      "train.moe_load_*",
                                                      "train.bsz_warmup_*",
                                                      "train.local_rank",
                                                      "train.enable_reentrant",
                                                      "train.gradient_checkpointing.*",
                                                      "train.torch_compile.*",
                                                      "train.accelerator.ep_outside",
                                                      "train.accelerator.fsdp_config.forward_prefetch",
                                                      "train.accelerator.fsdp_config.reshard_after_backward",
                                                      "train.accelerator.fsdp_config.max_load_*",
                                                      "train.accelerator.fsdp_config.mixed_precision.*",
                                                      "train.accelerator.offload_config.*",
                                                      "train.activation_gpu_limit",
                                                      "train.enable_forward_prefetch",
                                                      "train.enable_fsdp_*",
                                                      "train.enable_manual_*",
                                                      "train.module_fsdp_*",
                                                      "train.rmpad*",
                                                      "train.basic_modules",
                                                      "train.use_doptim",
                                                      "train.enable_rank0_init",
                                                      "train.dataloader*",
                                                      "dpo_config.*",
                                                      "train.drop_last",
                                                      "train.chunk_mbs_config.*",
                                                      "train.warmup_*",
                                                      "train.enable_compile",
                                                      "train.max_ckpt*"}));
}

} // namespace sim::frameworks
