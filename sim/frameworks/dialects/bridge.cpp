// Megatron-Bridge's recipes (NVIDIA-NeMo/Megatron-Bridge at 067f987) and NeMo 2's: other names for Megatron Core's settings, on
// top of what a base recipe says.
#include "sim/frameworks/dialects/megatron_experts.h"
#include "sim/frameworks/dialects/recipe_model.h"
#include "sim/frameworks/dialects/recipe_names.h"
#include "sim/frameworks/job.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <regex>

namespace sim::frameworks {
namespace {

constexpr std::array kBlocksOfConfigs = {
    "model.",     "train.",           "trainer.", "exp_manager.",    "optimizer.",     "ddp.",    "comm_overlap.",
    "tokenizer.", "dataset.",         "dist.",    "checkpoint.",     "scheduler.",     "logger.", "rng.",
    "profiling.", "mixed_precision.", "data.",    "language_model.", "model_parallel."};

Json wordOfFp32(const Json& isOn)
{
    return isOn == Json(true) ? Json("fp32") : Json(nullptr);
}

constexpr std::array kBridgeAliases = {
    Alias{"mixed_precision", "@precision"},
    Alias{"mixed_precision.grad_reduce_in_fp32", "grad_reduce_in_bf16", negated},
    Alias{"mixed_precision.bf16", "bf16"},
    Alias{"mixed_precision.fp16", "fp16"},
    Alias{"mixed_precision.fp32", "@precision", wordOfFp32},
    Alias{"mixed_precision.fp8", "fp8_format"},
    Alias{"mixed_precision.fp4", "fp4_format"},
    Alias{"mixed_precision.fp8_recipe", "fp8_recipe"},
    Alias{"mixed_precision.fp8_param_gather", "fp8_param_gather"},
    Alias{"mixed_precision.fp8_param", "fp8_param_gather"},
    Alias{"mixed_precision.fp4_param_gather", "fp4_param_gather"},
    Alias{"mixed_precision.fp8_dot_product_attention", "fp8_dot_product_attention"},
    Alias{"model.rope_scaling", "use_rope_scaling"},
    Alias{"model.tensor_parallel_size", "tensor_model_parallel_size"},
    Alias{"model.pipeline_parallel_size", "pipeline_model_parallel_size"},
    Alias{"model.expert_parallel_size", "expert_model_parallel_size"},
    Alias{"data.micro_batch_size", "micro_batch_size"},
    Alias{"data.global_batch_size", "global_batch_size"},
    Alias{"data.seq_length", "seq_length"},
    Alias{"tokenizer.vocab_size", "vocab_size"},
    Alias{"dataset.seq_length", "seq_length"},
    Alias{"dataset.sequence_length", "seq_length"},
    Alias{"optimizer.use_distributed_optimizer", "use_distributed_optimizer"},
    Alias{"optimizer.optimizer", "optimizer"},
    Alias{"optimizer.use_precision_aware_optimizer", "use_precision_aware_optimizer"},
    Alias{"optimizer.main_params_dtype", "main_params_dtype"},
    Alias{"optimizer.main_grads_dtype", "main_grads_dtype"},
    Alias{"optimizer.exp_avg_sq_dtype", "exp_avg_sq_dtype"},
    Alias{"optimizer.exp_avg_dtype", "exp_avg_dtype"},
    Alias{"optimizer.optimizer_cpu_offload", "optimizer_cpu_offload"},
    Alias{"optimizer.optimizer_offload_fraction", "optimizer_offload_fraction"},
    Alias{"trainer.num_nodes", "@nodes"},
    Alias{"trainer.devices", "@gpus_per_node"},
    Alias{"trainer.num_gpus_per_node", "@gpus_per_node"},
    Alias{"trainer.tensor_parallelism", "tensor_model_parallel_size"}, // of NeMo 2's functions that make a trainer
    Alias{"trainer.pipeline_parallelism", "pipeline_model_parallel_size"},
    Alias{"trainer.virtual_pipeline_parallelism", "virtual_pipeline_model_parallel_size"},
    Alias{"trainer.context_parallelism", "context_parallel_size"},
    Alias{"trainer.expert_parallelism", "expert_model_parallel_size"},
    Alias{"trainer.sequence_parallelism", "sequence_parallel"},
    Alias{"trainer.precision", "@precision"},
    Alias{"trainer.plugins", "@precision"},
    Alias{"mixed_precision.precision", "@precision"},
    Alias{"num_gpus_per_node", "@gpus_per_node"},
    Alias{"fp8", "fp8_format"},
};

/// "Llama3Config70B" of "nemo.collections.llm.gpt.model.llama.Llama3Config70B"; null of what is no class of a model's sizes.
Json classOfTarget(const Json& target)
{
    const std::string whole = shownValue(target);
    const std::string name = whole.substr(whole.rfind('.') + 1);
    return name.find("Config") != std::string::npos || name.find("Provider") != std::string::npos ? Json(name) : Json(nullptr);
}

/// NeMo 2's MegatronCommOverlapCallback is Bridge's comm_overlap: "trainer.callbacks[0].tp_comm_overlap",
/// "mcomm_overlap_callback.tp_comm_overlap".
std::string overlapOfCallback(const std::string& name)
{
    static constexpr std::array<std::string_view, 10> kItsOwn = {"tp_comm_overlap",
                                                                 "tp_comm_overlap_cfg",
                                                                 "overlap_p2p_comm",
                                                                 "batch_p2p_comm",
                                                                 "overlap_grad_reduce",
                                                                 "overlap_param_gather",
                                                                 "overlap_param_gather_with_optimizer_step",
                                                                 "align_param_gather",
                                                                 "defer_embedding_wgrad_compute",
                                                                 "wgrad_deferral_limit"};
    const std::size_t dot = name.rfind('.');
    const bool isOfCallback =
        dot != std::string::npos && (name.starts_with("trainer.callbacks[") || name.substr(0, dot).ends_with("overlap_callback"));
    const std::string member = isOfCallback ? name.substr(dot + 1) : "";
    return std::find(kItsOwn.begin(), kItsOwn.end(), member) != kItsOwn.end() ? "comm_overlap." + member : name;
}

/// What CommOverlapConfig (training/comm_overlap.py) decides over data parallelism's own settings where there are replicas and
/// they share out the optimizer, unless it is told.
void putPlannedOverlap(Job& job)
{
    Reading& reading = job.reading;
    if (job.dp == 1 || memberOr<int>(job.layout, "zero_stage", 0) == 0)
        return;
    for (const char* key : {"grad_reduce", "param_gather"}) {
        const std::string name = std::string("overlap_") + key;
        if (job.training["overlap"][key] != Json(false) || reading.spelled(name).find("comm_overlap.") != std::string::npos)
            continue;
        job.training["overlap"][key] = true;
        reading.say(name, Became::contradictory,
                    "comm_overlap puts it on where dp is above 1 (here " + std::to_string(job.dp) + "), unless comm_overlap." +
                        name + " is false: true is imported");
    }
}

/// Whether experts fit the GPUs that are told only where tensor-parallel ranks do not cut them.
bool expertsNeedWholeOnes(const Job& job)
{
    const auto sizeOf = [&job](std::string_view name) {
        const Json* const value = job.reading.peek(name);
        return static_cast<long>(value == nullptr ? 1 : std::clamp(valueAs<int>(*value).value_or(1), 1, 1 << 12));
    };
    const long gpus = job.askedGpus.value_or(job.gpus.value_or(0));
    const long whole = sizeOf("expert_model_parallel_size") * sizeOf("pipeline_model_parallel_size");
    return gpus > 0 && gpus % whole == 0 && gpus % (whole * sizeOf("tensor_model_parallel_size")) != 0;
}

/// What a recipe of another file sets is no default of the framework's.
void askForBase(Job& job, const std::string& base)
{
    struct OfBase {
        const char *block, *key;
    };
    for (const auto& [block, key] :
         {OfBase{"layout", "tp"}, OfBase{"layout", "pp"}, OfBase{"layout", "cp"}, OfBase{"layout", "ep"},
          OfBase{"layout", "sequence_parallel"}, OfBase{"training", "global_batch_size"}}) {
        const std::string pointer = "/" + std::string(block) + "/" + key;
        const Json& values = block == std::string_view("layout") ? job.layout : job.training;
        if (job.reading.takeDefaults(pointer))
            job.ask(pointer,
                    shownText(base) + " may set it, which is not in this file: " + values.at(key).dump() + " is assumed");
    }
}

} // namespace

void readBridge(Job& job)
{
    Reading& reading = job.reading;
    // "cfg.model.x", "recipe.model.config.x": what is in front of the first block is the recipe's variable.
    reading.rename([](const std::string& name) {
        if (name.ends_with(".@class"))
            return std::string("@class");
        if (name.ends_with(".@base"))
            return std::string("@base");
        for (const std::string_view owner : {"model.config._target_", "model._target_"}) // of a dump: what makes the model
            if (name == owner || name.ends_with("." + std::string(owner)))
                return std::string("@target");
        std::string out = name;
        for (const std::string_view block : kBlocksOfConfigs)
            if (const std::size_t at = out.find("." + std::string(block)); at != std::string::npos) {
                out = out.substr(at + 1);
                break;
            }
        for (const std::string_view word : {"cfg.", "config.", "recipe.", "self."})
            if (out.starts_with(word))
                out = out.substr(word.size());
        struct Renamed {
            std::string_view own, block;
        };
        for (const auto& [own, block] :
             {Renamed{"model.config.", "model."}, Renamed{"trainer.strategy.ddp.", "ddp."},
              Renamed{"trainer.strategy.", "model."}, Renamed{"model_cfg.", "model."},
              Renamed{"trainer.plugins.", "mixed_precision."}, Renamed{"optim.config.", "optimizer."},
              Renamed{"strategy.", "model."}, Renamed{"conf.", "model."}, Renamed{"provider.", "model."},
              Renamed{"model_provider.", "model."}, Renamed{"opt_cfg.", "optimizer."}, Renamed{"opt_config.", "optimizer."},
              Renamed{"scheduler_cfg.", "scheduler."}, Renamed{"peft_cfg.", "peft."},
              Renamed{"precision_config.", "mixed_precision."}})
            if (out.starts_with(own))
                out = std::string(block) + out.substr(own.size());
        return overlapOfCallback(out);
    });
    if (const Json* const value = reading.peek("mixed_precision.grad_reduce_in_fp32");
        value != nullptr && reading.peek("ddp.grad_reduce_in_fp32") != nullptr) {
        const bool isSame = *value == *reading.peek("ddp.grad_reduce_in_fp32");
        reading.say("ddp.grad_reduce_in_fp32", isSame ? Became::used : Became::contradictory,
                    "mixed precision's own of " + reading.placeOf("mixed_precision.grad_reduce_in_fp32") + " takes its place",
                    "/training/gradient_dtype");
        reading.apply(std::array{Alias{"ddp.grad_reduce_in_fp32", "@replaced"}});
    }
    const auto isOff = [&reading](std::string_view name) {
        const Json* const value = reading.peek(name);
        return value != nullptr && *value == Json(false);
    };
    const bool hasWholeOptimizer = isOff("ddp.use_distributed_optimizer") && isOff("optimizer.use_distributed_optimizer");
    const bool plansOverlap = reading.peek("comm_overlap") != nullptr || reading.hasPrefix("comm_overlap.");
    reading.apply(kBridgeAliases);
    reading.apply(std::array{Alias{"@target", "@class", classOfTarget}});
    dropBlocks(reading);
    useMegatronNames(reading);
    reading.setSpelling(spelledInModel);

    // The model's sizes come from a base recipe: its name stands in the function's.
    std::vector<std::string> words;
    for (const std::vector<std::string>& list : {reading.comments(), job.fileNames})
        for (const std::string& text : list)
            if (words.size() < 200)
                words.push_back(text.substr(0, 300));
    const RecipeModel recipe = putRecipeModel(job, words);
    std::smatch match;
    static const std::regex kGpus("([0-9]{1,6})[ _x-]*gpus?", std::regex::icase);
    for (const std::string& text : words)
        if (!job.askedGpus && !job.gpus && std::regex_search(text, match, kGpus) && std::stoi(match[1].str()) > 0) {
            job.gpus = std::stoi(match[1].str());
            reading.addNote(match[0].str(), Became::used, "GPUs, from a recipe's name or words", "/cluster");
        }
    static const std::regex kLength("seq(?:len)?_?([0-9]{3,7})");
    const std::string buffers =
        reading.peek("tp_comm_overlap_cfg") != nullptr ? shownValue(*reading.peek("tp_comm_overlap_cfg")).substr(0, 300) : "";
    if (reading.peek("seq_length") == nullptr) {
        const bool isNamed = std::regex_search(buffers, match, kLength);
        job.training["sequence_length"] = isNamed ? std::stoi(match[1].str()) : 8192;
        job.ask("/training/sequence_length", isNamed
                                                 ? "taken from the name of overlap buffers: " + match[1].str()
                                                 : std::string("a base recipe's, which is not in this file: 8192 is assumed"));
    }
    if (const Json* const table = reading.peek("tp_comm_overlap_cfg");
        table != nullptr && reading.peek("tp_comm_overlap") == nullptr)
        reading.addNote("tp_comm_overlap_cfg", Became::notRepresentable,
                        "buffers of an overlap that is not switched on in this file");
    MegatronRules rules{.groupsNeedFlag = false,
                        .alwaysShardsOptimizer = !hasWholeOptimizer,
                        .hidesReplicas = true,
                        .backendNamesDispatcher = true,
                        .modelIsNamed = true,
                        .precision = "bf16"};
    if (!recipe.hasSizes && reading.peek("expert_tensor_parallel_size") == nullptr && expertsNeedWholeOnes(job)) {
        rules.expertTensor = 1;
        job.ask("/layout/etp", "experts cut over tensor-parallel ranks would not fit the GPUs: a base recipe's 1 is assumed");
    }
    rules.offloadNeedsSwitch = true;
    readMegatronArguments(job, rules);
    if (!hasWholeOptimizer && isOff("use_distributed_optimizer"))
        reading.say("use_distributed_optimizer", Became::contradictory,
                    "the optimizer and data parallelism each say it, recipes put both on, and where one is on the framework puts "
                    "the other on: ZeRO-1 is imported",
                    "/layout/zero_stage");
    if (const auto base = reading.word("@base", "")) {
        askForBase(job, *base);
        reading.say("@base", Became::unknown, "what it sets stands in another file, which is not read");
    }
    if (plansOverlap)
        putPlannedOverlap(job);
    takeClassDefaults(job, recipe);
    if (const auto scheme = reading.word("peft", "/training/lora");
        scheme == "lora" || (reading.hasPrefix("peft.") && !reading.has("peft.peft_scheme"))) {
        const std::optional<int> rank = reading.integer("peft.dim", "/training/lora/rank");
        if (!rank)
            reading.byDefault("peft.dim", 32, "/training/lora/rank");
        job.training["lora"] = {{"rank", std::max(1, rank.value_or(32))}};
        if (const auto dropout = reading.real("peft.dropout", "/training/lora/dropout"); dropout && *dropout > 0)
            job.training["lora"]["dropout"] = *dropout;
        readMegatronTargets(job, "peft.target_modules", "linear_qkv,linear_proj,linear_fc1,linear_fc2");
    }
    tellPackedSequence(reading);
    reading.harmless(std::array<std::string_view, 2>{"dir", "log_dir"}); // of recipes
    reading.harmless(std::array<std::string_view, 29>{"version",
                                                      "optim.precision",
                                                      "optim.warmup_steps",
                                                      "optim.constant_steps",
                                                      "optim.clip_grad",
                                                      "*_spec",
                                                      "*_fn",
                                                      "*_step",
                                                      "*_method",
                                                      "*_dtype",
                                                      "env_vars*",
                                                      "peft*",
                                                      "mixed_precision.*",
                                                      "hf_*",
                                                      "revision",
                                                      "comm_overlap",
                                                      "rerun_state_machine.*",
                                                      "moe_a2a_overlap",
                                                      "*_call_",
                                                      "*_args_",
                                                      "*_name_",
                                                      "gradient_as_bucket_view",
                                                      "keep_mtp_*",
                                                      "mtp_eval_*",
                                                      "apply_dsa_*",
                                                      "vlm_provider.*",
                                                      "log.*",
                                                      "__all__",
                                                      "use_fused_*"});
    reading.harmlessVariables();
    job.reading.harmless(std::array<std::string_view, 24>{"tokenizer.*",
                                                          "dataset.*",
                                                          "optimizer.*",
                                                          "scheduler.*",
                                                          "checkpoint.*",
                                                          "logger.*",
                                                          "rng.*",
                                                          "profiling.*",
                                                          "data.*",
                                                          "trainer.*",
                                                          "ddp.*",
                                                          "dist.*",
                                                          "average_in_collective",
                                                          "check_for_nan*",
                                                          "*_target_",
                                                          "*_partial_",
                                                          "gradient_accumulation_fusion",
                                                          "cross_entropy*",
                                                          "bucket_size",
                                                          "pad_buckets*",
                                                          "env.*",
                                                          "manual_gc*",
                                                          "should_pad_vocab",
                                                          "apply_rope_fusion"});
}

} // namespace sim::frameworks
