#include "sim/frameworks/dialects/megatron_trainers.h"

#include "sim/frameworks/dialects/megatron_experts.h"

#include "sim/frameworks/dialects/fsdp.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim::frameworks {
namespace {

bool isOfSwift(const Reading& reading)
{
    return reading.has("@program") && shownValue(*reading.peek("@program")).starts_with("megatron ");
}

bool isOfSlime(const Reading& reading)
{
    return reading.has("actor_num_gpus_per_node") || reading.has("actor_num_nodes");
}

/// The actor's GPUs are a part of those that Ray has, which generation has others of: slime/utils/arguments.py.
void readActorWorld(Job& job)
{
    Reading& reading = job.reading;
    job.nodes = reading.sizeOr("actor_num_nodes", "/cluster/nodes", 1);
    job.gpusPerNode = reading.sizeOr("actor_num_gpus_per_node", "/cluster/gpus_per_node", 8);
    for (const char* name : {"@nodes", "@gpus_per_node", "@gpus"})
        if (reading.has(name))
            reading.say(name, Became::harmless,
                        "those of the trainer alone are imported: " + reading.spelled("actor_num_gpus_per_node") + " of " +
                            reading.placeOf("actor_num_gpus_per_node"));
}

} // namespace

bool isOfTrainerOnCore(const Reading& reading)
{
    return isOfSwift(reading) || isOfSlime(reading);
}

MegatronRules rulesOfTrainer(Job& job, MegatronRules rules)
{
    Reading& reading = job.reading;
    if (isOfSwift(reading)) { // swift/megatron/arguments/megatron_args.py of modelscope/ms-swift at 3602360
        rules.alwaysShardsOptimizer = reading.flag("use_distributed_optimizer", "/layout/zero_stage").value_or(true);
        rules.expertTensor = 1;
        rules.microBatch = 1;
        rules.globalBatch = 16;
        rules.recompute = "selective";
        rules.precision = "bf16";
        reading.say("@program", Became::harmless, "ms-swift's trainer, whose defaults count");
    } else if (isOfSlime(reading)) { // slime/backends/megatron_utils/arguments.py of THUDM/slime at 624b824
        rules.alwaysShardsOptimizer = true;
        rules.precision = "bf16";
        readActorWorld(job);
    }
    return rules;
}

void readTrainersOwn(Job& job)
{
    Reading& reading = job.reading;
    if (const std::optional<std::string> type = reading.word("tuner_type", "/training/lora"); type && type->starts_with("lora")) {
        job.training["lora"] = {{"rank", reading.sizeOr("lora_rank", "/training/lora/rank", 8)}};
        readMegatronTargets(job, "target_modules", "all-linear");
    }
    if (!isOfSwift(reading) && !isOfSlime(reading))
        return;
    static constexpr std::array kNot = {
        Alias{"packing", kPackedDocuments},
        Alias{"padding_free", kPackedDocuments},
        Alias{"use_dynamic_batch_size", "micro-batches of so many tokens: see training.documents"},
        Alias{"max_tokens_per_gpu", "micro-batches of so many tokens: see training.documents"},
        Alias{"vllm_*", "the step of training is imported; generation in between is not"},
        Alias{"use_vllm", "the step of training is imported; generation in between is not"},
        Alias{"sglang_*", "the step of training is imported; generation in between is not"},
        Alias{"rollout_num_gpus*", "the step of training is imported; generation in between is not"},
        Alias{"colocate", "the step of training is imported; generation in between is not"},
        Alias{"offload_model", "what is moved to the host for generation has no key"},
        Alias{"offload_optimizer", "what is moved to the host for generation has no key"},
        Alias{"teacher_model", "a teacher beside the model has no key"},
        Alias{"ref_load", "the forward pass of a reference model has no key"},
        Alias{"multi_turn_*", "the step of training is imported; generation in between is not"}};
    reading.notRepresentable(kNot);
    // Data, rewards, the loss, checkpoints.
    static constexpr auto kTrainersHarmless = std::to_array<std::string_view>({"num_train_epochs",
                                                                               "max_epochs",
                                                                               "lora_*",
                                                                               "merge_lora",
                                                                               "modules_to_save",
                                                                               "target_modules",
                                                                               "dataset",
                                                                               "split_dataset_*",
                                                                               "model_*",
                                                                               "system",
                                                                               "*_template",
                                                                               "template_*",
                                                                               "add_non_thinking_*",
                                                                               "enable_thinking",
                                                                               "load_*",
                                                                               "to_mcore",
                                                                               "to_hf",
                                                                               "mcore_*",
                                                                               "test_convert_*",
                                                                               "rlhf_type",
                                                                               "task_type",
                                                                               "num_labels",
                                                                               "beta",
                                                                               "epsilon*",
                                                                               "lmbda",
                                                                               "loss_*",
                                                                               "*_weight",
                                                                               "reward_*",
                                                                               "num_generations",
                                                                               "steps_per_*",
                                                                               "max_completion_length",
                                                                               "max_turns",
                                                                               "sleep_level",
                                                                               "offload_bridge",
                                                                               "offload_teacher_model",
                                                                               "importance_sampling_*",
                                                                               "dynamic_sampl*",
                                                                               "overlong_*",
                                                                               "truncation_*",
                                                                               "remove_unused_*",
                                                                               "stream",
                                                                               "report_to",
                                                                               "adapters",
                                                                               "linear_decoupled_*",
                                                                               "torch_dtype",
                                                                               "rollout_*",
                                                                               "num_rollout",
                                                                               "num_steps_per_rollout",
                                                                               "n_samples_*",
                                                                               "over_sampling_*",
                                                                               "advantage_*",
                                                                               "use_kl_loss",
                                                                               "kl_*",
                                                                               "entropy_*",
                                                                               "eps_clip*",
                                                                               "use_tis",
                                                                               "input_key",
                                                                               "label_key",
                                                                               "*_key",
                                                                               "apply_chat_*",
                                                                               "rm_*",
                                                                               "balance_data",
                                                                               "hf_checkpoint",
                                                                               "megatron_to_hf_*",
                                                                               "address",
                                                                               "runtime_env_json",
                                                                               "use_*_data*",
                                                                               "custom_*",
                                                                               "partial_rollout"});
    reading.harmless(kTrainersHarmless);
}

} // namespace sim::frameworks
