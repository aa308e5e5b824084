// MaxText's YAML: sizes with the block of layers that has them, and a mesh whose axes lie inside of nodes (ici) or between (dcn).
#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/limits.h"

#include "sim/scenario/words.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace sim::frameworks {
namespace {

bool isOnTpus(const Scenario& s)
{
    return s.cluster.gpu.name.find("TPU") != std::string::npos;
}

/// The nearest of its blocks (src/maxtext/models); each has what it has, whatever the settings say.
const char* decoderBlock(const Model& m)
{
    const bool isMoe = m.numExperts > 0;
    if (m.normalization == Normalization::layernorm && m.positionEmbedding == PositionEmbedding::learned)
        return "gpt3";
    if (m.isLatentAttention())
        return "deepseek";
    if (isMoe)
        return m.attentionSinks ? "gpt_oss" : m.attentionChunkSize > 0 ? "llama4" : m.qkNorm ? "qwen3_moe" : "mixtral";
    return m.qkNorm ? "qwen3" : m.qkvBias ? "qwen2" : "llama2";
}

void addMaxTextExperts(const Model& m, std::string_view block, Json& root)
{
    root["num_experts"] = m.numExperts;
    root["num_experts_per_tok"] = m.numExpertsPerTok;
    root["base_moe_mlp_dim"] = m.moeIntermediateSize;
    if (m.moeLayers() == m.numHiddenLayers) // it wants one width where no layer is dense
        root["base_mlp_dim"] = m.moeIntermediateSize;
    if (m.numSharedExperts > 0 && (block == "deepseek" || block == "llama4"))
        root["shared_experts"] = m.numSharedExperts;
    if (m.firstKDenseReplace > 0 && block == "deepseek")
        root["first_num_dense_layers"] = m.firstKDenseReplace;
    if (block == "llama4") {
        if (m.firstKDenseReplace == m.moeLayerFreq - 1)
            root["interleave_moe_layer_step"] = m.moeLayerFreq;
        root["inhomogeneous_layer_cycle_interval"] = std::lcm(m.moeLayerFreq, std::max(1, m.noRopeLayerInterval));
    } else if (block == "gpt_oss") { // layers with a window and without take turns
        root["inhomogeneous_layer_cycle_interval"] = 2;
    }
    if (m.expertGroups > 1 && block == "deepseek") {
        root["n_routing_groups"] = m.expertGroups;
        root["topk_routing_group"] = m.chosenGroups;
    }
    if (block == "deepseek") { // others take a softmax of the chosen ones' logits
        root["routed_score_func"] = toWord(kScoringWords, m.scoringFunction);
        root["routed_scaling_factor"] = number(m.routedScalingFactor);
    } else if (block == "qwen3_moe") {
        root["norm_topk_prob"] = m.normTopkProb;
    }
    if (m.routerBias)
        root["routed_bias"] = true;
    if (m.expertBias)
        root["mlp_bias"] = true;
}

/// What llama3.1's embedding has is written into it (layers/embeddings.py), and yarn has one factor for both of ours.
void addMaxTextRopeScaling(const Model& m, Json& root)
{
    const RopeScaling& scaling = m.ropeScaling;
    if (scaling.kind == RopeScalingKind::llama3 && scaling.factor == 8 && scaling.originalLength == 8192 &&
        scaling.lowFrequencyFactor == 1 && scaling.highFrequencyFactor == 4) {
        root["rope_type"] = "llama3.1";
    } else if (scaling.kind == RopeScalingKind::yarn && m.isLatentAttention() && scaling.mscale == scaling.mscaleAllDim) {
        root["rope_type"] = "yarn";
        root["rope_factor"] = number(scaling.factor);
        root["original_max_position_embeddings"] = scaling.originalLength;
        root["beta_fast"] = number(scaling.betaFast);
        root["beta_slow"] = number(scaling.betaSlow);
        root["mscale"] = number(scaling.mscale);
        root["max_position_embeddings"] = m.maxPositionEmbeddings;
    }
}

void addMaxTextModel(const Model& m, Json& root)
{
    const std::string block = decoderBlock(m);
    root["decoder_block"] = block;
    root["base_num_decoder_layers"] = m.numHiddenLayers;
    root["base_emb_dim"] = m.hiddenSize;
    root["base_mlp_dim"] = m.intermediateSize;
    root["base_num_query_heads"] = m.numAttentionHeads;
    root["base_num_kv_heads"] = m.numKeyValueHeads;
    if (!m.isLatentAttention())
        root["head_dim"] = m.headDim;
    root["vocab_size"] = m.vocabSize;
    if (block == "gpt_oss") { // a SwiGLU of its own
        root["mlp_activations"] = Json::array({"sigmoid", "linear"});
        root["mlp_activations_limit"] = 7;
    } else if (m.hiddenAct != HiddenActivation::relu2) { // which it has not
        const Json act = toWord(kActivationWords, m.hiddenAct);
        root["mlp_activations"] = m.gatedMlp ? Json::array({act, "linear"}) : Json::array({act});
    }
    root["logits_via_embedding"] = m.tieWordEmbeddings;
    root["normalization_layer_epsilon"] = number(m.normalization == Normalization::rmsnorm ? m.rmsNormEps : m.layerNormEpsilon);
    addMaxTextRopeScaling(m, root);
    if (m.positionEmbedding == PositionEmbedding::rope)
        root["rope_max_timescale"] = number(m.ropeTheta);
    else if (m.positionEmbedding == PositionEmbedding::learned)
        root["trainable_position_size"] = m.maxPositionEmbeddings;
    if (m.qkNorm && block.starts_with("qwen3"))
        root["use_qk_norm"] = true;
    if (m.qkvBias && (block == "qwen2" || block == "gpt_oss"))
        root["attention_bias"] = true;
    if (block == "llama4") {
        root["chunk_attn_window_size"] = m.attentionChunkSize;
        root["nope_layer_interval"] = m.noRopeLayerInterval;
    }
    if (block == "gpt_oss") {
        root["attention_sink"] = true;
        root["sliding_window_size"] = m.slidingWindow;
    }
    if (m.isLatentAttention()) {
        root["attention_type"] = "mla";
        root["q_lora_rank"] = m.qLoraRank;
        root["kv_lora_rank"] = m.kvLoraRank;
        root["qk_nope_head_dim"] = m.qkNopeHeadDim;
        root["qk_rope_head_dim"] = m.qkRopeHeadDim;
        root["v_head_dim"] = m.vHeadDim;
    }
    if (m.numNextnPredictLayers > 0)
        root["mtp_num_layers"] = m.numNextnPredictLayers;
    if (m.numExperts > 0)
        addMaxTextExperts(m, block, root);
}

struct MeshAxis {
    std::string name;
    int size = 1;
};

/// Innermost first: of each as much as there is room for inside of a node, the rest between nodes. False where that leaves GPUs
/// of a node over; then all is inside.
bool addAxes(const Scenario& s, const std::array<MeshAxis, 6>& axes, Json& root)
{
    const int world = s.layout.worldSize(), perNode = isOnTpus(s) ? world : std::max(1, std::min(s.cluster.gpusPerNode, world));
    std::array<int, 6> inside{};
    int room = perNode;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        inside[i] = std::gcd(axes[i].size, room);
        room /= inside[i];
    }
    const bool isSplit = room == 1 && world % perNode == 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto& [name, size] = axes[i];
        root["ici_" + name + "_parallelism"] = isSplit ? inside[i] : size;
        const int between = isSplit ? size / inside[i] : 1;
        if (between > 1 || name == "data") // this one takes what is left where nobody says it
            root["dcn_" + name + "_parallelism"] = between;
    }
    return isSplit;
}

} // namespace

