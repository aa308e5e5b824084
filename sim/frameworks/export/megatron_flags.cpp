#include "sim/frameworks/dialects/megatron_layers.h"
#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/limits.h"

#include "sim/scenario/head_exchange.h"
#include "sim/scenario/words.h"

#include <algorithm>

namespace sim::frameworks {
namespace {

std::string layoutLetters(const std::vector<int>& layers, int predictions)
{
    const auto repeated = [](const char* letter, int times) {
        return times == 0 ? std::string() : times == 1 ? std::string(letter) : letter + ("*" + std::to_string(times));
    };
    std::string text = "E";
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i > 0)
            text += "|";
        text += repeated("t", layers[i]);
    }
    return text + repeated("m", predictions) + "L";
}

void addPipelineFlags(const Scenario& s, MegatronFlags& flags)
{
    if (s.layout.pp == 1)
        return;
    const std::vector<int>& counts = s.schedule.layersPerStage;
    const int chunks = s.schedule.virtualStages, pp = s.layout.pp;
    const bool isEven = std::all_of(counts.begin(), counts.end(), [&](int count) { return count == counts.front(); });
    const auto add = [&](const char* name, Json value) { flags.emplace_back(name, std::move(value)); };
    const auto addChunks = [&] {
        if (chunks > 1)
            add("num_virtual_stages_per_pipeline_rank", chunks);
    };
    if (isEven) {
        addChunks();
    } else {
        int first = 0, last = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            first += counts[static_cast<std::size_t>(chunk * pp)];
            last += counts[static_cast<std::size_t>(chunk * pp + pp - 1)];
        }
        std::vector<int> accounted(counts.size(), (s.model.numHiddenLayers + 2) / static_cast<int>(counts.size()));
        accounted.front() -= 1;
        accounted.back() -= 1;
        if ((s.model.numHiddenLayers + 2) % static_cast<int>(counts.size()) == 0 && accounted == counts) {
            addChunks();
            add("account_for_embedding_in_pipeline_split", true);
            add("account_for_loss_in_pipeline_split", true);
        } else if (layersByFirstAndLast(s.model.numHiddenLayers, pp, chunks, first, last) == counts) {
            addChunks();
            add("decoder_first_pipeline_num_layers", first);
            add("decoder_last_pipeline_num_layers", last);
        } else {
            add("pipeline_model_parallel_layout", layoutLetters(counts, s.model.numNextnPredictLayers));
        }
    }
    if (s.schedule.microbatchGroup != pp && chunks > 1)
        add("microbatch_group_size_per_virtual_pipeline_stage", s.schedule.microbatchGroup);
    if (chunks > 1 && !s.training.overlap.p2p)
        add("no_overlap_p2p_communication", true);
}

/// Llama 3.1's way of turning slower, whose lengths Megatron knows itself, and yarn for latent attention.
template <typename Add>
void addRopeScaling(const Model& m, const Add& add)
{
    const RopeScaling& scaling = m.ropeScaling;
    if (scaling.kind == RopeScalingKind::llama3 && !m.isLatentAttention()) {
        add("use_rope_scaling", true);
        add("rope_scaling_factor", number(scaling.factor));
    } else if (scaling.kind == RopeScalingKind::yarn && m.isLatentAttention()) {
        add("rope_type", "yarn");
        add("rotary_scaling_factor", number(scaling.factor));
        add("original_max_position_embeddings", scaling.originalLength);
        add("beta_fast", number(scaling.betaFast));
        add("beta_slow", number(scaling.betaSlow));
        add("mscale", number(scaling.mscale));
        add("mscale_all_dim", number(scaling.mscaleAllDim));
    }
    if (m.noRopeLayerInterval > 0)
        add("no_rope_freq", m.noRopeLayerInterval);
}

