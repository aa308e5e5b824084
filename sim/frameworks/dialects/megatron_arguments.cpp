// What Megatron's arguments mean. Facts: megatron/training/arguments.py of NVIDIA/Megatron-LM at d98e8a6 and before.
#include "sim/frameworks/dialects/megatron_experts.h"
#include "sim/frameworks/dialects/megatron_layers.h"
#include "sim/frameworks/dialects/megatron_model.h"
#include "sim/frameworks/dialects/megatron_software.h"
#include "sim/frameworks/dialects/megatron_trainers.h"
#include "sim/frameworks/job.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

namespace sim::frameworks {
namespace {

/// cp_comm_type: one word for all layers, or one for each. Other words than these are told with what has no key.
void readContextCommunication(Job& job)
{
    constexpr const char* kName = "cp_comm_type";
    const Json* const given = job.reading.peek(kName);
    if (given == nullptr || given->is_null())
        return;
    std::vector<std::string> words;
    for (const Json& one : given->is_array() ? *given : Json::array({*given})) {
        std::istringstream list(shownValue(one));
        for (std::string word; list >> word;)
            words.push_back(word);
    }
    const auto areAll = [&](std::string_view word) {
        return !words.empty() && std::all_of(words.begin(), words.end(), [&](const std::string& one) { return one == word; });
    };
    if (job.cp <= 1)
        job.reading.say(kName, Became::harmless, "counts only beside context parallelism");
    else if (areAll("p2p"))
        job.reading.say(kName, Became::harmless, "is the default");
    else if (areAll("a2a"))
        putExchangedHeads(job, kName);
}

void readMegatronWorld(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    job.tp = reading.sizeOr("tensor_model_parallel_size", "/layout/tp", 1);
    job.pp = reading.sizeOr("pipeline_model_parallel_size", "/layout/pp", 1);
    job.cp = reading.sizeOr("context_parallel_size", "/layout/cp", 1);
    if (reading.flag("no_pipeline_parallel", "/layout/pp").value_or(false))
        job.pp = 1;
    if (const std::optional<int> ulysses = reading.size("ds_sequence_parallel_size", "/layout/cp"); ulysses && *ulysses > 1) {
        const int ring = std::min(job.cp, 1 << 12);
        job.cp = ring * std::min(*ulysses, 1 << 12);
        putExchangedHeads(job, "ds_sequence_parallel_size", ring);
    }
    readContextCommunication(job);
    const auto positive = [](std::optional<int> value) { return value && *value > 0 ? value : std::nullopt; };
    if (!job.nodes)
        job.nodes = positive(reading.integer("@nodes", "/cluster/nodes"));
    if (!job.gpusPerNode)
        job.gpusPerNode = positive(reading.integer("@gpus_per_node", "/cluster/gpus_per_node"));
    if (!job.gpus)
        job.gpus = positive(reading.integer("@gpus", "/cluster"));
    for (const char* name : {"@env.NNODES", "@env.NUM_NODES", "@env.NODES", "@env.N_NODES"})
        if (!job.nodes && reading.has(name))
            job.nodes = positive(reading.integer(name, "/cluster/nodes"));
    for (const char* name : {"@env.GPUS_PER_NODE", "@env.NPROC_PER_NODE", "@env.NUM_GPUS_PER_NODE", "@env.GPN"})
        if (!job.gpusPerNode && reading.has(name))
            job.gpusPerNode = positive(reading.integer(name, "/cluster/gpus_per_node"));
    for (const char* name : {"@env.N_GPUS", "@env.NUM_GPUS"}) // of a node where nodes are counted too, else of all of them
        if (!job.gpusPerNode && !job.gpus && reading.has(name)) {
            std::optional<int>& gpus = job.nodes ? job.gpusPerNode : job.gpus;
            gpus = positive(reading.integer(name, job.nodes ? "/cluster/gpus_per_node" : "/cluster"));
        }
    if (!job.gpus && !(job.nodes && job.gpusPerNode) && reading.has("@env.WORLD_SIZE"))
        job.gpus = positive(reading.integer("@env.WORLD_SIZE", "/cluster"));
    if (!job.gpusPerNode && !job.gpus && !reading.has("@gpus_per_node"))
        job.gpusPerNode = gpusByTasks(reading);
    job.gpusFrom = reading.has("@gpus_per_node") ? "@gpus_per_node" : reading.has("@nodes") ? "@nodes" : "";
    const bool isToldOutside = reading.has("@nodes"); // by a variable of the environment
    if (job.gpusPerNode && !job.nodes && !job.gpus && !job.askedGpus && !isToldOutside) {
        job.nodes = 1;
        reading.byDefault("@nodes", 1, "/cluster/nodes", "the launcher starts one node unless told");
    }
    const auto sizeSaid = [&reading](std::string_view name, int fallback) {
        const Json* const value = reading.peek(name);
        return value == nullptr ? fallback : std::clamp(valueAs<int>(*value).value_or(fallback), 1, 1 << 12);
    };
    job.expertRanks = static_cast<int>(
        std::min(1LL * sizeSaid("expert_model_parallel_size", 1) *
                     sizeSaid("expert_tensor_parallel_size", rules.expertTensor.value_or(std::min(job.tp, 1 << 12))) *
                     std::min(job.pp, 1 << 12),
                 1LL << 20));
    settleWorld(job);
    if (const std::optional<int> dp = reading.integer("data_parallel_size", "/layout/dp"); dp && *dp != job.dp)
        reading.say("data_parallel_size", Became::contradictory,
                    "the file says dp " + std::to_string(*dp) + "; its GPUs and tp, cp, pp make dp " + std::to_string(job.dp));
}

void readMegatronLayout(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    job.layout["ep"] = reading.sizeOr("expert_model_parallel_size", "/layout/ep", 1);
    const std::optional<int> etp = reading.integer("expert_tensor_parallel_size", "/layout/etp");
    if (!etp)
        reading.byDefault("expert_tensor_parallel_size", rules.expertTensor.value_or(job.tp), "/layout/etp",
                          rules.expertTensor ? "experts are not cut over tensor-parallel ranks"
                                             : "is not given: Megatron takes the tensor-parallel size");
    job.layout["etp"] = std::max(1, etp.value_or(rules.expertTensor.value_or(job.tp)));
    job.layout["order"] = reading.flagOr("use_tp_pp_dp_mapping", "/layout/order", false) ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp";
    const bool sequenceParallel = reading.flagOr("sequence_parallel", "/layout/sequence_parallel", false);
    if (sequenceParallel && job.tp == 1)
        reading.say("sequence_parallel", Became::used,
                    "with tensor parallelism 1 the framework switches it off: false is imported");
    job.layout["sequence_parallel"] = sequenceParallel && job.tp > 1;

    int zero = 0;
    const bool distributed =
        reading.flagOr("use_distributed_optimizer", "/layout/zero_stage", rules.alwaysShardsOptimizer || rules.shardsOptimizer);
    if (distributed || rules.alwaysShardsOptimizer)
        zero = 1;
    if (reading.flag("use_megatron_fsdp", "/layout/zero_stage").value_or(false)) {
        const std::string strategy = reading.wordOr("data_parallel_sharding_strategy", "/layout/zero_stage", "no_shard");
        zero = strategy == "optim" ? 1 : strategy == "optim_grads" ? 2 : strategy == "optim_grads_params" ? 3 : 0;
    } else {
        reading.say("data_parallel_sharding_strategy", Became::harmless, "counts only beside --use-megatron-fsdp");
    }
    if (reading.flag("use_torch_fsdp2", "/layout/zero_stage").value_or(false))
        zero = reading.flag("torch_fsdp2_no_reshard_after_forward", "/layout/zero_stage").value_or(false) ? 2 : 3;
    job.layout["zero_stage"] = rules.zeroStage.value_or(zero);
    if (const std::optional<int> instances = reading.integer("num_distributed_optimizer_instances", "/layout/dp_shard");
        instances && *instances > 1) {
        if (job.dp * job.cp % *instances == 0)
            job.layout["dp_shard"] = job.dp * job.cp / *instances;
        else
            reading.say("num_distributed_optimizer_instances", Became::contradictory,
                        std::to_string(*instances) + " instances do not divide dp x cp = " + std::to_string(job.dp * job.cp));
    }
}

void readMegatronPipeline(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    int layers = memberOr<int>(job.model, "num_hidden_layers", 0);
    if (layers == 0 && job.model.contains("base"))
        if (const Json* const base = job.catalogue.modelJson(job.model["base"].get<std::string>()))
            layers = memberOr<int>(*base, "num_hidden_layers", 0);
    if (layers < 0 || layers > 1000000)
        layers = 0;
    const bool forEmbedding =
        reading.flag("account_for_embedding_in_pipeline_split", "/schedule/layers_per_stage").value_or(false);
    const bool forLoss = reading.flag("account_for_loss_in_pipeline_split", "/schedule/layers_per_stage").value_or(false);
    int chunks = 1;
    const std::optional<int> byStages = reading.integer("num_virtual_stages_per_pipeline_rank", "/schedule/virtual_stages");
    const std::optional<int> byLayers = reading.integer("num_layers_per_virtual_pipeline_stage", "/schedule/virtual_stages");
    std::vector<int> counts;
    if (byStages && *byStages > 0)
        chunks = *byStages;
    else if (byLayers && *byLayers > 0) {
        const int units = layers + (forEmbedding ? 1 : 0) + (forLoss ? 1 : 0);
        if (layers > 0 && units % job.pp == 0 && units / job.pp % *byLayers == 0)
            chunks = units / job.pp / *byLayers;
        else if (layers > 0)
            reading.say("num_layers_per_virtual_pipeline_stage", Became::contradictory,
                        "chunks of " + std::to_string(*byLayers) + " layers do not cut the " + std::to_string(layers) +
                            " layers of " + reading.placeOf("num_layers") + " over pp " + std::to_string(job.pp));
    }
    if (byStages && byLayers && *byStages > 1)
        reading.say("num_layers_per_virtual_pipeline_stage", Became::contradictory,
                    "and " + reading.spelled("num_virtual_stages_per_pipeline_rank") + " of " +
                        reading.placeOf("num_virtual_stages_per_pipeline_rank") +
                        " both say how many chunks there are: the latter counts");
    const std::optional<int> first = reading.integer("decoder_first_pipeline_num_layers", "/schedule/layers_per_stage");
    const std::optional<int> last = reading.integer("decoder_last_pipeline_num_layers", "/schedule/layers_per_stage");
    if (const std::optional<std::string> text = reading.word("pipeline_model_parallel_layout", "/schedule/layers_per_stage")) {
        const PipelineLayout layout = pipelineLayoutOf(*text);
        const int stages = static_cast<int>(layout.layers.size());
        if (!layout.problem.empty()) {
            reading.say("pipeline_model_parallel_layout", Became::contradictory, layout.problem);
        } else if (stages % job.pp != 0) {
            reading.say("pipeline_model_parallel_layout", Became::contradictory,
                        std::to_string(stages) + " stages are no multiple of pp " + std::to_string(job.pp));
        } else {
            counts = layout.layers;
            chunks = stages / job.pp;
            if (layout.predictions > 0)
                reading.addNote("pipeline_model_parallel_layout", layout.predictsLast ? Became::used : Became::notRepresentable,
                                layout.predictsLast ? "m (multi-token prediction, mtp-num-layers) is in the last stage"
                                                    : "m (multi-token prediction, mtp-num-layers) stands where the layout puts "
                                                      "it; the scenario has it in the last stage");
        }
    }
    if (const std::optional<std::string> hybrid = reading.word("hybrid_layer_pattern", "/model/num_hidden_layers")) {
        const HybridPattern pattern = hybridPatternOf(*hybrid);
        const int stages = static_cast<int>(pattern.perStage.size());
        if (stages > 0 && stages % job.pp == 0) {
            counts = pattern.perStage;
            chunks = stages / job.pp;
        }
    }
    if (job.pp == 1)
        chunks = 1;
    chunks = std::clamp(chunks, 1, std::max(1, 100000 / job.pp));
    const int stages = job.pp * chunks;
    if (counts.empty() && (first || last)) {
        counts = layersByFirstAndLast(layers, job.pp, chunks, first.value_or(-1), last.value_or(-1));
        if (counts.empty() && layers > 0)
            reading.addNote(
                first ? "decoder_first_pipeline_num_layers" : "decoder_last_pipeline_num_layers", Became::contradictory,
                std::to_string(layers) + " layers less those of the first and last stage do not divide over the others (pp " +
                    std::to_string(job.pp) + ", " + std::to_string(chunks) + " chunks)",
                "/schedule/layers_per_stage");
    } else if (counts.empty() && job.pp > 1 && layers > 0) {
        const bool isWhole = layers % stages == 0;
        const bool isAssumed = !isWhole && !rules.partitionsAnyCount && !forEmbedding && !forLoss && (layers + 2) % stages == 0;
        const bool withEmbedding = forEmbedding || isAssumed, withLoss = forLoss || isAssumed;
        const int units = layers + (withEmbedding ? 1 : 0) + (withLoss ? 1 : 0);
        if ((withEmbedding || withLoss) && units % stages == 0) {
            counts.assign(static_cast<std::size_t>(stages), units / stages);
            counts.front() -= withEmbedding ? 1 : 0;
            counts.back() -= withLoss ? 1 : 0;
        }
        if (!isWhole && counts.empty() && rules.partitionsAnyCount)
            counts = greedyLayers(layers, stages);
        if (isAssumed || (!isWhole && counts.empty()))
            reading.addNote("num_layers", Became::contradictory,
                            std::to_string(layers) + " layers do not divide over " + std::to_string(job.pp) + " pipeline stages" +
                                (chunks > 1 ? " of " + std::to_string(chunks) + " chunks" : "") +
                                " and no uneven split is given: the framework refuses it as it stands; " +
                                (isAssumed
                                     ? "embedding and loss are counted as layers, as account_for_embedding_in_pipeline_split and "
                                       "account_for_loss_in_pipeline_split would"
                                     : "layers are spread as evenly as they go"),
                            "/schedule/layers_per_stage");
    }
    job.schedule["kind"] = chunks > 1 ? "interleaved-1f1b" : "1f1b";
    job.schedule["virtual_stages"] = chunks;
    if (!byStages && !byLayers && !reading.has("pipeline_model_parallel_layout"))
        reading.byDefault("num_virtual_stages_per_pipeline_rank", 1, "/schedule/virtual_stages");
    if (!counts.empty() && job.pp > 1)
        job.schedule["layers_per_stage"] = counts;
    if (const std::optional<int> group =
            reading.integer("microbatch_group_size_per_virtual_pipeline_stage", "/schedule/microbatch_group");
        group && *group > 0 && chunks > 1)
        job.schedule["microbatch_group"] = *group;
}

/// Formats of Megatron-FSDP's own buffers; "auto" is left to it.
void readFsdpFormats(Job& job)
{
    Reading& reading = job.reading;
    constexpr const char *kMain = "megatron_fsdp_main_grads_dtype", *kSent = "megatron_fsdp_grad_comm_dtype",
                         *kCopy = "megatron_fsdp_main_params_dtype", *kPointer = "/training/gradient_dtype";
    if (!reading.flag("use_megatron_fsdp", "/layout/zero_stage").value_or(false)) {
        for (const char* name : {kMain, kSent, kCopy})
            reading.say(name, Became::harmless, "counts only beside --use-megatron-fsdp");
        return;
    }
    if (const auto given = reading.word(kMain, kPointer); given && *given != "auto") {
        const bool isWide = precisionWord(*given) == "fp32";
        job.training["gradient_dtype"] = isWide ? "fp32" : "bf16"; // or another of two bytes
        reading.takeDefaults(kPointer);
    }
    const std::string main = memberOr<std::string>(job.training, "gradient_dtype", "fp32");
    if (const auto given = reading.word(kSent, ""); given && *given != "auto") {
        if ((precisionWord(*given) == "fp32") == (main == "fp32"))
            reading.say(kSent, Became::harmless, "as gradients are added up");
        else
            reading.say(kSent, Became::notRepresentable,
                        quotedText(*given) + ": gradients are reduced as they are added up here, see training.gradient_dtype");
    }
    if (const auto given = reading.word(kCopy, ""); given) {
        if (precisionWord(*given) == "fp32")
            reading.say(kCopy, Became::harmless, "is the default");
        else
            reading.say(kCopy, Became::notRepresentable,
                        quotedText(*given) + ": the copy of the parameters that the optimizer updates is in fp32 here");
    }
}

/// Whether parameters are narrow themselves, or have narrow copies beside them. Recipes of NVIDIA's that are named by their
/// precision alone make them narrow in 8 bits (Megatron-Bridge, training/mixed_precision.py), but for those that scale in blocks.
void readNarrowParameters(Job& job, const std::string& precision, const std::string& recipe)
{
    Reading& reading = job.reading;
    const bool isIn4Bits = precision == "nvfp4", isNarrow = isIn4Bits || precision == "fp8" || precision == "mxfp8";
    const bool isNamed = recipe.find("fp8") != std::string::npos && recipe.find("subchannel") == std::string::npos;
    bool areNarrow = isNamed && !isIn4Bits;
    for (const char* name : {"fp8_param_gather", "fp4_param_gather"}) {
        const auto given = reading.flag(name, isNarrow ? "/training/stack/keeps_narrow_weights" : "");
        if (given && (name[2] == '4') == isIn4Bits && isNarrow)
            areNarrow = *given;
        else if (given)
            reading.say(name, Became::harmless, "counts only beside that precision");
    }
    if (isNarrow && areNarrow)
        job.training["stack"]["keeps_narrow_weights"] = false;
}

/// fp8_dpa of Transformer Engine's recipe, which attention asks for beside the precision of products.
void readNarrowAttention(Job& job, const std::string& precision)
{
    constexpr const char *kName = "fp8_dot_product_attention", *kPointer = "/training/stack/narrow_attention";
    const bool isNarrow = precision == "nvfp4" || precision == "fp8" || precision == "mxfp8";
    const std::optional<bool> given = job.reading.flag(kName, isNarrow ? kPointer : "");
    if (given && isNarrow && *given)
        job.training["stack"]["narrow_attention"] = true;
    else if (given && !isNarrow)
        job.reading.say(kName, Became::harmless, "counts only beside a precision of 8 or 4 bits");
}

/// What the activation function has read is kept in 8 bits for the backward pass (transformer_config.py).
void readNarrowActivation(Job& job)
{
    if (job.reading.flag("activation_func_fp8_input_store", "/training/stack/activation/saved").value_or(false))
        job.training["stack"]["activation"]["saved"] = 0.5;
}

/// The head's product as a part of the loss (fusions/fused_linear_cross_entropy.py).
void readLossFusion(Job& job)
{
    Reading& reading = job.reading;
    constexpr const char *kImplementation = "cross_entropy_fusion_impl", *kPointer = "/training/loss_chunk_tokens";
    const Json* const isFused = reading.peek("cross_entropy_loss_fusion");
    if (const std::optional<std::string> given = reading.word(kImplementation, kPointer); !given)
        return;
    else if (*given != "linear" || isFused == nullptr || *isFused == Json(false))
        reading.say(kImplementation, Became::harmless, *given == "linear" ? "counts only beside cross_entropy_loss_fusion" : "");
    else {
        job.training["loss_chunk_tokens"] = kFusedLossChunk;
        reading.say("cross_entropy_loss_fusion", Became::used, "", kPointer);
        reading.addNote(kImplementation, Became::used, "no setting says how long a chunk is: 1,024 tokens stand for it",
                        kPointer);
    }
}

/// Layers that stay in 16 bits where others are in 8 or 4.
void readWideLayers(Job& job, bool isNarrow)
{
    Reading& reading = job.reading;
    constexpr std::array kCounts = {"num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16"};
    const bool isOn = reading.flag("first_last_layers_bf16", "/training/precision").value_or(false);
    int layers = 0;
    for (const char* name : kCounts) {
        const int count = reading.integer(name, "/training/precision").value_or(1); // each, unless given
        layers += std::clamp(count, 0, 100000);
        if (!isNarrow || !isOn)
            reading.say(name, Became::harmless, "counts only beside --first-last-layers-bf16 and a narrower format");
    }
    if (isOn && isNarrow && layers > 0)
        reading.say("first_last_layers_bf16", Became::notRepresentable,
                    "the first and the last layers in 16 bits (" + std::to_string(layers) +
                        " of all): the scenario has one precision for all of them");
    else if (isOn)
        reading.say("first_last_layers_bf16", Became::harmless, "all layers are in 16 bits");
}

/// Formats of what the optimizer keeps, which count beside --use-precision-aware-optimizer alone.
void readMomentFormats(Job& job)
{
    Reading& reading = job.reading;
    const bool isAware = reading.flag("use_precision_aware_optimizer", "/training/moment_dtype").value_or(false);
    static constexpr std::array kFormats = {"exp_avg_dtype", "exp_avg_sq_dtype", "main_grads_dtype", "main_params_dtype"};
    std::string moment;
    for (const std::string_view name : kFormats) {
        const std::optional<std::string> given = reading.word(name, "/training/moment_dtype");
        const std::string format = given ? precisionWord(*given) : "fp32";
        if (!isAware || format == "fp32") {
            if (given)
                reading.say(name, Became::harmless,
                            isAware ? "is the default" : "counts only beside a precision-aware optimizer");
            continue;
        }
        if (name.starts_with("exp_avg") && format == "bf16") {
            moment += "b";
            continue;
        }
        if (name == "main_grads_dtype" && job.training["gradient_dtype"] == "bf16") {
            reading.say(name, Became::used, "", "/training/gradient_dtype");
            continue;
        }
        reading.say(name, Became::notRepresentable, quotedText(*given) + ": moments are fp32 or bf16 here, all else fp32");
    }
    if (moment == "bb")
        job.training["moment_dtype"] = "bf16";
    else if (moment == "b")
        for (const std::string_view name : {"exp_avg_dtype", "exp_avg_sq_dtype"})
            if (const Json* const given = reading.peek(name); given != nullptr && precisionWord(shownValue(*given)) == "bf16")
                reading.say(name, Became::notRepresentable, "both moments have one format here: fp32 is imported");
}

/// Variables by which Transformer Engine (transformer_engine/pytorch/attention, get_attention_backend) leaves kernels out; a
/// backend that Megatron is told sets them itself.
void readAttentionVariables(Job& job)
{
    Reading& reading = job.reading;
    const auto isOff = [&](std::initializer_list<std::string_view> names) {
        return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
            return reading.has(name) && reading.integer(name, "/training/attention") == 0;
        });
    };
    const bool noCudnn = isOff({"@env.NVTE_FUSED_ATTN", "env_vars.NVTE_FUSED_ATTN"});
    const bool noFlash = isOff({"@env.NVTE_FLASH_ATTN", "env_vars.NVTE_FLASH_ATTN"});
    if (noCudnn && noFlash)
        job.training["flash_attention"] = false;
    else if (noCudnn)
        job.training["attention"] = "flash2";
}

