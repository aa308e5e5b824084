// torchtitan: TOML of 2024 and 2025 (29624e3 and before), overrides and printed configs of 2026 (b5bcd76).
#include "sim/frameworks/dialects/torchtitan_flavours.h"
#include "sim/frameworks/job.h"
#include "sim/frameworks/placements.h"
#include "sim/frameworks/stacks.h"

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
    Alias{"parallelism.num_pp_microbatches", "parallelism.pipeline_parallel_microbatches"},
    Alias{"training.batch_size", "training.local_batch_size"},
    Alias{"training.max_context_length", "training.seq_len"},
    Alias{"training.disable_loss_parallel", "parallelism.disable_loss_parallel"},
    Alias{"experimental.disable_loss_parallel", "parallelism.disable_loss_parallel"},
    Alias{"training.fsdp_reshard_after_forward", "parallelism.fsdp_reshard_after_forward"},
};

std::string scheduleOfTitan(std::string word)
{
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word == "1f1b")
        return "1f1b";
    if (word == "gpipe")
        return "gpipe";
    if (word == "interleaved1f1b")
        return "interleaved-1f1b";
    if (word == "interleavedzerobubble")
        return "interleaved-zb";
    if (word == "loopedbfs")
        return "looped-bfs";
    if (word == "zbvzerobubble")
        return "zb-v";
    if (word == "dualpipev")
        return "dualpipe-v";
    return "";
}

void readTitanModel(Job& job)
{
    Reading& reading = job.reading;
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

/// Layers of each stage where the modules of each are listed (module_fqns_per_model_part); empty where they are not.
std::vector<int> layersByModules(Job& job)
{
    constexpr const char* kPointer = "/schedule/layers_per_stage";
    Reading& reading = job.reading;
    std::vector<int> counts;
    for (const std::string part = "parallelism.module_fqns_per_model_part";;) {
        const std::string name = part + "[" + std::to_string(counts.size()) + "]";
        if (!reading.has(name))
            break;
        const std::vector<std::string> modules = wordsOfList(reading.any(name, kPointer).value_or(Json::array()));
        counts.push_back(static_cast<int>(std::count_if(
            modules.begin(), modules.end(), [](const std::string& module) { return module.starts_with("layers."); })));
    }
    if (counts.empty() || (job.pp > 1 && static_cast<int>(counts.size()) % job.pp == 0))
        return job.pp > 1 ? counts : std::vector<int>();
    reading.addNote("parallelism.module_fqns_per_model_part[0]", Became::contradictory,
                    std::to_string(counts.size()) + " lists of modules are no stages of pp " + std::to_string(job.pp), kPointer);
    return {};
}

/// `[training] compile` compiles layers, the [compile] table (June 2025) the loss too, unless its components leave it out.
std::string_view stackOf(Reading& reading)
{
    constexpr const char* kPointer = "/training/stack";
    if (reading.hasPrefix("training.compile"))
        return reading.flagOr("training.compile", kPointer, false) ? stacks::kCompiledLayers : stacks::kEager;
    const bool compiles = reading.flagOr("compile.enable", kPointer, false);
    const std::vector<std::string> parts =
        wordsOfList(reading.any("compile.components", kPointer).value_or(Json{"model", "loss"}));
    const auto has = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
    return !compiles || !has("model") ? stacks::kEager : has("loss") ? stacks::kCompiledWithLoss : stacks::kCompiledLayers;
}

/// Head and loss of a share of each sequence at a time, with the gradients of both (components/loss.py, ChunkedCELoss, 2026).
void readChunkedLoss(Job& job)
{
    constexpr const char *kSetting = "loss.num_chunks", *kPointer = "/training/loss_chunk_tokens";
    const std::optional<int> chunks = job.reading.size(kSetting, kPointer);
    if (!chunks)
        return;
    const auto share = [](long long all, long long parts) { return (all + parts - 1) / parts; };
    const long long own = share(memberOr<int>(job.training, "sequence_length", 2048), std::max(1, job.cp));
    const long long tokens = std::max(1, job.microBatch.value_or(1)) * share(own, std::max(1, *chunks));
    job.training["loss_chunk_tokens"] = std::min(tokens, 1LL << 30);
    job.reading.addNote(kSetting, Became::used,
                        std::to_string(*chunks) + " chunks of the " + std::to_string(own) +
                            " tokens that a rank has of each sequence: " + std::to_string(tokens) + " tokens of a micro-batch",
                        kPointer);
}

/// Gradients that are accumulated beside a pipeline are pipelines one after the other, each filled and drained (train.py); a step
/// of a scenario is one of them.
int ofOneFlush(Job& job, int local, int global)
{
    Reading& reading = job.reading;
    const long long step = 1LL * local * job.dp;
    if (step >= global)
        return global;
    const char* setting = "training.global_batch_size";
    for (const char* name : {"training.num_tokens_per_train_step", "training.gradient_accumulation_steps"})
        if (!reading.has(setting) && reading.has(name))
            setting = name;
    const std::string of = std::to_string(local) + " sequences x dp " + std::to_string(job.dp) + " = " + std::to_string(step);
    if (global % step != 0) {
        reading.say(setting, Became::contradictory,
                    "a global batch of " + std::to_string(global) + " is not a multiple of the local batch: " + of +
                        "; nearest: " + std::to_string(global / step * step) + ", " + std::to_string((global / step + 1) * step));
        return static_cast<int>(step);
    }
    reading.say(setting, Became::notRepresentable,
                "torchtitan fills and drains the pipeline " + std::to_string(global / step) + " times for a global batch of " +
                    std::to_string(global) + ", each time with " +
                    std::to_string(local / std::max(1, job.microBatch.value_or(1))) + " micro-batches (" + of +
                    "); a step of the scenario is one pipeline: one of them is imported, a global batch of " +
                    std::to_string(step),
                "/training/global_batch_size");
    return static_cast<int>(step);
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
          Open{"/training/stack", "whether the model is compiled", "compile.enable", ""},
          Open{"/training/overlap/tp_comm", "overlap of tensor parallelism", "parallelism.enable_async_tensor_parallel", ""}}) {
        const std::string_view key = pointer;
        const bool isWithout = (key == "/layout/ep" && !hasExperts) || (key == "/training/overlap/tp_comm" && job.tp == 1);
        if (reading.has(name) || reading.has(otherName) || isWithout)
            continue;
        reading.takeDefaults(key);
        const Json all{{"layout", job.layout}, {"training", job.training}};
        job.ask(key, std::string(what) + " is set by the config " + quotedText(shownValue(*config)) +
                         ", which is not in this file: " + shownValue(all.at(Json::json_pointer(std::string(key)))) +
                         " is assumed");
    }
}

