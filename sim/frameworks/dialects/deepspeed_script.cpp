// Scripts that DeepSpeed's launcher starts a trainer with: Hugging Face's Trainer (transformers 008e574), DeepSpeed-Chat
// (deepspeedai/DeepSpeedExamples), OpenRLHF. Their flags fill in what DeepSpeed's JSON leaves "auto", or stand in its
// place.
#include "sim/frameworks/dialects/deepspeed.h"
#include "sim/frameworks/dialects/fsdp.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

Json cpuIfTrue(const Json& value)
{
    return value == Json(true) ? Json("cpu") : Json(nullptr);
}

constexpr std::array kTrainerNames = {
    Alias{"per_device_train_batch_size", "train_micro_batch_size_per_gpu"},
    Alias{"micro_train_batch_size", "train_micro_batch_size_per_gpu"},
    Alias{"per_device_training_batch_size", "train_micro_batch_size_per_gpu"}, // DeepSpeed-Chat's third step, whose actor trains
    Alias{"actor_zero_stage", "zero_optimization.stage"},
    Alias{"actor_gradient_checkpointing", "gradient_checkpointing"},
    Alias{"actor_lora_dim", "lora_dim"},
    Alias{"zero_stage", "zero_optimization.stage"},
    Alias{"overlap_comm", "zero_optimization.overlap_comm"},
    Alias{"offload", "zero_optimization.offload_optimizer.device", cpuIfTrue},
    Alias{"adam_offload", "zero_optimization.offload_optimizer.device", cpuIfTrue},
    Alias{"bf16", "bf16.enabled"},
    Alias{"fp16", "fp16.enabled"},
    Alias{"ds_tensor_parallel_size", "tensor_parallel.autotp_size"},
    Alias{"max_seq_len", "@length"},
    Alias{"max_seq_length", "@length"},
    Alias{"max_len", "@length"},
    Alias{"max_length", "@length"},
    Alias{"model_max_length", "@length"},
    Alias{"cutoff_len", "@length"},
    Alias{"block_size", "@length"},
    Alias{"model_name_or_path", "@model"},
    Alias{"pretrain", "@model"},
    Alias{"actor_model_name_or_path", "@model"},
    Alias{"nproc_per_node", "@gpus_per_node"},
    Alias{"num_gpus", "@gpus_per_node"},
    Alias{"nnodes", "@nodes"},
    Alias{"num_nodes", "@nodes"},
};

/// Pai-Megatron-Patch's scripts that train Transformers' models with its Trainer (alibaba/Pai-Megatron-Patch at a098ca5,
/// examples/*/ds_train_huggingface_*.py), under Megatron's names.
constexpr std::array kPaiNames = {Alias{"micro_batch_size", "train_micro_batch_size_per_gpu"}, Alias{"seq_length", "@length"},
                                  Alias{"flash", "flash_attn"}, Alias{"enable_gradient_checkpointing", "gradient_checkpointing"}};

/// Sizes of the model that it makes anew, and what its file of DeepSpeed says, which it writes of a template.
void readPai(Job& job)
{
    Reading& reading = job.reading;
    readHuggingFaceModel(job, "");
    if (!reading.has("zero_optimization.stage")) {
        reading.takeDefaults("/layout/zero_stage");
        job.ask("/layout/zero_stage",
                "the stage of ZeRO is in the ds_config.json that the script writes of ds_config_TEMPLATE.json: 0 is assumed");
    }
    reading.harmless(std::to_array<std::string_view>(
        {"load", "node_rank", "save", "train_data", "valid_data", "epochs", "lr", "num_workers", "model"}));
}

} // namespace

bool isPaiOfTransformers(const Reading& reading)
{
    return reading.program().starts_with("ds_train_huggingface");
}

void useTrainerNames(Reading& reading)
{
    if (isPaiOfTransformers(reading))
        reading.apply(kPaiNames);
    if (isOpenRlhf(reading))
        useOpenRlhfNames(reading);
    reading.apply(kTrainerNames);
}