void readAttention(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    // Flags of Megatron's own attention, before there were backends of Transformer Engine's.
    bool isFlash = false;
    for (const char* name :
         {"use_flash_attn", "use_flash_attn_v1", "use_flash_attn_v2", "use_flash_attn_triton", "use_flash_attn_builder"})
        isFlash = reading.flag(name, "/training/flash_attention").value_or(false) || isFlash;
    const std::optional<std::string> backend = reading.word("attention_backend", "/training/flash_attention");
    if (backend) {
        if (isFlash && reading.has("use_flash_attn"))
            reading.say("use_flash_attn", Became::harmless,
                        "counts in Megatron's own layers only: " + reading.spelled("attention_backend") + " of " +
                            reading.placeOf("attention_backend") + " says it");
        if (*backend == "unfused" || *backend == "local" || *backend == "AttnBackend.unfused")
            job.training["flash_attention"] = false;
        else if (!backend->ends_with("auto"))
            job.training["flash_attention"] = true;
        if (backend->ends_with("fused") && !backend->ends_with("unfused"))
            job.training["attention"] = "cudnn"; // Transformer Engine's name for cuDNN's
    } else if (isFlash) {
        job.training["flash_attention"] = true;
    } else if (const Json* const own = reading.peek("transformer_impl");
               !rules.attentionIsFused || (own != nullptr && *own == Json("local"))) {
        job.training["flash_attention"] = false;
        reading.byDefault("attention_backend", "unfused", "/training/flash_attention",
                          rules.attentionIsFused ? "is not given: --transformer-impl local has none of its own"
                                                 : "is not given: attention is not fused");
    }
    if ((!backend || backend->ends_with("auto")) && memberOr(job.training, "flash_attention", true))
        readAttentionVariables(job);
}

