// torchtitan: TOML of 2024 and 2025 (29624e3 and before), overrides and printed configs of 2026 (b5bcd76).
#include "sim/frameworks/dialects/primus.h"
#include "sim/frameworks/dialects/torchtitan_flavours.h"
#include "sim/frameworks/dialects/torchtitan_parts.h"
#include "sim/frameworks/placements.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <regex>

namespace sim::frameworks {
namespace {

/// Names since 2024, as those of the [parallelism] table of 2025.
constexpr std::array kTitanAliases = {
    Alias{"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
    Alias{"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
    Alias{"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
    Alias{"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
    Alias{"training.sequence_parallel_degree", "parallelism.tensor_parallel_degree"}, // spring 2024: of tp, with it
    Alias{"training.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    Alias{"training.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
    Alias{"experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
    Alias{"compile.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
    Alias{"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
    Alias{"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    Alias{"experimental.pipeline_parallel_split_points", "parallelism.pipeline_parallel_split_points"},
    Alias{"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
    Alias{"experimental.pipeline_parallel_microbatches", "parallelism.pipeline_parallel_microbatches"},
    Alias{"parallelism.moe_comm_backend", "parallelism.expert_parallel_comm_backend"},
    Alias{"parallelism.num_pp_microbatches", "parallelism.pipeline_parallel_microbatches"},
    Alias{"training.batch_size", "training.local_batch_size"},
    Alias{"training.max_context_length", "training.seq_len"},
    Alias{"training.disable_loss_parallel", "parallelism.disable_loss_parallel"},
    Alias{"experimental.disable_loss_parallel", "parallelism.disable_loss_parallel"},
    Alias{"training.fsdp_reshard_after_forward", "parallelism.fsdp_reshard_after_forward"},
};

/// Primus names a file for each flavour: "llama3.1_70B-fp8".
void putModelOfPrimus(Job& job, std::string file)
{
    if (file.ends_with("-fp8"))
        file.erase(file.size() - 4);
    const std::size_t split = file.rfind('_');
    const std::string family = file.substr(0, split), size = split == std::string::npos ? std::string() : file.substr(split + 1);
    std::string upper = size, lower = size;
    std::transform(size.begin(), size.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::transform(size.begin(), size.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const std::string& flavour : {upper, lower})
        if (const TitanFlavour found = titanFlavour(family, flavour, false); !found.base.empty()) {
            job.model["base"] = found.base;
            job.reading.say("@primus.model", Became::used, "the catalogue's " + found.base, "/model/base");
            return;
        } else if (!found.numbers.empty()) {
            job.model = found.numbers;
            job.reading.say("@primus.model", Became::used, "torchtitan's " + family + " " + flavour, "/model/num_hidden_layers");
            return;
        }
    putModelByName(job, "@primus.model", file);
}

void readTitanModel(Job& job)
{
    Reading& reading = job.reading;
    if (const std::optional<std::string> file = modelOfPrimus(reading); file && !reading.has("model.flavor")) {
        putModelOfPrimus(job, *file);
        return;
    }
    const std::optional<std::string> name = reading.word("model.name", "/model/base");
    const std::optional<std::string> flavour = reading.word("model.flavor", "/model/base");
    if (const auto config = reading.word("config", "/model/base")) // --config llama3_8b, since 2026
        putModelByName(job, "config", *config);
    if (const auto of = reading.word("hf_transformers.model", "/model/base")) { // the model is one of Hugging Face's
        putModelByName(job, "hf_transformers.model", *of);
        if (flavour)
            reading.say("model.flavor", Became::harmless, "hf_transformers.model names the model");
        return;
    }
    if (!name || !flavour)
        return;
    const bool isOld =
        reading.hasPrefix("training.tensor_parallel") || reading.spelled("training.local_batch_size") == "training.batch_size";
    if (const TitanFlavour found = titanFlavour(*name, *flavour, isOld); !found.base.empty()) {
        job.model["base"] = found.base;
        reading.say("model.flavor", Became::used, "flavour " + *flavour + " of " + *name + ": the catalogue's " + found.base,
                    "/model/base");
        return;
    } else if (!found.numbers.empty()) {
        job.model = found.numbers;
        reading.say("model.flavor", Became::used,
                    "flavour " + *flavour + " of torchtitan's " + *name + ": " +
                        std::to_string(memberOr<int>(found.numbers, "num_hidden_layers", 0)) + " layers of " +
                        std::to_string(memberOr<int>(found.numbers, "hidden_size", 0)),
                    "/model/num_hidden_layers");
        return;
    }
    putModelByName(job, "model.flavor", *name + "-" + *flavour);
    if (!job.model.contains("base"))
        reading.say("model.flavor", Became::notRepresentable,
                    "flavor " + *flavour + " of " + *name + " is not in the catalogue (--set model.base=…)", "/model/base");
}

/// torchtitan's own checks of experts' degrees (distributed/parallel_dims.py).
void checkTitanExperts(Job& job, int etp, int shard)
{
    const int ep = memberOr<int>(job.layout, "ep", 1);
    if (ep <= 1)
        return;
    Reading& reading = job.reading;
    if (etp != 1 && etp != job.tp)
        reading.say("parallelism.expert_tensor_parallel_degree", Became::contradictory,
                    std::to_string(etp) + ", and tensor_parallel_degree of " +
                        reading.placeOf("parallelism.tensor_parallel_degree") + " is " + std::to_string(job.tp) +
                        ": torchtitan takes 1 or the latter",
                    "/layout/etp");
    const TitanDegrees degrees{
        .shards = std::clamp(shard, 1, 1 << 12), .cp = std::min(job.cp, 1 << 8), .tp = std::min(job.tp, 1 << 8), .etp = etp};
    const int ranks = titanExpertRanks(degrees), unit = titanExpertUnit(degrees);
    const std::string inner = " x cp " + std::to_string(job.cp) + (etp == job.tp ? "" : " x tp " + std::to_string(job.tp));
    if (ranks % ep != 0)
        reading.say("parallelism.expert_parallel_degree", Became::contradictory,
                    std::to_string(ep) + " does not divide the " + std::to_string(ranks) +
                        " ranks that experts lie over: data_parallel_shard_degree " + std::to_string(shard) + inner,
                    "/layout/ep");
    else if (!reading.has("config") && ep % unit != 0) // since 2026, with configs in code, that is all
        reading.say("parallelism.expert_parallel_degree", Became::contradictory,
                    std::to_string(ep) + " is no multiple of the " + std::to_string(unit) + " ranks of" + inner.substr(2) +
                        ", which experts take whole: torchtitan stops with an assertion",
                    "/layout/ep");
}

/// Degrees, ranks, and how parameters are sharded.
void readTitanLayout(Job& job)
{
    Reading& reading = job.reading;
    job.tp = reading.sizeOr("parallelism.tensor_parallel_degree", "/layout/tp", 1);
    job.cp = reading.sizeOr("parallelism.context_parallel_degree", "/layout/cp", 1);
    job.pp = reading.sizeOr("parallelism.pipeline_parallel_degree", "/layout/pp", 1);
    const int replicate =
        std::clamp(reading.integerOr("parallelism.data_parallel_replicate_degree", "/layout/dp_shard", 1), 1, 1 << 14);
    const int shard = reading.integerOr("parallelism.data_parallel_shard_degree", "/layout/dp_shard", -1);
    for (const char* name : {"nproc_per_node", "@gpus_per_node"})
        if (const auto count = reading.integer(name, "/cluster/gpus_per_node"); count && *count > 0)
            job.gpusPerNode = count;
    for (const char* name : {"nnodes", "@nodes"})
        if (const auto count = reading.integer(name, "/cluster/nodes"); count && *count > 0)
            job.nodes = count;
    if (!job.gpusPerNode && !reading.has("@gpus_per_node") && !reading.has("nproc_per_node"))
        job.gpusPerNode = gpusByTasks(reading);
    if (shard > 0 && 1LL * shard * replicate < (1 << 24)) {
        job.givenDp = shard * replicate;
        job.gpusFrom = "parallelism.data_parallel_shard_degree";
    } else if (!job.askedGpus && !(job.nodes && job.gpusPerNode)) {
        static const std::regex kPreset("([0-9]{1,6}) *(?:x *)?(?:[A-Za-z]+[0-9]+[A-Za-z]* *)?(?:GPUs?|A100|H100|H200|B200)");
        std::smatch match;
        for (const std::string& comment : reading.comments())
            if (const std::string head = comment.substr(0, 200);
                !job.gpus && std::regex_search(head, match, kPreset) && std::stoi(match[1].str()) > 0) {
                job.gpus = std::stoi(match[1].str());
                reading.addNote("a comment: " + shownText(comment, 100), Became::used, "GPUs", "/layout/dp");
            }
    }
    if (job.gpusPerNode && !job.nodes && !job.gpus && !job.askedGpus && !job.givenDp && !reading.has("nnodes") &&
        !reading.has("@nodes")) {
        job.nodes = 1;
        reading.byDefault("nnodes", 1, "/cluster/nodes", "the launcher starts one node unless told");
    }
    if (const Json* const ep = reading.peek("parallelism.expert_parallel_degree"))
        job.expertRanks = static_cast<int>(
            std::min(1LL * std::clamp(valueAs<int>(*ep).value_or(1), 1, 1 << 12) * std::min(job.pp, 1 << 8), 1LL << 20));
    settleWorld(job);
    if (replicate > 1 && job.dp % replicate == 0)
        job.layout["dp_shard"] = job.dp / replicate * job.cp;
    job.layout["order"] = "tp-cp-ep-dp-pp";
    job.layout["sequence_parallel"] =
        job.tp > 1 && reading.flag("parallelism.enable_sequence_parallel", "/layout/sequence_parallel").value_or(true) &&
        !reading.flag("parallelism.no_enable_sequence_parallel", "/layout/sequence_parallel").value_or(false);
    reading.byDefault("sequence parallel", job.tp > 1, "/layout/sequence_parallel", "comes with tensor parallelism");
    job.layout["ep"] = reading.sizeOr("parallelism.expert_parallel_degree", "/layout/ep", 1);
    const int etp = reading.sizeOr("parallelism.expert_tensor_parallel_degree", "/layout/etp", 1);
    job.layout["etp"] = job.layout["ep"] == 1 ? job.tp : etp; // without EP experts are cut as everything is
    constexpr const char* kBackend = "parallelism.expert_parallel_comm_backend";
    if (const auto backend = reading.word(kBackend, "/training/moe/send_once_per_node");
        backend == "deepep" || backend == "hybridep")
        job.training["moe"]["send_once_per_node"] = true;
    else if (backend && *backend != "standard")
        reading.say(kBackend, Became::notRepresentable, quotedText(*backend) + ": a copy for each chosen expert is imported");
    checkTitanExperts(job, etp, job.dp / std::max(1, std::min(replicate, job.dp)));
    const std::string reshard = reading.wordOr("parallelism.fsdp_reshard_after_forward", "/layout/zero_stage", "default");
    const bool keeps = reshard == "never" || (reshard != "always" && job.pp > 1);
    const bool isSharded = job.dp / std::max(1, std::min(replicate, job.dp)) * job.cp > 1 || job.dp == 1;
    job.layout["zero_stage"] = !isSharded ? 0 : keeps ? 2 : 3;
    if (keeps && isSharded)
        reading.addNote("parallelism.fsdp_reshard_after_forward", Became::used,
                        "parameters stay gathered after the forward pass: gradients and optimizer are sharded (nearest: ZeRO-2)",
                        "/layout/zero_stage");
    else if (isSharded)
        job.layout["reshard_after_forward"] = true;
}

/// What a registered config sets and the command line does not say (2026: --module llama3 --config llama3_8b) is not torchtitan's
/// default.
void askOfRegistry(Job& job)
{
    Reading& reading = job.reading;
    const Json* const config = reading.peek("config");
    if (config == nullptr)
        return;
    const Json* const base = job.model.contains("base") ? job.catalogue.modelJson(job.model["base"].get<std::string>()) : nullptr;
    const bool hasExperts = base == nullptr || memberOr<int>(*base, "num_experts", 0) > 0;
    struct Open {
        const char *pointer, *what, *name, *otherName;
    };
    for (const auto& [pointer, what, name, otherName] :
         {Open{"/layout/tp", "tensor parallelism", "parallelism.tensor_parallel_degree", ""},
          Open{"/training/sequence_length", "the sequence length", "training.seq_len", ""},
          Open{"/training/micro_batch_size", "the micro-batch", "training.local_batch_size",
               "training.num_tokens_per_microbatch_per_dp_rank"},
          Open{"/training/recompute", "recomputation", "activation_checkpoint.mode", ""},
          Open{"/layout/pp", "the number of stages", "parallelism.pipeline_parallel_degree", ""},
          Open{"/layout/cp", "context parallelism", "parallelism.context_parallel_degree", ""},
          Open{"/layout/ep", "expert parallelism", "parallelism.expert_parallel_degree", ""},
          Open{"/training/precision", "precision", "model.converters", "training.dtype"},
          Open{"/training/stack", "whether the model is compiled", "compile.enable", "compile.no_enable"},
          Open{"/training/loss_chunk_tokens", "how much of the loss is taken at a time", "loss.num_chunks", ""},
          Open{"/training/overlap/tp_comm", "overlap of tensor parallelism", "parallelism.enable_async_tensor_parallel", ""}}) {
        const std::string_view key = pointer;
        const bool isWithout = (key == "/layout/ep" && !hasExperts) || (key == "/training/overlap/tp_comm" && job.tp == 1) ||
                               (key == "/training/loss_chunk_tokens" && !job.training.contains("loss_chunk_tokens"));
        if (reading.has(name) || reading.has(otherName) || isWithout)
            continue;
        reading.takeDefaults(key);
        const Json all{{"layout", job.layout}, {"training", job.training}};
        job.ask(key, std::string(what) + " is set by the config " + quotedText(shownValue(*config)) +
                         ", which is not in this file: " + shownValue(all.at(Json::json_pointer(std::string(key)))) +
                         " is assumed");
    }
}

/// What has no key, or no effect on the step.
void noteUnreadOfTitan(Reading& reading)
{
    static constexpr std::array kTitanNot = {
        Alias{"parallelism.context_parallel_rotate_method", "how context-parallel ranks talk has no key"},
        Alias{"parallelism.module_fqns_per_model_part*", "names of modules: see schedule.layers_per_stage"},
        Alias{"training.enable_cpu_offload", "see training.offload.optimizer"},
        Alias{"optimizer.early_step_in_backward",
              "a step of each parameter within the backward pass, after which its gradient is dropped, has no key"},
        Alias{"parallelism.pipeline_parallel_schedule_csv", "a schedule of its own: see schedule.actions"},
        Alias{"quantize.*.enable_fsdp_float8_all_gather", "parameters gathered in 8 bits have no key"},
        Alias{"quantize.grouped_mm.*.fqns", "products that stay in 16 bits have no key"},
        Alias{"mx.moe_fqns_prototype", "products that stay in 16 bits have no key"},
        Alias{"float8.moe_fqns_prototype", "products that stay in 16 bits have no key"},
        Alias{"float8.force_recompute_fp8_weight_in_bwd", "see training.stack.keeps_narrow_weights"},
        Alias{"float8.emulate", "8 bits by way of products in 16 have no key"},
        Alias{"quantize.linear.float8.emulate", "8 bits by way of products in 16 have no key"},
        Alias{"fault_tolerance.semi_sync_method", "replicas that meet every some steps have no key"},
        Alias{"fault_tolerance.group_size", "replicas that come and go beside these have no key"},
        Alias{"float8.enable_fsdp_float8_all_gather", "parameters gathered in 8 bits have no key"},
        Alias{"parallelism.enable_fsdp_symm_mem", "memory that FSDP's transfers share among GPUs has no key"},
        Alias{"training.disable_cuda_graphs", "what CUDA graphs hold is said of the software: see training.stack.cuda_graphs"},
        Alias{"parallelism.enable_compiled_autograd", "has no key"},
        Alias{"experimental.enable_compiled_autograd", "has no key"},
        Alias{"parallelism.disable_loss_parallel", "each rank takes the whole loss: see training.stack.gathers_logits"},
        Alias{"activation_checkpoint.per_op_sac*", "lists of operators have no key"},
        Alias{"encoder.*", "an encoder beside the text model has no key: a stand-in without it is imported"},
        Alias{"training.img_size", "images have no key"},
        Alias{"data.max_*", "images have no key"}};
    reading.notRepresentable(kTitanNot);
    // Whole tables only where nothing in them is about the step; in others each name by itself, so that a misspelt one is told.
    static constexpr std::array<std::string_view, 33> kTitanHarmless = {"job.*",
                                                                        "profiling.*",
                                                                        "metrics.*",
                                                                        "lr_scheduler.*",
                                                                        "checkpoint.*",
                                                                        "comm.*",
                                                                        "validation.*",
                                                                        "experimental.custom_*",
                                                                        "fault_tolerance.*",
                                                                        "memory_estimation.*",
                                                                        "compile.backend",
                                                                        "training.steps",
                                                                        "training.dataset*",
                                                                        "training.mock_data",
                                                                        "sink_level",
                                                                        "training.max_norm",
                                                                        "training.warmup_steps",
                                                                        "training.compile",
                                                                        "training.seed",
                                                                        "training.deterministic",
                                                                        "training.gc_*",
                                                                        "training.debug*",
                                                                        "model.tokenizer_path",
                                                                        "model.norm_type",
                                                                        "model.print_after_conversion",
                                                                        "model.hf_assets_path",
                                                                        "debug.*",
                                                                        "activation_checkpoint.*_rng_state",
                                                                        "model.tokenizer*",
                                                                        "parallelism.context_parallel_load_balancer",
                                                                        "parallelism.context_parallel_ptrr_mask_key",
                                                                        "parallelism.spmd_backend",
                                                                        "training.*_folder"};
    reading.harmless(kTitanHarmless);
    static constexpr std::array<std::string_view, 27> kTitanRates = {
        "optimizer.param_groups*.pattern",
        "optimizer.param_groups*.optimizer_kwargs*",
        "optimizer.lr",
        "optimizer.min_lr",
        "optimizer.beta1",
        "optimizer.beta2",
        "optimizer.betas",
        "optimizer.eps",
        "optimizer.weight_decay",
        "optimizer.fused",
        "optimizer.foreach",
        "optimizer.early_step_in_backward",
        "optimizer.optimizer_factory_kwargs_by_name*",
        "optimizer._*",
        "float8.precompute_float8_dynamic_scale_for_fsdp",
        "float8.scaling_type_*",
        "float8.pad_inner_dim",
        "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp",
        "quantize.linear.mx.mxfp8_dim1_cast_kernel_choice",
        "mx.mxfp8_dim1_cast_kernel_choice",
        "mx.use_fp8_dim1_cast_*",
        "loss.loss_fn*",
        "loss.global_vocab_size",
        "loss.ignore_index",
        "loss.name",
        "loss._*",
        "activation_checkpoint.selective_ac_option"};
    reading.harmless(kTitanRates);
    reading.harmless(std::array<std::string_view, 17>{
        "training.checkpoint_*", "training.classif*", "eval.*", "inference.*", "data.*", "module", "model.converters", "rdzv_*",
        "local_ranks_filter", "role", "tee", "master_*", "node_rank", "hf_assets*", "tokenizer*", "dump_folder", "dataloader.*"});
    reading.harmless(std::array<std::string_view, 5>{"activation_checkpoint.early_stop",
                                                     "activation_checkpoint.determinism_check", "activation_checkpoint.debug",
                                                     "activation_checkpoint.*_pareto", "activation_checkpoint.memory_budget"});
}

} // namespace

void readTorchtitan(Job& job)
{
    Reading& reading = job.reading;
    openPrimus(reading);
    const bool isOf2024 = reading.hasPrefix("experimental.pipeline") || reading.hasPrefix("training.data_parallel") ||
                          reading.hasPrefix("training.tensor_parallel");
    reading.apply(kTitanAliases);
    reading.setSpelling([](std::string_view name) { return std::string(name); });
    readTitanModel(job);
    readTitanLayout(job);
    const TitanStages stages = readTitanStages(job, isOf2024);
    readTitanBatch(job, isOf2024);
    readTitanTraining(job, stages);
    askOfRegistry(job);
    noteUnreadOfTitan(reading);
    reading.notRepresentable(
        std::array{Alias{"primus_turbo.*", "kernels of Primus-Turbo are the software's: see training.stack"}});
}

} // namespace sim::frameworks
