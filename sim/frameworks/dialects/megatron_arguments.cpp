// What Megatron's arguments mean. Facts: megatron/training/arguments.py of NVIDIA/Megatron-LM at d98e8a6 and before.
#include "sim/frameworks/dialects/megatron_layers.h"
#include "sim/frameworks/job.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

void readMegatronWorld(Job& job)
{
    Reading& reading = job.reading;
    job.tp = reading.sizeOr("tensor_model_parallel_size", "/layout/tp", 1);
    job.pp = reading.sizeOr("pipeline_model_parallel_size", "/layout/pp", 1);
    job.cp = reading.sizeOr("context_parallel_size", "/layout/cp", 1);
    if (reading.flag("no_pipeline_parallel", "/layout/pp").value_or(false))
        job.pp = 1;
    const auto positive = [](std::optional<int> value) { return value && *value > 0 ? value : std::nullopt; };
    if (!job.nodes)
        job.nodes = positive(reading.integer("@nodes", "/cluster/nodes"));
    if (!job.gpusPerNode)
        job.gpusPerNode = positive(reading.integer("@gpus_per_node", "/cluster/gpus_per_node"));
    if (!job.gpusPerNode)
        job.gpusPerNode = positive(reading.integer("ntasks_per_node", "/cluster/gpus_per_node"));
    if (!job.gpus)
        job.gpus = positive(reading.integer("@gpus", "/cluster"));
    for (const char* name : {"@env.NNODES", "@env.NUM_NODES", "@env.NODES", "@env.N_NODES"})
        if (!job.nodes && reading.has(name))
            job.nodes = positive(reading.integer(name, "/cluster/nodes"));
    for (const char* name : {"@env.GPUS_PER_NODE", "@env.NPROC_PER_NODE", "@env.GPN", "@env.N_GPUS", "@env.NUM_GPUS"})
        if (!job.gpusPerNode && reading.has(name))
            job.gpusPerNode = positive(reading.integer(name, "/cluster/gpus_per_node"));
    job.gpusFrom = reading.has("@gpus_per_node") ? "@gpus_per_node" : reading.has("@nodes") ? "@nodes" : "";
    if (job.gpusPerNode && !job.nodes && !job.gpus && !job.askedGpus) {
        job.nodes = 1;
        reading.byDefault("@nodes", 1, "/cluster/nodes", "the launcher starts one node unless told");
    }
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
        reading.byDefault("expert_tensor_parallel_size", job.tp, "/layout/etp",
                          "is not given: Megatron takes the tensor-parallel size");
    job.layout["etp"] = std::max(1, etp.value_or(job.tp));
    job.layout["order"] = reading.flagOr("use_tp_pp_dp_mapping", "/layout/order", false) ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp";
    const bool sequenceParallel = reading.flagOr("sequence_parallel", "/layout/sequence_parallel", false);
    if (sequenceParallel && job.tp == 1)
        reading.say("sequence_parallel", Became::used,
                    "with tensor parallelism 1 the framework switches it off: false is imported");
    job.layout["sequence_parallel"] = sequenceParallel && job.tp > 1;

    int zero = 0;
    const bool distributed = reading.flagOr("use_distributed_optimizer", "/layout/zero_stage", rules.alwaysShardsOptimizer);
    if (distributed || rules.alwaysShardsOptimizer)
        zero = 1;
    if (reading.flag("use_megatron_fsdp", "/layout/zero_stage").value_or(false)) {
        const std::string strategy = reading.wordOr("data_parallel_sharding_strategy", "/layout/zero_stage", "no_shard");
        zero = strategy == "optim" ? 1 : strategy == "optim_grads" ? 2 : strategy == "optim_grads_params" ? 3 : 0;
    } else {
        reading.say("data_parallel_sharding_strategy", Became::harmless, "counts only beside --use-megatron-fsdp");
    }
    if (reading.flag("use_torch_fsdp2", "/layout/zero_stage").value_or(false))
        zero = 3;
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

void putMegatronActivation(Job& job)
{
    Reading& reading = job.reading;
    std::string act = "gelu";
    bool gated = false, isGiven = true;
    if (const std::optional<std::string> word = reading.word("activation", "/model/hidden_act")) {
        gated = word->find("glu") != std::string::npos;
        act = word->find("swiglu") != std::string::npos || *word == "silu" ? "silu"
              : word->find("squared") != std::string::npos                 ? "relu2"
                                                                           : "gelu";
        if (*word != "gelu" && *word != "openai-gelu" && *word != "fast-swiglu" && *word != "swiglu" && *word != "squared-relu" &&
            *word != "geglu" && *word != "fast-geglu" && *word != "approx-gelu" && *word != "silu")
            reading.say("activation", Became::notRepresentable, quotedText(*word) + ": the scenario has gelu, silu and relu2");
    } else if (reading.flag("swiglu", "/model/hidden_act").value_or(false)) {
        act = "silu";
        gated = true;
    } else if (reading.flag("squared_relu", "/model/hidden_act").value_or(false)) {
        act = "relu2";
    } else if (reading.flag("quick_geglu", "/model/hidden_act").value_or(false)) {
        gated = true;
    } else if (const std::optional<std::string> function = reading.word("activation_func", "/model/hidden_act")) {
        act = function->find("silu") != std::string::npos || function->find("swiglu") != std::string::npos ? "silu"
              : function->find("squared") != std::string::npos                                             ? "relu2"
                                                                                                           : "gelu";
        gated = function->find("glu") != std::string::npos;
    } else {
        isGiven = false;
        if (!reading.has("gated_linear_unit"))
            reading.byDefault("swiglu", false, "/model/hidden_act", "is not given: gelu, not gated");
    }
    for (const char* name : {"swiglu", "squared_relu", "quick_geglu"})
        reading.flag(name, "/model/hidden_act");
    if (const std::optional<bool> unit = reading.flag("gated_linear_unit", "/model/gated_mlp"))
        gated = *unit;
    else if (!isGiven)
        gated = false;
    job.model["hidden_act"] = act;
    job.model["gated_mlp"] = gated;
}

void readMegatronAttention(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    const std::optional<int> heads = reading.integer("num_attention_heads", "/model/num_attention_heads");
    if (heads)
        job.model["num_attention_heads"] = *heads;
    const bool latent = reading.flag("multi_latent_attention", "/model/kv_lora_rank").value_or(false);
    const std::optional<bool> grouped = reading.flag("group_query_attention", "/model/num_key_value_heads");
    const std::optional<int> groups = reading.integer("num_query_groups", "/model/num_key_value_heads");
    if (latent) {
        struct LatentName {
            const char *flag, *key;
            int fallback;
        };
        for (const auto& [flag, key, fallback] :
             {LatentName{"q_lora_rank", "q_lora_rank", 0}, LatentName{"kv_lora_rank", "kv_lora_rank", 32},
              LatentName{"qk_head_dim", "qk_nope_head_dim", 128}, LatentName{"qk_pos_emb_head_dim", "qk_rope_head_dim", 64},
              LatentName{"v_head_dim", "v_head_dim", 128}})
            if (const int value = reading.integerOr(flag, std::string("/model/") + key, fallback); value > 0)
                job.model[key] = value;
        reading.say("kv_channels", Became::harmless, "latent attention has sizes of its own");
    } else {
        for (const char* name : {"q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"})
            if (reading.has(name))
                reading.say(name, Became::harmless, "counts only beside --multi-latent-attention");
        if (groups && rules.groupsNeedFlag && !grouped.value_or(false)) {
            reading.say("num_query_groups", Became::harmless,
                        "counts only beside --group-query-attention: every head has keys and values of its own");
            if (heads)
                job.model["num_key_value_heads"] = *heads;
        } else if (groups && (grouped.value_or(true))) {
            job.model["num_key_value_heads"] = *groups;
        } else if (heads) {
            job.model["num_key_value_heads"] = *heads;
            if (!grouped)
                reading.byDefault("group_query_attention", false, "/model/num_key_value_heads");
        }
        if (const std::optional<int> channels = reading.integer("kv_channels", "/model/head_dim"))
            job.model["head_dim"] = *channels;
    }
    if (reading.flag("qk_layernorm", "/model/qk_norm").value_or(false) && !latent)
        job.model["qk_norm"] = true;
    if (const auto window = reading.any("window_size", "/model/sliding_window")) {
        const std::vector<std::string> words = wordsOfList(*window);
        std::string first = words.empty() ? "" : words.front();
        first.erase(0, first.find_first_not_of('('));
        if (const std::optional<int> left = wholeNumber<int>(valueOf(first)); left && *left >= 0 && *left < 100000000) {
            job.model["sliding_window"] = *left + 1;
            reading.addNote("window_size", Became::notRepresentable,
                            "a window of " + std::to_string(*left + 1) +
                                " tokens is imported; what looks ahead, and layers that "
                                "--window-attn-skip-freq leaves whole, are not");
        }
    }
}

void readMegatronModel(Job& job, const MegatronRules& rules)
{
    Reading& reading = job.reading;
    const auto copyInteger = [&](const char* name, const char* key) {
        const std::optional<int> value = reading.integer(name, std::string("/model/") + key);
        if (value)
            job.model[key] = *value;
        return value;
    };
    copyInteger("num_layers", "num_hidden_layers");
    const std::optional<int> hidden = copyInteger("hidden_size", "hidden_size");
    const bool isNamed = rules.modelIsNamed && !hidden;
    copyInteger("max_position_embeddings", "max_position_embeddings");
    if (const std::optional<int> size = copyInteger("pad_vocab_size_to", "vocab_size"); size && reading.has("vocab_size"))
        reading.say("vocab_size", Became::used, "padded by --pad-vocab-size-to", "/model/vocab_size");
    else if (!size)
        copyInteger("vocab_size", "vocab_size");
    if (isNamed) {
        const std::optional<int> ffn = reading.integer("ffn_hidden_size", "/model/intermediate_size");
        if (ffn)
            job.model["intermediate_size"] = *ffn;
        return;
    }
    readMegatronAttention(job, rules);
    putMegatronActivation(job);
    if (const std::optional<int> ffn = copyInteger("ffn_hidden_size", "intermediate_size");
        !ffn && hidden && *hidden < (1 << 26)) {
        const bool swiglu = job.model["hidden_act"] == "silu" && reading.has("swiglu");
        const int size = swiglu ? static_cast<int>(*hidden * 4.0 * 2 / 3 / 64) * 64 : 4 * *hidden;
        job.model["intermediate_size"] = size;
        reading.byDefault("ffn_hidden_size", size, "/model/intermediate_size",
                          swiglu ? "is not given: 4 h x 2/3 in steps of 64 beside --swiglu" : "is not given: 4 h");
    }
    const std::string norm = reading.wordOr("normalization", "/model/normalization", "LayerNorm");
    std::string smallNorm = norm;
    std::transform(smallNorm.begin(), smallNorm.end(), smallNorm.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    job.model["normalization"] = smallNorm.starts_with("rms") ? "rmsnorm" : "layernorm";
    reading.flag("apply_layernorm_1p", "/model/normalization");
    const std::string position = reading.wordOr("position_embedding_type", "/model/position_embedding", "learned_absolute");
    const bool isRotated = position == "rope" || position == "yarn" || position == "mrope";
    job.model["position_embedding"] = isRotated ? "rope" : position.starts_with("learned") ? "learned" : "none";
    if (position == "alibi")
        reading.say("position_embedding_type", Became::notRepresentable,
                    "alibi: it has no parameters, and its bias inside of attention is not counted; imported as none");
    else if (!isRotated && !position.starts_with("learned") && position != "none")
        reading.say("position_embedding_type", Became::notRepresentable, quotedText(position) + ": imported as none");
    if (const std::optional<double> base = reading.real("rotary_base", "/model/rope_theta"); base && *base > 1 && isRotated)
        job.model["rope_theta"] = number(*base);
    for (const char* name : {"norm_epsilon", "layernorm_epsilon"})
        if (const std::optional<double> epsilon = reading.real(name, "/model/layer_norm_epsilon");
            epsilon && *epsilon > 0 && *epsilon < 1)
            job.model[job.model["normalization"] == "rmsnorm" ? "rms_norm_eps" : "layer_norm_epsilon"] = *epsilon;
    const bool bias = !reading.flagOr("disable_bias_linear", "/model/bias", false);
    job.model["bias"] = bias;
    if (reading.flag("add_qkv_bias", "/model/qkv_bias").value_or(false) && !bias)
        job.model["qkv_bias"] = true;
    job.model["tie_word_embeddings"] =
        !reading.flagOr("untie_embeddings_and_output_weights", "/model/tie_word_embeddings", false);
    for (const char* key : {"hidden_dropout", "attention_dropout"}) {
        const std::string pointer = std::string("/model/") + key;
        const std::optional<double> dropout = reading.real(key, pointer);
        if (!dropout)
            reading.byDefault(key, 0.1, pointer);
        job.model[key] = std::clamp(dropout.value_or(0.1), 0.0, 0.99);
    }
    if (const std::optional<int> further = reading.integer("mtp_num_layers", "/model/num_nextn_predict_layers");
        further && *further > 0)
        job.model["num_nextn_predict_layers"] = *further;
}

void readMegatronExperts(Job& job)
{
    Reading& reading = job.reading;
    const std::optional<int> experts = reading.integer("num_experts", "/model/num_experts");
    if (!experts || *experts < 1) {
        for (const char* name :
             {"moe_router_topk", "moe_ffn_hidden_size", "moe_layer_freq", "moe_shared_expert_intermediate_size"})
            if (reading.has(name))
                reading.say(name, Became::harmless, "there are no experts");
        return;
    }
    job.model["num_experts"] = *experts;
    job.model["num_experts_per_tok"] = reading.integerOr("moe_router_topk", "/model/num_experts_per_tok", 2);
    std::optional<int> ffn = reading.integer("moe_ffn_hidden_size", "/model/moe_intermediate_size");
    if (!ffn && job.model.contains("intermediate_size")) {
        ffn = memberOr<int>(job.model, "intermediate_size", 1);
        reading.byDefault("moe_ffn_hidden_size", *ffn, "/model/moe_intermediate_size", "is not given: as --ffn-hidden-size");
    }
    if (ffn)
        job.model["moe_intermediate_size"] = *ffn;
    if (const std::optional<int> shared = reading.integer("moe_shared_expert_intermediate_size", "/model/num_shared_experts");
        shared && ffn && *ffn > 0) {
        job.model["num_shared_experts"] = *shared / *ffn;
        if (*shared % *ffn != 0)
            reading.say("moe_shared_expert_intermediate_size", Became::notRepresentable,
                        std::to_string(*shared) + " is no multiple of an expert's " + std::to_string(*ffn) +
                            "; shared experts are as large as others here");
    }
    if (const auto freq = reading.any("moe_layer_freq", "/model/moe_layer_freq")) {
        if (const std::optional<int> every = wholeNumber<int>(freq->is_string() ? valueOf(freq->get<std::string>()) : *freq)) {
            job.model["moe_layer_freq"] = std::max(1, *every);
            job.model["first_k_dense_replace"] = 0;
        } else {
            std::vector<int> pattern;
            if (freq->is_array())
                pattern = valueAs<std::vector<int>>(*freq).value_or(std::vector<int>());
            else
                pattern = layerPatternOf(shownValue(*freq));
            if (const auto layers = expertLayersOf(pattern)) {
                job.model["first_k_dense_replace"] = layers->firstDense;
                job.model["moe_layer_freq"] = layers->every;
            } else {
                reading.say("moe_layer_freq", Became::notRepresentable,
                            quotedText(shownValue(*freq)) +
                                ": the scenario says the first k layers dense, then every n-th of experts");
            }
        }
    }
    if (reading.flag("moe_router_enable_expert_bias", "/model/router_bias").value_or(false))
        job.model["router_bias"] = true;
    if (const auto score = reading.word("moe_router_score_function", "/model/scoring_func");
        score == "sigmoid" || score == "softmax")
        job.model["scoring_func"] = *score;
    const std::optional<int> groupCount = reading.integer("moe_router_num_groups", "/model/n_group");
    const std::optional<int> groupTop = reading.integer("moe_router_group_topk", "/model/topk_group");
    if (groupCount && *groupCount > 1) {
        job.model["n_group"] = *groupCount;
        if (groupTop)
            job.model["topk_group"] = *groupTop;
    }
    if (const auto factor = reading.real("moe_router_topk_scaling_factor", "/model/routed_scaling_factor"); factor && *factor > 0)
        job.model["routed_scaling_factor"] = number(*factor);
}

void readMegatronPipeline(Job& job)
{
    Reading& reading = job.reading;
    int layers = memberOr<int>(job.model, "num_hidden_layers", 0);
    if (layers == 0 && job.model.contains("base"))
        if (const Json* const base = job.catalogue.modelJson(job.model["base"].get<std::string>()))
            layers = memberOr<int>(*base, "num_hidden_layers", 0);
    if (layers < 0 || layers > 1000000)
        layers = 0;
    int chunks = 1;
    const std::optional<int> byStages = reading.integer("num_virtual_stages_per_pipeline_rank", "/schedule/virtual_stages");
    const std::optional<int> byLayers = reading.integer("num_layers_per_virtual_pipeline_stage", "/schedule/virtual_stages");
    std::vector<int> counts;
    if (byStages && *byStages > 0)
        chunks = *byStages;
    else if (byLayers && *byLayers > 0) {
        if (layers > 0 && layers % job.pp == 0 && layers / job.pp % *byLayers == 0)
            chunks = layers / job.pp / *byLayers;
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
    const bool forEmbedding =
        reading.flag("account_for_embedding_in_pipeline_split", "/schedule/layers_per_stage").value_or(false);
    const bool forLoss = reading.flag("account_for_loss_in_pipeline_split", "/schedule/layers_per_stage").value_or(false);
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
                reading.addNote("pipeline_model_parallel_layout", Became::notRepresentable,
                                "m (multi-token prediction, mtp-num-layers) stands where the layout puts it; the scenario has it "
                                "in the last stage");
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
        const bool isAssumed = !isWhole && !forEmbedding && !forLoss && (layers + 2) % stages == 0;
        const bool withEmbedding = forEmbedding || isAssumed, withLoss = forLoss || isAssumed;
        const int units = layers + (withEmbedding ? 1 : 0) + (withLoss ? 1 : 0);
        if ((withEmbedding || withLoss) && units % stages == 0) {
            counts.assign(static_cast<std::size_t>(stages), units / stages);
            counts.front() -= withEmbedding ? 1 : 0;
            counts.back() -= withLoss ? 1 : 0;
        }
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
        precision = "fp32";
        reading.byDefault("bf16", false, "/training/precision", "is not given, nor fp16: fp32");
    }
    if (fp8 && *fp8 != "false" && *fp8 != "none")
        precision = recipe == "mxfp8" ? "mxfp8" : "fp8";
    if (fp4 && *fp4 != "false" && *fp4 != "none")
        precision = "nvfp4";
    job.training["precision"] = precision;

    const std::optional<std::string> granularity = reading.word("recompute_granularity", "/training/recompute");
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
    job.training["optimizer"] = optimizerWord(optimizer).empty() ? "adamw" : optimizerWord(optimizer);
    if (optimizerWord(optimizer).empty())
        reading.say("optimizer", Became::notRepresentable, quotedText(optimizer) + ": the scenario has adamw and sgd");

    Json overlap;
    overlap["grad_reduce"] =
        rules.gradReduce ? *rules.gradReduce : reading.flagOr("overlap_grad_reduce", "/training/overlap/grad_reduce", false);
    overlap["param_gather"] = reading.flagOr("overlap_param_gather", "/training/overlap/param_gather", false);
    overlap["tp_comm"] = reading.flagOr("tp_comm_overlap", "/training/overlap/tp_comm", false);
    const std::optional<bool> noP2p = reading.flag("no_overlap_p2p_communication", "/training/overlap/p2p");
    const bool interleaved = job.pp > 1 && memberOr<int>(job.schedule, "virtual_stages", 1) > 1;
    overlap["p2p"] = interleaved && !noP2p.value_or(rules.p2pIsOff);
    if (!noP2p)
        reading.byDefault("no_overlap_p2p_communication", rules.p2pIsOff, "/training/overlap/p2p",
                          interleaved ? "is not given: the framework's default" : "without virtual stages p2p is not overlapped");
    overlap["ep_comm"] = reading.flagOr("overlap_moe_expert_parallel_comm", "/training/overlap/ep_comm", false);
    job.training["overlap"] = overlap;

    if (const std::optional<std::string> backend = reading.word("attention_backend", "/training/flash_attention")) {
        if (*backend == "unfused" || *backend == "local" || *backend == "AttnBackend.unfused")
            job.training["flash_attention"] = false;
        else if (*backend != "auto")
            job.training["flash_attention"] = true;
    }
    job.training["gradient_dtype"] = reading.flagOr("grad_reduce_in_bf16", "/training/gradient_dtype", false) ? "bf16" : "fp32";
    if (reading.flag("optimizer_cpu_offload", "/training/offload/optimizer").value_or(false))
        job.training["offload"]["optimizer"] =
            number(std::clamp(reading.real("optimizer_offload_fraction", "/training/offload/optimizer").value_or(1.0), 0.0, 1.0));
}

} // namespace

void readMegatronArguments(Job& job, const MegatronRules& rules)
{
    readMegatronWorld(job);
    readMegatronModel(job, rules);
    readMegatronExperts(job);
    readMegatronLayout(job, rules);
    readMegatronPipeline(job);
    readMegatronTraining(job, rules);
    noteUnreadMegatronArguments(job.reading);
}

void readMegatron(Job& job)
{
    useMegatronNames(job.reading);
    readMegatronArguments(job, {});
    job.reading.harmless(std::array<std::string_view, 5>{"ENV_VARS.*", "TEST_TYPE", "METRICS*", "*_VARS*", "ds_config.*"});
}

} // namespace sim::frameworks