std::string writeMaxText(const Scenario& s)
{
    refuseWhatBreaks("maxtext", s);
    const Layout& l = s.layout;
    const Model& m = s.model;
    const Training& t = s.training;
    const int expert = l.ep;
    const int rest = l.dp / expert;
    const int shard = l.zeroStage < 1 ? 1 : std::clamp(l.dpShard / l.cp / expert, 1, rest);
    Json root{{"model_name", "default"}, {"hardware", isOnTpus(s) ? "tpu" : "gpu"}};
    addMaxTextModel(m, root);
    const bool isSplit = addAxes(s,
                                 {{{l.sequenceParallel ? "tensor_sequence" : "tensor", l.tp},
                                   {"context", l.cp},
                                   {"expert", expert},
                                   {"fsdp", shard},
                                   {"data", rest / shard},
                                   {"pipeline", l.pp}}},
                                 root);
    root["max_target_length"] = t.sequenceLength;
    const int accumulation = l.pp > 1 ? 1 : s.microbatches();
    root["gradient_accumulation_steps"] = accumulation;
    root["per_device_batch_size"] = number(static_cast<double>(t.globalBatchSize) / l.worldSize() / accumulation);
    if (l.pp > 1) {
        root["num_pipeline_microbatches"] = s.microbatches();
        root["num_pipeline_repeats"] = s.schedule.virtualStages;
    }
    if (t.tokens > 0)
        root["steps"] = stepsOfRun(s);
    root["dtype"] = dtypeWord(t.precision);
    if (isNarrow(t.precision))
        root["quantization"] = "fp8";
    root["remat_policy"] = t.recompute == Recompute::full ? "full" : t.recompute == Recompute::none ? "none" : "minimal";
    root["attention"] = !t.flashAttention ? "dot_product" : isOnTpus(s) ? "flash" : "cudnn_flash_te";
    if (t.optimizer == Optimizer::sgd)
        root["opt_type"] = "sgd";
    const std::string text = yamlText(root);
    return isSplit ? text
                   : text + "# Nodes of " + std::to_string(s.cluster.gpusPerNode) +
                         " GPUs do not hold whole axes: say which of them are dcn_*, between nodes.\n";
}

} // namespace sim::frameworks