/// Whether each layer's matrices, its router among them, have biases, which is what Megatron's one flag of biases says then.
bool hasAllBiases(const Model& m)
{
    return m.bias || (m.moeLayers() == m.numHiddenLayers && m.numSharedExperts == 0 && m.qkvBias && m.outputBias && m.expertBias);
}

/// Positions that are learned or not; Megatron refuses sequences of more even where there is no table of them (arguments.py,
/// validate_args), as rotations have none.
int positionsFor(const Model& m, int sequenceLength)
{
    return m.positionEmbedding == PositionEmbedding::learned ? m.maxPositionEmbeddings
                                                             : std::max(m.maxPositionEmbeddings, sequenceLength);
}

void addModelFlags(const Model& m, int etp, int sequenceLength, MegatronFlags& flags)
{
    const auto add = [&](const char* name, Json value) { flags.emplace_back(name, std::move(value)); };
    add("num_layers", m.numHiddenLayers);
    add("hidden_size", m.hiddenSize);
    add("ffn_hidden_size", m.intermediateSize);
    add("num_attention_heads", m.numAttentionHeads);
    if (m.isLatentAttention()) {
        add("multi_latent_attention", true);
        if (m.qLoraRank > 0)
            add("q_lora_rank", m.qLoraRank);
        add("kv_lora_rank", m.kvLoraRank);
        add("qk_head_dim", m.qkNopeHeadDim);
        add("qk_pos_emb_head_dim", m.qkRopeHeadDim);
        add("v_head_dim", m.vHeadDim);
    } else {
        if (m.numKeyValueHeads != m.numAttentionHeads) {
            add("group_query_attention", true);
            add("num_query_groups", m.numKeyValueHeads);
        }
        if (m.headDim * m.numAttentionHeads != m.hiddenSize)
            add("kv_channels", m.headDim);
    }
    add("max_position_embeddings", positionsFor(m, sequenceLength));
    add("vocab_size", m.vocabSize);
    if (m.normalization == Normalization::rmsnorm)
        add("normalization", "RMSNorm");
    const double epsilon = m.normalization == Normalization::rmsnorm ? m.rmsNormEps : m.layerNormEpsilon;
    if (epsilon != 1e-5)
        add("norm_epsilon", number(epsilon));
    add("position_embedding_type", m.positionEmbedding == PositionEmbedding::rope      ? "rope"
                                   : m.positionEmbedding == PositionEmbedding::learned ? "learned_absolute"
                                                                                       : "none");
    if (m.positionEmbedding == PositionEmbedding::rope && m.ropeTheta != 10000)
        add("rotary_base", number(m.ropeTheta));
    addRopeScaling(m, add);
    if (m.hiddenAct == HiddenActivation::silu && m.gatedMlp)
        add("swiglu", true);
    else if (m.hiddenAct == HiddenActivation::relu2)
        add("squared_relu", true);
    else if (m.gatedMlp)
        add("quick_geglu", true);
    const bool isBiased = m.bias || (hasAllBiases(m) && etp == 1); // experts that are cut have none (limits.cpp)
    if (!isBiased)
        add("disable_bias_linear", true);
    if (m.qkvBias && !isBiased)
        add("add_qkv_bias", true);
    if (m.qkNorm || m.isLatentAttention()) // of what it compresses to, too
        add("qk_layernorm", true);
    if (!m.tieWordEmbeddings)
        add("untie_embeddings_and_output_weights", true);
    if (m.hiddenDropout != 0.1)
        add("hidden_dropout", number(m.hiddenDropout));
    if (m.attentionDropout != 0.1)
        add("attention_dropout", number(m.attentionDropout));
    if (m.slidingWindow > 0)
        add("window_size", Json::array({m.slidingWindow - 1, 0}));
    if (m.slidingWindow > 0 && m.slidingWindowPattern > 0)
        add("window_attn_skip_freq", m.slidingWindowPattern);
    if (m.attentionSinks)
        add("softmax_type", "learnable");
    if (m.numNextnPredictLayers > 0)
        add("mtp_num_layers", m.numNextnPredictLayers);
    if (m.numExperts == 0)
        return;
    add("num_experts", m.numExperts);
    add("moe_router_topk", m.numExpertsPerTok);
    add("moe_ffn_hidden_size", m.moeIntermediateSize);
    if (m.numSharedExperts > 0)
        add("moe_shared_expert_intermediate_size", m.numSharedExperts * m.moeIntermediateSize);
    if (m.firstKDenseReplace > 0) {
        Json pattern = Json::array();
        for (int layer = 0; layer < m.numHiddenLayers; ++layer)
            pattern.push_back(m.isMoeLayer(layer) ? 1 : 0);
        add("moe_layer_freq", pattern);
    } else if (m.moeLayerFreq > 1) {
        add("moe_layer_freq", m.moeLayerFreq);
    }
    if (m.routerBias && m.scoringFunction == ScoringFunction::sigmoid) // with a softmax it is one of the layers' biases
        add("moe_router_enable_expert_bias", true);
    if (m.scoringFunction == ScoringFunction::sigmoid)
        add("moe_router_score_function", "sigmoid");
    if (m.expertGroups > 1) {
        add("moe_router_num_groups", m.expertGroups);
        add("moe_router_group_topk", m.chosenGroups);
    }
    if (m.routedScalingFactor != 1)
        add("moe_router_topk_scaling_factor", number(m.routedScalingFactor));
}

} // namespace

