// TRL's YAML and command lines (huggingface/trl at f2cd577; `trl sft`, or its scripts and those of the alignment handbook and
// Open R1 under accelerate), and what else Transformers' Trainer is started with: run_clm.py, FastChat, Alpaca.
#include "sim/frameworks/dialects/objectives.h"
#include "sim/frameworks/dialects/training_arguments.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr std::array kTrlNames = {Alias{"torch_dtype", "dtype"},
                                  Alias{"max_seq_length", "max_length"},
                                  Alias{"max_seq_len", "max_length"},
                                  Alias{"model_max_length", "max_length"},
                                  Alias{"block_size", "max_length"},
                                  Alias{"attn_impl", "attn_implementation"},
                                  Alias{"model", "model_name_or_path"},
                                  Alias{"lora_rank", "lora_r"},
                                  Alias{"lora_target", "lora_target_modules"},
                                  Alias{"use_lora", "use_peft"}};

constexpr std::array<std::string_view, 24> kTrlsPrograms = {
    "sft",  "dpo", "grpo", "rloo",       "kto",     "reward", "orpo", "cpo",  "ppo",          "gkd",     "xpo",  "bco",
    "gold", "prm", "rm",   "online_dpo", "nash_md", "simpo",  "tpo",  "sdft", "distillation", "minillm", "a2po", "gmpo"};

/// "trl sft", "sft.py", "run_sft.py", "grpo_vlm.py", "trl.scripts.dpo": "sft", "grpo", "dpo"; empty where the name says nothing.
std::string objectiveOfProgram(const std::string& program)
{
    std::string name = program.substr(program.find_last_of("/ ") == std::string::npos ? 0 : program.find_last_of("/ ") + 1);
    if (name.ends_with(".py"))
        name.resize(name.size() - 3);
    name = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    if (name.starts_with("run_") || name.starts_with("train_"))
        name = name.substr(name.find('_') + 1);
    std::string best;
    for (const std::string_view word : kTrlsPrograms)
        if (name == word || name.starts_with(std::string(word) + "_") || name.ends_with("_" + std::string(word)))
            best = word.size() > best.size() ? word : best;
    return best;
}

/// By settings that only one trainer has, where no program is named.
std::string objectiveOfSettings(const Reading& reading)
{
    const auto hasAny = [&reading](std::initializer_list<const char*> names) {
        return std::any_of(names.begin(), names.end(), [&](const char* name) { return reading.has(name); });
    };
    if (hasAny({"num_ppo_epochs", "reward_model_path"}))
        return "ppo";
    if (hasAny({"reward_funcs", "num_generations", "max_completion_length"}))
        return "grpo";
    if (hasAny({"desirable_weight", "undesirable_weight"}))
        return "kto";
    if (hasAny({"beta", "precompute_ref_log_probs", "rpo_alpha"}))
        return "dpo";
    return hasAny({"center_rewards_coefficient"}) ? "reward" : "sft";
}

/// The objective, and whether the job is TRL's, whose defaults then count.
struct TrlTask {
    std::string objective, setting;
    bool isOfTrl = false;
};
TrlTask trlTask(Job& job)
{
    Reading& reading = job.reading;
    const std::string& program = reading.program();
    TrlTask trained{objectiveOfProgram(program), "objective"};
    trained.isOfTrl = program.empty() || !trained.objective.empty() || program.starts_with("trl");
    if (trained.objective.empty() && trained.isOfTrl) {
        trained.objective = objectiveOfSettings(reading);
        if (trained.objective != "sft")
            reading.byDefault("trainer", trained.objective, "", "by the settings that only this trainer has");
    }
    return trained;
}

/// Sequences are as long as prompt and answer may become together, where the job writes its own.
void readTrlLength(Job& job, const TrlTask& trained)
{
    Reading& reading = job.reading;
    constexpr const char* kPointer = "/training/sequence_length";
    constexpr int kMostOfPart = 1 << 28, kPrompt = 512, kCompletion = 512;
    if (isReinforcement(trained.objective)) {
        const int completion = reading.sizeOr("max_completion_length", kPointer, kCompletion);
        const auto prompt = reading.size("max_prompt_length", kPointer);
        job.training["sequence_length"] = std::min(completion, kMostOfPart) + std::min(prompt.value_or(kPrompt), kMostOfPart);
        if (!prompt)
            job.ask(kPointer, "how long prompts are is in the data: " + std::to_string(kPrompt) + " tokens are assumed, " +
                                  std::to_string(completion) + " of an answer behind them");
        return;
    }
    if (const auto length = reading.size("max_length", kPointer)) {
        job.training["sequence_length"] = *length;
    } else if (trained.isOfTrl) {
        job.training["sequence_length"] = 1024;
        reading.byDefault("max_length", 1024, kPointer, "is not given: TRL's own");
    }
}