std::string_view settingOfTransformers(const Reading& reading)
{
    // The values of DeepSpeed's file that they fill in (transformers, integrations/deepspeed.py); its tuner takes "auto" for
    // others.
    static constexpr std::array<std::string_view, 14> kFilled = {"train_micro_batch_size_per_gpu",
                                                                 "train_batch_size",
                                                                 "gradient_accumulation_steps",
                                                                 "gradient_clipping",
                                                                 "bf16.enabled",
                                                                 "fp16.enabled",
                                                                 "optimizer.params.lr",
                                                                 "optimizer.params.betas",
                                                                 "optimizer.params.eps",
                                                                 "optimizer.params.weight_decay",
                                                                 "scheduler.params.warmup_num_steps",
                                                                 "zero_optimization.reduce_bucket_size",
                                                                 "zero_optimization.stage3_prefetch_bucket_size",
                                                                 "zero_optimization.stage3_param_persistence_threshold"};
    if (!reading.hasPrefix("autotuning."))
        for (const std::string_view name : kFilled)
            if (const Json* const given = reading.peek(name); given != nullptr && *given == Json("auto"))
                return name;
    const std::string_view batch = kFilled.front();
    if (isPaiOfTransformers(reading) || isOpenRlhf(reading))
        return batch;
    const Json* const file = reading.peek("deepspeed"); // of DeepSpeed-Chat a switch
    const bool isOfTrainer = file != nullptr && file->is_string() && file->get<std::string>().ends_with(".json") &&
                             reading.spelled(batch) == "--per_device_train_batch_size";
    return isOfTrainer ? batch : std::string_view();
}

void readTrainerWorld(Job& job)
{
    Reading& reading = job.reading;
    const auto count = [&reading](const char* name, const char* pointer) {
        const std::optional<int> value = reading.integer(name, pointer);
        return value && *value > 0 ? value : std::nullopt;
    };
    job.nodes = count("@nodes", "/cluster/nodes");
    job.gpusPerNode = count("@gpus_per_node", "/cluster/gpus_per_node");
    if (!job.gpus)
        job.gpus = count("@gpus", "/cluster");
    if (job.gpusPerNode && !job.nodes && !job.gpus && !job.askedGpus && !reading.has("@nodes")) {
        job.nodes = 1;
        reading.byDefault("num_nodes", 1, "/cluster/nodes", "the launcher starts one node unless told");
    }
    if (const std::optional<int> ring = reading.size("ring_attn_size", "/layout/cp"))
        job.cp = *ring;
}