/// Gradients are added up and reduced in fp32 by itself for bf16 alone (validate_args): those of fp16 are as wide as parameters.
void readGradientFormat(Job& job, bool isHalf)
{
    Reading& reading = job.reading;
    constexpr const char *kReduce = "grad_reduce_in_bf16", *kAccumulate = "accumulate_allreduce_grads_in_fp32",
                         *kPointer = "/training/gradient_dtype";
    const std::optional<bool> isNarrow = reading.flag(kReduce, kPointer), isWide = reading.flag(kAccumulate, kPointer);
    // NeMo and Bridge say the opposite, and of all formats: grad_reduce_in_fp32, grad_sync_dtype
    const bool saysWide = isNarrow == false && reading.spelled(kReduce).find("bf16") == std::string::npos;
    if (!isHalf) {
        const Json* const main = reading.peek("main_grads_dtype");
        const bool isMainNarrow = main != nullptr && precisionWord(shownValue(*main)) == "bf16" &&
                                  reading.flag("use_precision_aware_optimizer", "/training/moment_dtype").value_or(false) &&
                                  !isWide.value_or(false) && job.training["precision"] != "fp32";
        job.training["gradient_dtype"] = isNarrow.value_or(false) || isMainNarrow ? "bf16" : "fp32";
        if (!isNarrow && !isWide && !isMainNarrow)
            reading.byDefault(kReduce, false, kPointer);
        return;
    }
    if (isNarrow.value_or(false) && reading.spelled(kReduce).find("bf16") != std::string::npos)
        reading.say(kReduce, Became::harmless, "counts only beside bf16");
    job.training["gradient_dtype"] = isWide.value_or(false) || saysWide ? "fp32" : "bf16"; // fp16's, as wide
    if (!isWide && !isNarrow)
        reading.byDefault(kAccumulate, false, kPointer, "is not given beside fp16: gradients are added up in 16 bits");
}