/// SFT's loss takes the output head along, 256 tokens at a time, since 2026 (SFTConfig.loss_type).
void readTrlLoss(Job& job, const TrlTask& trained)
{
    Reading& reading = job.reading;
    if (!trained.isOfTrl || trained.objective != "sft" || job.training.contains("loss_chunk_tokens"))
        return;
    constexpr const char* kPointer = "/training/loss_chunk_tokens";
    constexpr int kChunk = 256;
    const auto type = reading.word("loss_type", kPointer);
    if (type && *type != "chunked_nll")
        return;
    job.training["loss_chunk_tokens"] = kChunk;
    if (!type)
        reading.byDefault("loss_type", "chunked_nll", kPointer,
                          "is not given: TRL of 2026 takes 256 tokens at a time; before, all logits at once: --set "
                          "training.loss_chunk_tokens=0");
}

void readTrlAdapters(Job& job)
{
    Reading& reading = job.reading;
    if (!reading.flag("use_peft", "/training/lora").value_or(false)) {
        if (!reading.has("use_peft") && reading.has("lora_r"))
            reading.say("lora_r", Became::unknown, "counts beside use_peft, which is not given: all weights are trained here");
        return;
    }
    readLora(job, {.rank = "lora_r",
                   .targets = "lora_target_modules",
                   .dropout = "lora_dropout",
                   .rankUnlessGiven = 16,
                   .targetsUnlessGiven = "q_proj,v_proj",
                   .dropoutUnlessGiven = 0.05});
}

} // namespace