/// The compiler keeps as many activations as the budget allows: 1 all, 0 none.
const char* recomputeByBudget(Reading& reading)
{
    const double budget = reading.real("activation_checkpoint.memory_budget", "/training/recompute").value_or(0.5);
    const char* const nearest = budget >= 1 ? "none" : budget <= 0 ? "full" : "selective";
    reading.say("activation_checkpoint.mode", Became::notRepresentable,
                "what runs again the compiler chooses, for a budget of " + shownValue(number(budget)) +
                    " of the activations' memory: " + nearest + " is imported",
                "/training/recompute");
    return nearest;
}

} // namespace

void readTorchtitan(Job& job)
{
    Reading& reading = job.reading;
    const bool isOf2024 = reading.hasPrefix("experimental.pipeline") || reading.hasPrefix("training.data_parallel") ||
                          reading.hasPrefix("training.tensor_parallel");
    reading.apply(kTitanAliases);
    reading.setSpelling([](std::string_view name) { return std::string(name); });
    readTitanModel(job);
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
        job.tp > 1 && reading.flag("parallelism.enable_sequence_parallel", "/layout/sequence_parallel").value_or(true);
    reading.byDefault("sequence parallel", job.tp > 1, "/layout/sequence_parallel", "comes with tensor parallelism");
    job.layout["ep"] = reading.sizeOr("parallelism.expert_parallel_degree", "/layout/ep", 1);
    const int etp = reading.sizeOr("parallelism.expert_tensor_parallel_degree", "/layout/etp", 1);
    job.layout["etp"] = job.layout["ep"] == 1 ? job.tp : etp; // without EP experts are cut as everything is
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

    // Pipeline.
    const std::string given = reading.wordOr("parallelism.pipeline_parallel_schedule", "/schedule/kind", "1F1B");
    std::string kind = scheduleOfTitan(given);
    if (kind.empty()) {
        reading.say("parallelism.pipeline_parallel_schedule", Became::notRepresentable, quotedText(given) + ": 1f1b is imported");
        kind = "1f1b";
    }
    const bool isMulti = kind != "1f1b" && kind != "gpipe";
    int layers = memberOr<int>(job.model, "num_hidden_layers", 0);
    if (const Json* const base =
            job.model.contains("base") ? job.catalogue.modelJson(job.model["base"].get<std::string>()) : nullptr)
        layers = memberOr<int>(*base, "num_hidden_layers", 0);
    int chunks = isMulti && job.pp > 1 ? 2 : 1;
    const auto firstLess = reading.integer("parallelism.pipeline_parallel_first_stage_less_layers", "/schedule/layers_per_stage");
    const auto lastLess = reading.integer("parallelism.pipeline_parallel_last_stage_less_layers", "/schedule/layers_per_stage");
    const int first = std::clamp(firstLess.value_or(1), 0, 1000), last = std::clamp(lastLess.value_or(1), 0, 1000);
    if (const auto each = reading.integer("parallelism.pipeline_parallel_layers_per_stage", "/schedule/virtual_stages");
        each && *each > 0 && *each < 1000000 && layers > 0 && job.pp > 1) {
        const int stages = (layers + first + last + *each - 1) / *each;
        if (stages % job.pp == 0)
            chunks = std::max(1, stages / job.pp);
        else
            reading.say("parallelism.pipeline_parallel_layers_per_stage", Became::contradictory,
                        std::to_string(stages) + " stages of " + std::to_string(*each) + " layers are no multiple of pp " +
                            std::to_string(job.pp));
    }
    job.schedule["kind"] = job.pp > 1 ? kind : "1f1b";
    job.schedule["virtual_stages"] = chunks;
    const int stages = std::min(job.pp, 100000) * chunks;
    std::vector<int> counts;
    if (const auto points = reading.any("parallelism.pipeline_parallel_split_points", "/schedule/layers_per_stage");
        points && layers > 0 && job.pp > 1) {
        int before = 0;
        for (const std::string& point : wordsOfList(*points))
            if (const auto at = point.starts_with("layers.") ? wholeNumber<int>(valueOf(point.substr(7))) : std::nullopt;
                at && *at >= before && *at <= layers) {
                counts.push_back(*at - before);
                before = *at;
            }
        counts.push_back(layers - before);
        if (static_cast<int>(counts.size()) % job.pp != 0)
            counts.clear();
        else
            job.schedule["virtual_stages"] = static_cast<int>(counts.size()) / job.pp;
    } else if (const std::vector<int> named = layersByModules(job); !named.empty()) {
        counts = named;
        job.schedule["virtual_stages"] = static_cast<int>(counts.size()) / job.pp;
    } else if (!isOf2024 && job.pp > 1 && layers >= stages) {
        counts = titanLayers(layers, stages, first, last);
        if (*std::min_element(counts.begin(), counts.end()) < 1)
            counts.clear();
        else if (!firstLess && !lastLess)
            reading.byDefault("parallelism.pipeline_parallel_first_stage_less_layers", 1, "/schedule/layers_per_stage",
                              "are not given: the first and the last stage have a layer less, for embedding and output");
    }
    if (!counts.empty())
        job.schedule["layers_per_stage"] = counts;

    // Batch.
    if (const auto length = reading.integer("training.seq_len", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    else {
        job.training["sequence_length"] = 2048;
        reading.byDefault("training.seq_len", 2048, "/training/sequence_length");
    }
    const int length = std::max(1, memberOr<int>(job.training, "sequence_length", 2048));
    int local = 0;
    if (const auto tokens = reading.integer("training.num_tokens_per_microbatch_per_dp_rank", "/training/micro_batch_size");
        tokens && *tokens > 0) {
        local = std::max(1, *tokens / length);
        if (*tokens % length != 0)
            reading.say("training.num_tokens_per_microbatch_per_dp_rank", Became::notRepresentable,
                        std::to_string(*tokens) + " tokens are no whole number of sequences of " + std::to_string(length) + ": " +
                            std::to_string(local) + " imported");
        job.microBatch = local;
        std::optional<int> parts = 1;
        if (job.pp > 1)
            parts = reading.size("parallelism.pipeline_parallel_microbatches", "/training/global_batch_size");
        if (!parts)
            reading.byDefault("parallelism.num_pp_microbatches", 1, "/training/global_batch_size",
                              "are not given: one micro-batch fills the pipeline");
        local = static_cast<int>(std::min<long long>(1LL * local * parts.value_or(1), 1 << 24));
    } else {
        local = reading.sizeOr("training.local_batch_size", "/training/micro_batch_size", 8);
        int micro = local;
        if (job.pp > 1) {
            if (const auto parts = reading.integer("parallelism.pipeline_parallel_microbatches", "/training/micro_batch_size");
                parts && *parts > 0)
                micro = std::max(1, local / *parts);
            else if (isOf2024) {
                micro = std::max(1, local / job.pp);
                reading.byDefault("experimental.pipeline_parallel_microbatches", job.pp, "/training/micro_batch_size",
                                  "are not given: as many micro-batches as stages");
            } else
                micro = std::clamp(
                    reading.integerOr("parallelism.pipeline_parallel_microbatch_size", "/training/micro_batch_size", 1), 1,
                    local);
        }
        job.microBatch = micro;
    }
    const long long step = std::min<long long>(1LL * local * job.dp, 1 << 30);
    int global = static_cast<int>(step);
    if (const auto tokens = reading.any("training.num_tokens_per_train_step", "/training/global_batch_size");
        tokens && tokens->is_number() && tokens->get<double>() > 0)
        global = static_cast<int>(std::clamp(tokens->get<double>() / length, 1.0, 1e9));
    else if (const auto asked = reading.integer("training.global_batch_size", "/training/global_batch_size"); asked && *asked > 0)
        global = *asked;
    else
        reading.byDefault("training.global_batch_size", -1, "/training/global_batch_size",
                          "is not given: local batch x dp, no accumulation");
    // flame, which is torchtitan for other models, counts them
    if (const auto parts = reading.size("training.gradient_accumulation_steps", "/training/global_batch_size");
        parts && *parts > 1) {
        const std::int64_t all = std::min<std::int64_t>(step * *parts, 1 << 30);
        if (!reading.has("training.global_batch_size"))
            global = static_cast<int>(all);
    }
    job.globalBatch = job.pp > 1 ? ofOneFlush(job, local, global) : global;
    settleBatch(job);

    // Precision, recomputation, overlap.
    std::string precision = "bf16";
    if (const auto param = reading.word("training.mixed_precision_param", "/training/precision");
        param && !precisionWord(*param).empty())
        precision = precisionWord(*param);
    const auto dtype = reading.word("training.dtype", "/training/precision");
    const bool hasNoCopy = dtype && precisionWord(*dtype) == "bf16";
    if (hasNoCopy)
        precision = "bf16";
    bool has8 = false;
    if (const auto converters = reading.any("model.converters", "/training/precision"))
        for (const std::string& converter : wordsOfList(*converters)) {
            has8 = has8 || converter.find("float8") != std::string::npos;
            if (converter.find("mx") != std::string::npos)
                precision = "mxfp8";
        }
    if (const auto old = reading.word("training.fp8_linear", "/training/precision"); old && !old->empty() && *old != "false")
        has8 = true; // spring 2024
    for (const char* name : {"training.enable_float8_linear", "float8.enable_float8_linear"})
        has8 = reading.flag(name, "/training/precision").value_or(false) || has8;
    if (has8)
        precision = "fp8";
    if (!has8 && reading.hasPrefix("float8."))
        reading.addNote("[float8]", Became::harmless, "does nothing without model.converters = [\"float8\"]",
                        "/training/precision");
    job.training["precision"] = precision;
    if (const auto reduce = reading.word("training.mixed_precision_reduce", "/training/gradient_dtype");
        hasNoCopy || (reduce && precisionWord(*reduce) == "bf16"))
        job.training["gradient_dtype"] = "bf16";
    else
        job.training["gradient_dtype"] = "fp32";
    if (hasNoCopy) {
        job.training["moment_dtype"] = "bf16";
        reading.say("training.dtype", Became::notRepresentable,
                    *dtype + ": parameters, gradients and moments are in 16 bits, which is imported, and there is no copy of the "
                             "parameters in fp32, which the scenario counts (4 bytes a parameter)",
                    "/training/moment_dtype");
    }

    job.training["stack"] = stackOf(reading);

    std::string mode = reading.wordOr("activation_checkpoint.mode", "/training/recompute", "selective");
    std::transform(mode.begin(), mode.end(), mode.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::optional<std::string> option = reading.word("activation_checkpoint.selective_ac_option", "/training/recompute");
    if (mode.starts_with("full")) {
        job.training["recompute"] = "full";
        if (option)
            reading.say("activation_checkpoint.selective_ac_option", Became::harmless, "counts only in the mode selective");
    } else if (mode.starts_with("selective")) {
        const std::optional<int> every = wholeNumber<int>(valueOf(option.value_or("2")));
        if (every && *every > 0) {
            const int most =
                counts.empty() ? (layers > 0 ? layers / stages : 0) : *std::max_element(counts.begin(), counts.end());
            const int some = std::max(1, most / *every);
            job.training["recompute"] = most > 0 && *every > 1 ? Json({{"kind", "full"}, {"layers", some}}) : Json("full");
            if (*every > 1)
                reading.addNote("activation_checkpoint.selective_ac_option", Became::notRepresentable,
                                "selective activation checkpoint of every " + std::to_string(*every) +
                                    "-th layer: full recompute of that share of the layers" +
                                    (most > 0 ? ", the first " + std::to_string(some) + " of each stage" : ""),
                                "/training/recompute");
        } else {
            job.training["recompute"] = "selective";
            reading.addNote("activation_checkpoint.selective_ac_option", Became::used,
                            "attention and every other matrix product are kept, all else runs again", "/training/recompute");
        }
    } else if (mode == "memory_budget") {
        job.training["recompute"] = recomputeByBudget(reading);
    } else {
        const bool isNone = mode == "none" || mode == "false";
        job.training["recompute"] = isNone ? "none" : "full";
        if (!isNone)
            reading.say("activation_checkpoint.mode", Became::unknown,
                        quotedText(mode) + " is no mode known here: full is imported");
    }
    const bool async = reading.flagOr("parallelism.enable_async_tensor_parallel", "/training/overlap/tp_comm", false);
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/param_gather", true);
    job.put("/training/overlap/tp_comm", async && job.tp > 1);
    job.put("/training/overlap/p2p", false);
    job.put("/training/overlap/ep_comm", false);
    reading.byDefault("FSDP prefetch", true, "/training/overlap/grad_reduce", "FSDP reduces and gathers beside the passes");
    reading.byDefault("pipeline p2p", false, "/training/overlap/p2p", "sends and receives are waited for");
    if (const auto name = reading.word("optimizer.name", "/training/optimizer"))
        putOptimizer(job, "optimizer.name", *name);
    readChunkedLoss(job);
    askOfRegistry(job);
    static constexpr std::array kTitanNot = {
        Alias{"parallelism.context_parallel_rotate_method", "how context-parallel ranks talk has no key"},
        Alias{"parallelism.module_fqns_per_model_part*", "names of modules: see schedule.layers_per_stage"},
        Alias{"training.enable_cpu_offload", "see training.offload.optimizer"},
        Alias{"optimizer.early_step_in_backward",
              "a step of each parameter within the backward pass, after which its gradient is dropped, has no key"},
        Alias{"parallelism.pipeline_parallel_schedule_csv", "a schedule of its own: see schedule.actions"},
        Alias{"quantize.*.enable_fsdp_float8_all_gather", "parameters gathered in 8 bits have no key"},
        Alias{"float8.enable_fsdp_float8_all_gather", "parameters gathered in 8 bits have no key"},
        Alias{"parallelism.enable_compiled_autograd", "has no key"},
        Alias{"parallelism.disable_loss_parallel", "each rank takes the whole loss: see training.stack.gathers_logits"},
        Alias{"activation_checkpoint.per_op_sac*", "lists of operators have no key"},
        Alias{"encoder.*", "an encoder beside the text model has no key: a stand-in without it is imported"},
        Alias{"training.img_size", "images have no key"},
        Alias{"data.max_*", "images have no key"}};
    reading.notRepresentable(kTitanNot);
    static constexpr std::array<std::string_view, 33> kTitanHarmless = {"job.*",
                                                                        "profiling.*",
                                                                        "metrics.*",
                                                                        "optimizer.*",
                                                                        "lr_scheduler.*",
                                                                        "checkpoint.*",
                                                                        "comm.*",
                                                                        "validation.*",
                                                                        "experimental.*",
                                                                        "fault_tolerance.*",
                                                                        "memory_estimation.*",
                                                                        "float8.*",
                                                                        "quantize.*",
                                                                        "mx.*",
                                                                        "compile.*",
                                                                        "training.steps",
                                                                        "training.dataset*",
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
                                                                        "activation_checkpoint.*",
                                                                        "model.tokenizer*",
                                                                        "parallelism.context_parallel_load_balancer",
                                                                        "training.*_folder"};
    reading.harmless(kTitanHarmless);
    reading.harmless(std::array<std::string_view, 18>{"loss.*", "training.checkpoint_*", "training.classif*", "eval.*",
                                                      "inference.*", "data.*", "module", "model.converters", "rdzv_*",
                                                      "local_ranks_filter", "role", "tee", "master_*", "node_rank", "hf_assets*",
                                                      "tokenizer*", "dump_folder", "dataloader.*"});
}

} // namespace sim::frameworks