void readMegatronTraining(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    if (const std::optional<int> length = reading.integer("seq_length", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    const auto positive = [](std::optional<int> value) { return value && *value > 0 ? value : std::nullopt; };
    job.microBatch = positive(reading.integer("micro_batch_size", "/training/micro_batch_size"));
    job.globalBatch = positive(reading.integer("global_batch_size", "/training/global_batch_size"));
    if (const std::optional<std::string> schedule = reading.word("step_batch_size_schedule", "/training/global_batch_size")) {
        const std::optional<int> final = lastBatchOf(*schedule);
        if (job.globalBatch)
            reading.say("step_batch_size_schedule", Became::contradictory,
                        "Megatron takes no global batch (" + reading.placeOf("global_batch_size") +
                            ") beside a schedule: the global batch counts");
        else if (final) {
            job.globalBatch = final;
            reading.say("step_batch_size_schedule", Became::notRepresentable,
                        "the batch grows while training: the last, " + std::to_string(*final) + ", is imported");
        }
    }
    if (const auto ramp = reading.any("rampup_batch_size", "/training/global_batch_size")) {
        const std::vector<std::string> words = wordsOfList(*ramp);
        reading.say("rampup_batch_size", Became::notRepresentable,
                    "the batch grows while training" + (words.empty() ? std::string() : ", from " + words.front()) +
                        ": the last one is imported");
    }
    if (!job.globalBatch)
        job.accumulation = positive(reading.integer("gas", "/training/global_batch_size"));
    if (!job.microBatch && rules.microBatch) {
        job.microBatch = rules.microBatch;
        reading.byDefault("micro_batch_size", *rules.microBatch, "/training/micro_batch_size");
    }
    if (!job.globalBatch && !job.accumulation && rules.globalBatch) {
        job.globalBatch = rules.globalBatch;
        reading.byDefault("global_batch_size", *rules.globalBatch, "/training/global_batch_size");
    }
    settleBatch(job);

    const std::optional<bool> bf16 = reading.flag("bf16", "/training/precision");
    const std::optional<bool> fp16 = reading.flag("fp16", "/training/precision");
    const std::optional<std::string> fp8 = reading.word("fp8_format", "/training/precision");
    const std::optional<std::string> recipe = reading.word("fp8_recipe", "/training/precision");
    const std::optional<std::string> fp4 = reading.word("fp4_format", "/training/precision");
    const std::optional<std::string> mixed = reading.word("@precision", "/training/precision");
    std::string precision = mixed ? precisionWord(*mixed) : bf16.value_or(false) ? "bf16" : fp16.value_or(false) ? "fp16" : "";
    if (bf16.value_or(false) && fp16.value_or(false))
        reading.say("fp16", Became::contradictory, "and bf16 of " + reading.placeOf("bf16") + " cannot both be: bf16 counts");
    if (precision.empty()) {
        precision = rules.precision;
        reading.byDefault("bf16", precision == "bf16", "/training/precision", "is not given, nor fp16: " + precision);
    }
    const bool isHalf = precision == "fp16";
    if (fp8 && *fp8 != "false" && *fp8 != "none")
        precision = recipe == "mxfp8" ? "mxfp8" : "fp8";
    if (reading.flag("@fp8", "/training/precision").value_or(false)) // NeMo's switch: others say which form of 8 bits
        precision = "fp8";
    if (fp4 && *fp4 != "false" && *fp4 != "none")
        precision = "nvfp4";
    job.training["precision"] = precision;
    readNarrowParameters(job, precision, mixed.value_or(""));
    readNarrowAttention(job, precision);
    readNarrowActivation(job);
    readLossFusion(job);

    std::optional<std::string> granularity = reading.word("recompute_granularity", "/training/recompute");
    if (reading.flag("recompute_activations", "/training/recompute").value_or(false)) { // whatever stands beside it
        if (granularity && *granularity != "selective")
            reading.say("recompute_granularity", Became::contradictory,
                        quotedText(*granularity) + ", and " + reading.spelled("recompute_activations") + " of " +
                            reading.placeOf("recompute_activations") + " makes it selective, which counts");
        granularity = "selective";
    }
    if (!granularity && rules.recompute != "none" && !reading.has("recompute_granularity")) {
        granularity = rules.recompute;
        reading.byDefault("recompute_granularity", rules.recompute, "/training/recompute");
    }
    const std::optional<std::string> method = reading.word("recompute_method", "/training/recompute");
    const std::optional<int> count = reading.integer("recompute_num_layers", "/training/recompute/layers");
    const bool isOld = method && reading.spelled("recompute_method").starts_with("--activations"); // before there were two kinds
    Json recompute = "none";
    if (granularity == "selective") {
        recompute = "selective";
    } else if (granularity == "full" || (!granularity && isOld)) {
        recompute = "full";
        if (method == "block" && count && *count > 0)
            recompute = {{"kind", "full"}, {"layers", *count}};
        else if (method == "block" && count)
            recompute = "none";
        else if (count && *count > 1)
            reading.say("recompute_num_layers", Became::notRepresentable,
                        "one checkpoint for " + std::to_string(*count) + " layers: the scenario keeps one for each");
    } else if (method || (count && *count > 0)) {
        reading.addNote(method ? "recompute_method" : "recompute_num_layers", Became::harmless,
                        "without a granularity nothing is recomputed", "/training/recompute");
    } else {
        reading.byDefault("recompute_granularity", "none", "/training/recompute");
    }
    if (const auto modules = reading.any("recompute_modules", "/training/recompute/modules");
        modules && granularity == "selective") {
        static constexpr std::array kKnown = {"core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"};
        Json known = Json::array();
        std::string others;
        for (const std::string& module : wordsOfList(*modules)) {
            if (std::find(kKnown.begin(), kKnown.end(), module) == kKnown.end())
                others += (others.empty() ? "" : ", ") + module;
            else if (std::find(known.begin(), known.end(), Json(module)) == known.end())
                known.push_back(module);
        }
        if (!known.empty() && known != Json::array({"core_attn"}))
            recompute = {{"kind", "selective"}, {"modules", known}};
        if (!others.empty())
            reading.say("recompute_modules", Became::notRepresentable, "the scenario has no module " + others);
    }
    job.training["recompute"] = recompute;

    const std::string optimizer = reading.wordOr("optimizer", "/training/optimizer", "adam");
    putOptimizer(job, "optimizer", optimizer);

    Json overlap;
    for (const char* key : {"grad_reduce", "param_gather"}) {
        const std::string name = std::string("overlap_") + key, pointer = std::string("/training/overlap/") + key;
        if (key == std::string_view("grad_reduce") && rules.gradReduce) {
            overlap[key] = *rules.gradReduce;
            continue;
        }
        const std::optional<bool> given = reading.flag(name, pointer);
        if (!given)
            reading.byDefault(name, rules.hidesReplicas, pointer,
                              rules.hidesReplicas ? "is not given: as the framework's recipes have it" : "");
        overlap[key] = given.value_or(rules.hidesReplicas);
    }
    const bool isSharded = memberOr<int>(job.layout, "zero_stage", 0) > 0 || optimizer == "dist_muon";
    if (overlap["param_gather"] == Json(true) && (!isSharded || overlap["grad_reduce"] != Json(true)))
        reading.say("overlap_param_gather", Became::contradictory,
                    "Megatron takes it beside " +
                        reading.spelled(isSharded ? "overlap_grad_reduce" : "use_distributed_optimizer") +
                        " alone, which is not given or off");
    overlap["tp_comm"] = reading.flagOr("tp_comm_overlap", "/training/overlap/tp_comm", false);
    const std::optional<bool> noP2p = reading.flag("no_overlap_p2p_communication", "/training/overlap/p2p");
    const bool interleaved = job.pp > 1 && memberOr<int>(job.schedule, "virtual_stages", 1) > 1;
    overlap["p2p"] = interleaved && !noP2p.value_or(rules.p2pIsOff);
    if (!noP2p)
        reading.byDefault("no_overlap_p2p_communication", rules.p2pIsOff, "/training/overlap/p2p",
                          interleaved ? "is not given: the framework's default" : "without virtual stages p2p is not overlapped");
    overlap["ep_comm"] = reading.flagOr("overlap_moe_expert_parallel_comm", "/training/overlap/ep_comm", false);
    job.training["overlap"] = overlap;

    readAttention(job, rules);
    if (const std::optional<std::string> wrapper = reading.word("DDP_impl", "/training/overlap/grad_reduce");
        wrapper == "torch" && !job.training["overlap"]["grad_reduce"].get<bool>()) {
        job.training["overlap"]["grad_reduce"] = true;
        reading.say("DDP_impl", Became::used, "PyTorch's own reduces gradients beside the backward pass");
    }
    readGradientFormat(job, isHalf);
    readFsdpFormats(job);
    readWideLayers(job, precision == "fp8" || precision == "mxfp8" || precision == "nvfp4");
    if (reading.flag("optimizer_cpu_offload", "/training/offload/optimizer").value_or(false))
        job.training["offload"]["optimizer"] =
            number(std::clamp(reading.real("optimizer_offload_fraction", "/training/offload/optimizer").value_or(1.0), 0.0, 1.0));
    else
        reading.say("optimizer_offload_fraction", Became::harmless, "counts only beside --optimizer-cpu-offload");
    const bool isOffloaded = reading.flag("cpu_offloading", "/training/offload/activation_layers").value_or(false);
    if (isOffloaded || (!rules.offloadNeedsSwitch && reading.has("cpu_offloading_num_layers"))) {
        const int layers = reading.integer("cpu_offloading_num_layers", "/training/offload/activation_layers").value_or(0);
        job.training["offload"]["activation_layers"] = std::clamp(layers, 0, 100000);
        for (const char* name : {"cpu_offloading_weights", "cpu_offloading_activations"})
            if (const std::optional<bool> isOn = reading.flag(name, ""))
                reading.say(name,
                            *isOn == (name == std::string_view("cpu_offloading_activations")) ? Became::harmless
                                                                                              : Became::notRepresentable,
                            "activations alone are on the host in the scenario");
    }
    readMomentFormats(job);
}

} // namespace

void readMegatronArguments(Job& job, const MegatronRules& rules)
{
    readMegatronWorld(job, rules);
    readMegatronModel(job, rules);
    readMegatronLayout(job, rules);
    readMegatronPipeline(job, rules);
    readMegatronTraining(job, rules);
    readDispatcher(job, rules.backendNamesDispatcher ? BackendAlone::yes : BackendAlone::no);
    noteUnreadMegatronArguments(job.reading);
}

MegatronRules rulesOfNamedModel(Job& job, MegatronRules rules)
{
    Reading& reading = job.reading;
    if (reading.peek("num_layers") != nullptr || reading.peek("hidden_size") != nullptr)
        return rules;
    for (const char* name : {"model", "hf_model_path"})
        if (const std::optional<std::string> model = reading.word(name, "/model/base"); model && !model->empty()) {
            // Primus, configs/models/megatron: llama3_8B.yaml is Llama 3, llama3.1_8B.yaml is 3.1.
            const std::string given = model->substr(0, model->rfind(".yaml"));
            putModelByName(job, name, given.starts_with("llama3_") ? "llama-3_" + given.substr(7) : given);
            rules.modelIsNamed = true;
            rules.precision = "bf16";
            return rules;
        }
    return rules;
}

namespace {

/// A test of Megatron's may have several runs in one file, MODEL_ARGS, MODEL_ARGS_2 and so on: the first is read. Returns its
/// name; empty where there is one, or none.
std::string useFirstRun(Reading& reading)
{
    std::string first;
    bool hasOthers = false;
    const auto runOf = [](const std::string& name) {
        const std::size_t flag = name.find(".--");
        return flag == std::string::npos || name.find("MODEL_ARGS") == std::string::npos ? std::string() : name.substr(0, flag);
    };
    reading.rename([&](const std::string& name) {
        const std::string run = runOf(name);
        if (first.empty() && run.starts_with("MODEL_ARGS"))
            first = run;
        hasOthers = hasOthers || (run.starts_with("MODEL_ARGS") && run != first);
        return name;
    });
    if (!hasOthers)
        return {};
    reading.rename([&](const std::string& name) {
        if (name == "MODEL_ENV_VARS." + first + ".GPUS_PER_NODE")
            return std::string("gpus_per_node");
        const std::string run = runOf(name); // what all of them have is a part of each
        return run.empty() || run == first ? name : "@run." + name.substr(run.size() + 3);
    });
    return first;
}

} // namespace

void readMegatron(Job& job)
{
    const std::string run = useFirstRun(job.reading);
    if (!run.empty())
        job.reading.harmless(std::array<std::string_view, 1>{"@run.*"}, "of another run: " + run + ", the first, is read");
    job.reading.switchesStandAlone();
    useMegatronNames(job.reading);
    readMegatronArguments(job, rulesOfTrainer(job, rulesOfNamedModel(job, {})));
    putSoftwareOfMegatron(job);
    tellRefusedMegatronArguments(job);
    readTrainersOwn(job);
    job.reading.harmless(std::array<std::string_view, 10>{"ENV_VARS.*", "TEST_TYPE", "METRICS*", "*_VARS*", "ds_config.*",
                                                          "LAUNCHER", "MODE", "*_SCRIPT", "TEST_EVALUATION", "*_TEST_PARAMS.*"});
}

} // namespace sim::frameworks