void readTrl(Job& job)
{
    Reading& reading = job.reading;
    reading.apply(kTrlNames);
    const TrlTask trained = trlTask(job);
    const TrainerDefaults defaults =
        trained.isOfTrl ? TrainerDefaults{.precision = "bf16", .recomputes = true} : TrainerDefaults();
    if (const auto name = reading.word("model_name_or_path", "/model/base"))
        putModelByName(job, "model_name_or_path", *name);
    const AccelerateAxes axes = readTrainersWorld(job);
    TrainerDefaults mine = defaults;
    if (const Json* const half = reading.peek("fp16"); half != nullptr && *half == Json(true))
        mine.precision = "fp16";
    readTrainersPrecision(job, mine);
    const std::optional<Sharding> given = readTrainersSharding(job);
    const Sharding sharding = given ? *given : wholeReplicas(job);
    readTrlAdapters(job);
    readQuantisedBase(job);
    putSharding(job, sharding, axes);
    if (given || !reading.program().empty())
        putWeightsAsLoaded(job, sharding, "dtype");
    else if (reading.has("dtype"))
        reading.say("dtype", Became::unknown,
                    "whether the optimizer has a copy of the weights in 32 bits follows from how states are shared: as if it had",
                    "/training/master_weights");
    readTrainersBatch(job, mine);
    countSequences(job, sequencesOfObjective(job, trained.setting, trained.objective));
    readTrlLength(job, trained);
    readTrainersRecompute(job, mine);
    readTrainersKernels(job);
    readTrlLoss(job, trained);
    if (const auto kernel = reading.word("attn_implementation", "/training/flash_attention"))
        job.training["flash_attention"] = *kernel != "eager";
    putStackOfTrainer(job, sharding, reading.has("model_name_or_path") ? "model_name_or_path" : "per_device_train_batch_size");
    if (const auto strategy = reading.word("packing_strategy", "/training/documents"); strategy == "wrapped")
        tellPackedAcross(reading, "packing", "packing_strategy bfd");
    else if (strategy)
        reading.say("packing_strategy", Became::harmless, "how documents are packed");
    static constexpr auto kNot = std::to_array<Alias>({
        {"use_vllm", "the step of training is imported; generation in between is not"},
        {"vllm_*", "the step of training is imported; generation in between is not"},
        {"num_iterations", "each batch is trained on so many times: the step is the same"},
        {"sync_ref_model", "the reference model is not simulated"},
        {"precompute_ref_log_probs", "the reference model's pass is made before training, and not simulated"},
        {"config_overrides", "the model's sizes: give its config.json too, or say them with --set model.…"},
        {"config_name", "the model's sizes: give its config.json too, or say them with --set model.…"},
    });
    reading.notRepresentable(kNot);
    tellSettingsFile(job, "config");
    static constexpr auto kHarmless = std::to_array<std::string_view>({"accelerate_config",
                                                                       "config_file",
                                                                       "chat_template*",
                                                                       "completion_only_loss",
                                                                       "assistant_only_loss",
                                                                       "eos_token",
                                                                       "pad_token",
                                                                       "pad_to_multiple_of",
                                                                       "shuffle_dataset",
                                                                       "truncation_mode",
                                                                       "router_aux_loss_coef",
                                                                       "model_init_kwargs*",
                                                                       "lora_*",
                                                                       "use_rslora",
                                                                       "bnb_4bit_*",
                                                                       "use_bnb_*",
                                                                       "beta",
                                                                       "loss_type",
                                                                       "loss_weights",
                                                                       "label_smoothing",
                                                                       "desirable_weight",
                                                                       "undesirable_weight",
                                                                       "max_prompt_length",
                                                                       "max_target_length",
                                                                       "max_completion_len*",
                                                                       "num_generations*",
                                                                       "generation_*",
                                                                       "steps_per_generation",
                                                                       "epsilon*",
                                                                       "temperature",
                                                                       "top_*",
                                                                       "min_p",
                                                                       "repetition_*",
                                                                       "reward_*",
                                                                       "scale_rewards",
                                                                       "mask_truncated_completions",
                                                                       "importance_sampling_level",
                                                                       "ref_model_*",
                                                                       "disable_dropout",
                                                                       "num_completions_to_print",
                                                                       "system_prompt",
                                                                       "cosine_*",
                                                                       "code_*",
                                                                       "callbacks",
                                                                       "benchmarks",
                                                                       "overwrite_*",
                                                                       "e2b_*",
                                                                       "morph_*",
                                                                       "ioi_*",
                                                                       "parallel_code_*",
                                                                       "soft_punish_*",
                                                                       "columns",
                                                                       "test_split_size",
                                                                       "gradient_checkpointing_use_reentrant",
                                                                       "optim_args",
                                                                       "ignore_bias_buffers",
                                                                       "rpo_alpha",
                                                                       "ld_alpha",
                                                                       "f_divergence_*",
                                                                       "f_alpha_*",
                                                                       "discopop_tau",
                                                                       "sapo_*",
                                                                       "vespo_*",
                                                                       "entropy_*",
                                                                       "use_adaptive_*",
                                                                       "use_bias_correction_kl",
                                                                       "multi_objective_*",
                                                                       "off_policy_*",
                                                                       "normalize_advantages",
                                                                       "delta",
                                                                       "cache_implementation",
                                                                       "use_transformers_*",
                                                                       "transformers_continuous_*",
                                                                       "cast_lm_head_to_fp32",
                                                                       "ds3_gather_for_generation",
                                                                       "shuffle_*",
                                                                       "max_tool_calling_*",
                                                                       "train_sampling_strategy",
                                                                       "center_rewards_coefficient",
                                                                       "precompute_ref_batch_size",
                                                                       "dataset*",
                                                                       "data_path",
                                                                       "lazy_preprocess",
                                                                       "instruction_template",
                                                                       "response_template",
                                                                       "sanity_check",
                                                                       "num_ppo_epochs",
                                                                       "kl_*",
                                                                       "response_length",
                                                                       "stop_token*",
                                                                       "missing_eos_penalty",
                                                                       "cliprange*",
                                                                       "vf_coef",
                                                                       "gamma",
                                                                       "lam",
                                                                       "whiten_rewards",
                                                                       "total_episodes",
                                                                       "local_rollout_*",
                                                                       "num_mini_batches",
                                                                       "num_sample_generations",
                                                                       "sft_model_path",
                                                                       "reward_model_path",
                                                                       "max_new_tokens",
                                                                       "lmbda",
                                                                       "seq_kd",
                                                                       "teacher_model_init_*",
                                                                       "use_auth_token",
                                                                       "keep_linebreaks",
                                                                       "max_grad_norm",
                                                                       "model_type"});
    reading.harmless(kHarmless);
    harmlessOfTrainer(reading);
}

} // namespace sim::frameworks
