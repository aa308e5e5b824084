// OpenRLHF's programs (OpenRLHF/OpenRLHF at 3c3be623: openrlhf/cli, openrlhf/utils/deepspeed), which write DeepSpeed's JSON by
// themselves from their flags.
#include "sim/frameworks/dialects/deepspeed.h"
#include "sim/frameworks/dialects/fsdp.h"
#include "sim/frameworks/dialects/objectives.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

Json hostIfTrue(const Json& value)
{
    return value == Json(true) ? Json("cpu") : Json(nullptr);
}

constexpr auto kOpenRlhfNames = std::to_array<Alias>({
    {"train.batch_size", "train_batch_size"},
    {"train.micro_batch_size", "train_micro_batch_size_per_gpu"},
    {"data.max_len", "@length"},
    {"model.model_name_or_path", "@model"},
    {"model.gradient_checkpointing_enable", "gradient_checkpointing"},
    {"ds.zero_stage", "zero_optimization.stage"},
    {"ds.param_dtype", "dtype"},
    {"ds.attn_implementation", "attn_implementation"},
    {"ds.packing_samples", "packing_samples"},
    {"ds.ring_attn_size", "ring_attn_size"},
    {"ds.adam_offload", "zero_optimization.offload_optimizer.device", hostIfTrue},
    {"ds.overlap_comm", "zero_optimization.overlap_comm"},
    {"ds.grad_accum_dtype", "data_types.grad_accum_dtype"},
    {"grad_accum_dtype", "data_types.grad_accum_dtype"},
    {"ds.lora.rank", "lora_rank"},
    {"ds.lora.dropout", "lora_dropout"},
    {"ds.lora.target_modules", "lora_targets"},
    {"lora_targets"},
    {"ds.load_in_4bit", "load_in_4bit"},
    {"ds.use_liger_kernel", "use_liger_kernel"},
    {"ds.tensor_parallel_size", "tensor_parallel.autotp_size"},
    {"ds.zpg", "zero_optimization.zero_hpz_partition_size"},
    {"zpg", "zero_optimization.zero_hpz_partition_size"},
    {"ds.deepcompile", "compile.deepcompile"},
    // of the jobs that Ray runs, the actor is what is trained
    {"actor.num_nodes", "@nodes"},
    {"actor.num_gpus_per_node", "@gpus_per_node"},
    {"actor_num_nodes", "@nodes"},
    {"actor_num_gpus_per_node", "@gpus_per_node"},
    {"actor.model_name_or_path", "@model"},
    {"actor.gradient_checkpointing_enable", "gradient_checkpointing"},
    {"max_tokens_per_gpu", "train.max_tokens_per_gpu"},
    {"use_dynamic_batch", "train.dynamic_batch_enable"},
});

constexpr std::string_view kOpenRlhfPrograms = "openrlhf.cli.train_";

/// "sft" of openrlhf.cli.train_sft, or of somebody's trainer.sft; what Ray runs is all reinforcement.
std::string objectiveOfOpenRlhf(const Reading& reading)
{
    const std::string& program = reading.program();
    const std::string name = program.starts_with(kOpenRlhfPrograms) ? program.substr(kOpenRlhfPrograms.size())
                                                                    : program.substr(program.rfind('.') + 1);
    return name.ends_with("_ray") ? "ppo_ray" : name;
}

/// Zero and the programs' defaults say nothing.
void quietOpenRlhfDefaults(Reading& reading)
{
    for (const auto& [name, value] :
         {std::pair{"zero_optimization.zero_hpz_partition_size", Json(1)}, std::pair{"tensor_parallel.autotp_size", Json(1)}})
        if (const Json* const given = reading.peek(name); given != nullptr && *given == value)
            reading.say(name, Became::harmless, "is the default");
}

} // namespace

bool isOpenRlhf(const Reading& reading)
{
    return reading.program().starts_with(kOpenRlhfPrograms) || reading.has("ds.zero_stage") ||
           reading.spelled("zero_optimization.stage") == "--ds.zero_stage"; // under its own name or that of DeepSpeed's file
}

void useOpenRlhfNames(Reading& reading)
{
    reading.apply(kOpenRlhfNames);
}