void readTrainer(Job& job)
{
    Reading& reading = job.reading;
    if (const std::optional<std::string> name = reading.word("@model", "/model/base"))
        putModelByName(job, "@model", *name);
    if (const std::optional<int> length = reading.size("@length", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    if (reading.has(
            "torch_dtype")) // of Transformers' scripts: what weights are loaded in; DeepSpeed makes them what it trains in
        reading.say("torch_dtype", Became::harmless, "bf16 and fp16 say what is trained in");
    const std::optional<int> prompt = reading.size("max_prompt_seq_len", "/training/sequence_length");
    const std::optional<int> answer = reading.size("max_answer_seq_len", "/training/sequence_length");
    if (prompt && answer && *prompt < (1 << 28) && *answer < (1 << 28) && !reading.has("@length"))
        job.training["sequence_length"] = *prompt + *answer;
    if (const std::optional<std::string> dtype = reading.word("dtype", "/training/precision");
        dtype && !precisionWord(*dtype).empty()) {
        job.training["precision"] = precisionWord(*dtype);
        reading.takeDefaults("/training/precision");
    } else if ((reading.spelled("@length") == "--max_seq_len" || answer) &&
               job.training["precision"] == "fp32") { // DeepSpeed-Chat's
        job.training["precision"] = "fp16";
        reading.takeDefaults("/training/precision");
        reading.byDefault("dtype", "fp16", "/training/precision");
    }
    if (isPaiOfTransformers(reading))
        readPai(job);
    if (reading.flag("gradient_checkpointing", "/training/recompute").value_or(false))
        job.put("/training/recompute", "full");
    if (reading.flag("flash_attn", "/training/flash_attention").value_or(false))
        job.training["flash_attention"] = true;
    if (const auto kernel = reading.word("attn_implementation", "/training/flash_attention"))
        job.training["flash_attention"] = *kernel != "eager";
    for (const char* name : {"lora_dim", "lora_rank", "lora_r"})
        if (const std::optional<int> rank = reading.integer(name, "/training/lora/rank"); rank && *rank > 0)
            job.training["lora"] = {{"rank", *rank}};
    for (const char* name : {"use_liger_kernel", "use_liger"})
        putFusedLoss(job, name);
    if (const auto dropout = reading.real("lora_dropout", "/training/lora/dropout");
        dropout && *dropout > 0 && job.training.contains("lora"))
        job.training["lora"]["dropout"] = *dropout;
    if (job.training.contains("lora") && reading.flag("load_in_4bit", "/training/lora/base_dtype").value_or(false))
        job.training["lora"]["base_dtype"] = "nf4";
    if (isOpenRlhf(reading))
        readOpenRlhf(job);
    static constexpr std::array kNot = {Alias{"packing_samples", kPackedDocuments},
                                        Alias{"packing", kPackedDocuments},
                                        Alias{"only_optimize_lora", "all but the adapters is frozen: see training.lora"},
                                        Alias{"load_in_4bit", "weights that are trained are not in 4 bits"},
                                        Alias{"enable_hybrid_engine", "generation in between has no key"},
                                        Alias{"actor_*", "the step of one model is imported"},
                                        Alias{"critic_*", "the step of one model is imported"},
                                        Alias{"reward_*", "the step of one model is imported"},
                                        Alias{"inference_tp_size", "generation in between has no key"},
                                        Alias{"tp_gather_*", "generation in between has no key"},
                                        Alias{"vllm_*", "generation in between has no key"},
                                        Alias{"include", "which GPUs of which hosts: say how many with --gpus"},
                                        Alias{"hostfile", "which hosts: say how many GPUs they have with --gpus"}};
    reading.notRepresentable(kNot);
    reading.harmless(std::array<std::string_view, 47>{"num_padding_*",
                                                      "generation_*",
                                                      "ppo_epochs",
                                                      "data_path",
                                                      "data_name",
                                                      "data_split",
                                                      "data_output*",
                                                      "dataset*",
                                                      "data_dir",
                                                      "data_mix*",
                                                      "train_files",
                                                      "validation_*",
                                                      "output_*",
                                                      "learning_rate",
                                                      "lr_*",
                                                      "weight_decay",
                                                      "num_train_*",
                                                      "max_epochs",
                                                      "max_steps",
                                                      "num_warmup_*",
                                                      "warmup_*",
                                                      "seed",
                                                      "deepspeed",
                                                      "logging_*",
                                                      "save_*",
                                                      "eval_*",
                                                      "report_to",
                                                      "wandb_*",
                                                      "tensorboard_*",
                                                      "enable_tensorboard",
                                                      "master_*",
                                                      "module",
                                                      "print_loss",
                                                      "per_device_e*",
                                                      "do_*",
                                                      "tf32",
                                                      "adam_*",
                                                      "use_wandb",
                                                      "input_*",
                                                      "apply_chat_*",
                                                      "max_samples",
                                                      "ckpt_path",
                                                      "load_checkpoint",
                                                      "overwrite_*",
                                                      "prompt_*",
                                                      "tokenizer_*",
                                                      "deepspeed_config"});
}

} // namespace sim::frameworks