MegatronFlags megatronFlags(const Scenario& s)
{
    refuseWhatBreaks("megatron", s);
    const Layout& l = s.layout;
    const Training& t = s.training;
    MegatronFlags flags;
    const auto add = [&](const char* name, Json value) { flags.emplace_back(name, std::move(value)); };
    add("tensor_model_parallel_size", l.tp);
    add("pipeline_model_parallel_size", l.pp);
    if (l.cp > 1)
        add("context_parallel_size", l.cp);
    if (dealsHeads(s))
        add("cp_comm_type", "a2a");
    if (l.ep > 1) {
        add("expert_model_parallel_size", l.ep);
        // Unless told it gathers all tokens on all ranks. Before the backend had a flag of its own (Megatron-Core 0.15) a switch
        // named DeepEP, which is still taken.
        const bool isOnce = t.moe.sendOncePerNode;
        add("moe_token_dispatcher_type", isOnce ? "flex" : "alltoall");
        if (isOnce)
            add("moe_enable_deepep", true);
        if (isOnce) // the only probabilities that DeepEP takes
            add("moe_router_dtype", "fp32");
    }
    // Where pp is not last, the experts' grid must have it at the same stride, in dense models too.
    const bool isDpLast = l.order == "tp-cp-ep-pp-dp" || l.order == "tp-cp-pp-dp";
    const bool needsExpertRanks = isDpLast && l.pp > 1 && l.etp * l.ep != l.tp * l.cp;
    const int etp = needsExpertRanks ? l.tp * l.cp / l.ep : l.etp;
    if (etp != l.tp)
        add("expert_tensor_parallel_size", etp);
    if (l.sequenceParallel && l.tp > 1)
        add("sequence_parallel", true);
    if (isDpLast)
        add("use_tp_pp_dp_mapping", true);
    if (l.zeroStage == 1 || l.zeroStage == 2) // 2 where nothing is shared out: else it is refused
        add("use_distributed_optimizer", true);
    if (l.zeroStage == 3) {
        add("use_megatron_fsdp", true);
        add("data_parallel_sharding_strategy", "optim_grads_params");
        add("use_distributed_optimizer", true);
        add("ckpt_format", "fsdp_dtensor"); // the only one that it takes beside
    }
    if (l.zeroStage > 0 && l.dpShard < l.dp * l.cp)
        add("num_distributed_optimizer_instances", l.dp * l.cp / l.dpShard);
    addPipelineFlags(s, flags);
    addModelFlags(s.model, etp, t.sequenceLength, flags);
    add("seq_length", t.sequenceLength);
    add("micro_batch_size", t.microBatchSize);
    add("global_batch_size", t.globalBatchSize);
    if (t.tokens > 0)
        add("train_iters", stepsOfRun(s));
    if (t.precision == Precision::fp16)
        add("fp16", true);
    else if (t.precision != Precision::fp32 && t.precision != Precision::tf32)
        add("bf16", true);
    if (t.precision == Precision::fp8 || t.precision == Precision::mxfp8)
        add("fp8_format", t.precision == Precision::fp8 ? "hybrid" : "e4m3");
    if (t.precision == Precision::mxfp8)
        add("fp8_recipe", "mxfp8");
    // Parameters in 8 bits need the optimizer's shards (arguments.py).
    if ((t.precision == Precision::fp8 || t.precision == Precision::mxfp8) && !t.stack.keepsNarrowWeights &&
        s.layout.zeroStage > 0)
        add("fp8_param_gather", true);
    if (t.precision == Precision::nvfp4)
        add("fp4_format", "e2m1");
    if (t.optimizer == Optimizer::sgd)
        add("optimizer", "sgd");
    if (t.gradientBytes == 2 && t.precision != Precision::fp16)
        add("grad_reduce_in_bf16", true);
    else if (t.gradientBytes == 4 && t.precision == Precision::fp16)
        add("accumulate_allreduce_grads_in_fp32", true);
    if (t.recompute == Recompute::selective) {
        add("recompute_granularity", "selective");
        const bool isByOperators = t.recomputes(RecomputeModule::operators); // it has no such list (limits.cpp says so)
        RecomputeModules nearest{RecomputeModule::layernorm};
        if (s.model.moeLayers() > 0)
            nearest.add(RecomputeModule::moeActivation);
        if (s.model.moeLayers() < s.model.numHiddenLayers)
            nearest.add(RecomputeModule::mlp);
        std::string modules = wordsOf(isByOperators ? nearest : t.recomputeModules);
        std::erase(modules, ',');
        add("recompute_modules", modules);
    } else if (t.recompute == Recompute::full) {
        add("recompute_granularity", "full");
        add("recompute_method", t.recomputeLayers > 0 ? "block" : "uniform");
        add("recompute_num_layers", std::max(1, t.recomputeLayers));
    }
    if (t.overlap.gradReduce)
        add("overlap_grad_reduce", true);
    if (t.overlap.paramGather && t.overlap.gradReduce && l.zeroStage > 0)
        add("overlap_param_gather", true);
    if (t.overlap.tpComm && l.tp > 1)
        add("tp_comm_overlap", true);
    if (t.overlap.epComm && s.model.numExperts > 0)
        add("overlap_moe_expert_parallel_comm", true);
    if (t.lossChunkTokens > 0) {
        add("cross_entropy_loss_fusion", true);
        add("cross_entropy_fusion_impl", "linear");
    }
    add("attention_backend", t.flashAttention ? "flash" : "unfused");
    const bool has16BitMoments = t.momentBytes == 2 && t.optimizer == Optimizer::adamw;
    if (has16BitMoments || t.offload.optimizer > 0) // what keeps the optimizer on the host is a part of it
        add("use_precision_aware_optimizer", true);
    if (t.offload.optimizer > 0) {
        add("optimizer_cpu_offload", true);
        add("optimizer_offload_fraction", number(t.offload.optimizer));
    }
    if (t.offload.activationLayers > 0) {
        add("cpu_offloading", true);
        add("cpu_offloading_num_layers", t.offload.activationLayers);
    }
    if (has16BitMoments) {
        add("exp_avg_dtype", "bf16");
        add("exp_avg_sq_dtype", "bf16");
    }
    return flags;
}

} // namespace sim::frameworks