void readOpenRlhf(Job& job)
{
    Reading& reading = job.reading;
    const std::string objective = objectiveOfOpenRlhf(reading);
    quietOpenRlhfDefaults(reading);
    constexpr int kMostOfPart = 1 << 28;
    const auto prompt = reading.size("prompt_max_len", "/training/sequence_length");
    const auto answer = reading.size("generate_max_len", "/training/sequence_length");
    if (prompt && answer && !reading.has("@length"))
        job.training["sequence_length"] = std::min(*prompt, kMostOfPart) + std::min(*answer, kMostOfPart);
    if (!reading.has("dtype") && !reading.has("bf16.enabled")) {
        job.training["precision"] = "bf16";
        reading.takeDefaults("/training/precision");
        reading.byDefault("dtype", "bf16", "/training/precision");
    }
    countSequences(job, sequencesOfObjective(job, "objective", objective));
    if (reading.flag("train.dynamic_batch_enable", "/training/documents").value_or(false))
        reading.say("train.dynamic_batch_enable", Became::notRepresentable,
                    "micro-batches of so many tokens: see training.documents", "/training/documents");
    if (const auto given = reading.any("lora_targets", "/training/lora/targets"); given && job.training.contains("lora")) {
        const std::vector<std::string> modules = moduleNames(*given);
        Json& lora = job.training["lora"];
        if (!modules.empty())
            lora["targets"] = importedLoraTargets(job, "lora_targets", modules,
                                                  {.rank = memberOr<int>(lora, "rank", 0), .areAll = namesAllLinear(modules)});
    } else if (given) {
        reading.say("lora_targets", Became::harmless, "counts only beside a rank");
    }
    static constexpr auto kNot = std::to_array<Alias>({
        {"vllm.*", "the step of training is imported; generation in between is not"},
        {"vllm_*", "the step of training is imported; generation in between is not"},
        {"rollout.*", "the step of training is imported; generation in between is not"},
        {"rollout_*", "the step of training is imported; generation in between is not"},
        {"micro_rollout_batch_size", "the step of training is imported; generation in between is not"},
        {"n_samples_per_prompt", "the step of training is imported; generation in between is not"},
        {"ref.*", "the reference model is not simulated"},
        {"ref_*", "the reference model is not simulated"},
        {"reward.*", "the reward model is not simulated"},
        {"reward_*", "the reward model is not simulated"},
        {"critic.*", "the step of the actor is imported, the critic's is not"},
        {"critic_*", "the step of the actor is imported, the critic's is not"},
        {"train.colocate_all", "models that share GPUs: imported is the actor alone"},
        {"colocate_*", "models that share GPUs: imported is the actor alone"},
        {"train.colocate_*", "models that share GPUs: imported is the actor alone"},
        {"ds.enable_sleep", "what is moved to the host for generation has no key"},
        {"deepspeed_enable_sleep", "what is moved to the host for generation has no key"},
        {"train.max_tokens_per_gpu", "micro-batches of so many tokens: see training.documents"},
        {"train.async_enable", "generation beside the training is not simulated"},
        {"async_train", "generation beside the training is not simulated"},
        {"train.enable_ema", "a second copy of the weights has no key"},
        {"enable_ema", "a second copy of the weights has no key"},
        {"ds.ring_attn_head_stride", "how context-parallel ranks talk has no key"},
        {"ring_head_stride", "how context-parallel ranks talk has no key"},
        {"muon.*", "see training.optimizer"},
    });
    if (const auto optimizer = reading.word("optim", "/training/optimizer"))
        putOptimizer(job, "optim", *optimizer);
    reading.notRepresentable(kNot);
    reading.harmless(std::to_array<std::string_view>({"ckpt.*",
                                                      "ckpt_*",
                                                      "logger.*",
                                                      "eval.*",
                                                      "data.*",
                                                      "adam.*",
                                                      "actor.adam.*",
                                                      "actor.muon.*",
                                                      "actor.optim",
                                                      "actor.lr_*",
                                                      "actor.max_norm",
                                                      "actor.eps_clip*",
                                                      "actor.dual_clip",
                                                      "actor.policy_loss_type",
                                                      "actor.aux_loss_coef",
                                                      "actor.entropy*",
                                                      "actor.gradient_checkpointing_reentrant",
                                                      "train.max_epochs",
                                                      "train.seed",
                                                      "train.num_episodes",
                                                      "train.ema_beta",
                                                      "train.async_queue_size",
                                                      "train.agent_func_path",
                                                      "train.full_determinism*",
                                                      "algo.*",
                                                      "model.beta",
                                                      "model.*loss*",
                                                      "model.gradient_checkpointing_reentrant",
                                                      "model.pretrain_mode_enable",
                                                      "model.ipo_enable",
                                                      "model.label_smoothing",
                                                      "lr_*",
                                                      "min_lr_ratio",
                                                      "max_norm",
                                                      "ds.lora.*",
                                                      "lora_alpha",
                                                      "use_ms",
                                                      "ds.use_universal_ckpt",
                                                      "ds.value_head_prefix",
                                                      "value_head_prefix",
                                                      "actor_learning_rate",
                                                      "critic_learning_rate",
                                                      "init_kl_coef",
                                                      "advantage_*",
                                                      "num_episodes",
                                                      "max_epochs",
                                                      "normalize_reward",
                                                      "temperature",
                                                      "top_p",
                                                      "gamma",
                                                      "lambd",
                                                      "eps_clip*",
                                                      "dual_clip",
                                                      "kl_*",
                                                      "use_kl_*",
                                                      "entropy_*",
                                                      "remote_rm_url",
                                                      "agent_func_path",
                                                      "prompt_data*",
                                                      "save_hf_ckpt",
                                                      "disable_ds_ckpt",
                                                      "load_checkpoint",
                                                      "max_ckpt_*",

                                                      "beta",
                                                      "nll_loss_coef",
                                                      "ipo",
                                                      "label_smoothing",
                                                      "chosen_key",
                                                      "rejected_key",
                                                      "multiturn",
                                                      "aux_loss_coef",
                                                      "local_rank",
                                                      "pretrain_mode",
                                                      "runtime_env_json",
                                                      "address",
                                                      "no_wait",
                                                      "prompt_max_len",
                                                      "generate_max_len",
                                                      "disable_fast_tokenizer",
                                                      "freezing_actor_steps",
                                                      "enable_prefix_caching",
                                                      "enforce_eager",
                                                      "dynamic_filtering*",
                                                      "overlong_*",
                                                      "input_*",
                                                      "label_key",
                                                      "is_async"}));
}

} // namespace sim::frameworks
