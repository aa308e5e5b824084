// A resolved scenario as a file that needs no catalogue.
#include "sim/scenario/document.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/stack_json.h"
#include "sim/scenario/words.h"

namespace sim {
namespace {

Json toJson(const RopeScaling& scaling)
{
    return {{"rope_type", toWord(kRopeScalingWords, scaling.kind)},
            {"factor", number(scaling.factor)},
            {"original_max_position_embeddings", scaling.originalLength},
            {"low_freq_factor", number(scaling.lowFrequencyFactor)},
            {"high_freq_factor", number(scaling.highFrequencyFactor)},
            {"beta_fast", number(scaling.betaFast)},
            {"beta_slow", number(scaling.betaSlow)},
            {"truncate", scaling.truncate},
            {"attention_factor", number(scaling.attentionFactor)},
            {"mscale", number(scaling.mscale)},
            {"mscale_all_dim", number(scaling.mscaleAllDim)}};
}

Json toJson(const Model& m)
{
    Json json{{"name", m.name},
              {"num_hidden_layers", m.numHiddenLayers},
              {"hidden_size", m.hiddenSize},
              {"intermediate_size", m.intermediateSize},
              {"num_attention_heads", m.numAttentionHeads},
              {"num_key_value_heads", m.numKeyValueHeads},
              {"head_dim", m.headDim},
              {"vocab_size", m.vocabSize},
              {"max_position_embeddings", m.maxPositionEmbeddings},
              {"tie_word_embeddings", m.tieWordEmbeddings},
              {"hidden_act", toWord(kActivationWords, m.hiddenAct)},
              {"gated_mlp", m.gatedMlp},
              {"normalization", toWord(kNormalizationWords, m.normalization)},
              {"position_embedding", toWord(kPositionWords, m.positionEmbedding)},
              {"rope_theta", number(m.ropeTheta)},
              {"rms_norm_eps", number(m.rmsNormEps)},
              {"layer_norm_epsilon", number(m.layerNormEpsilon)},
              {"bias", m.bias},
              {"qkv_bias", m.qkvBias},
              {"attention_output_bias", m.outputBias},
              {"qk_norm", m.qkNorm},
              {"attention_sinks", m.attentionSinks},
              {"hidden_dropout", number(m.hiddenDropout)},
              {"attention_dropout", number(m.attentionDropout)},
              {"sliding_window", m.slidingWindow},
              {"sliding_window_pattern", m.slidingWindowPattern},
              {"attention_chunk_size", m.attentionChunkSize},
              {"no_rope_layer_interval", m.noRopeLayerInterval},
              {"num_nextn_predict_layers", m.numNextnPredictLayers},
              {"num_experts", m.numExperts},
              {"num_experts_per_tok", m.numExpertsPerTok},
              {"moe_intermediate_size", m.moeIntermediateSize},
              {"num_shared_experts", m.numSharedExperts},
              {"first_k_dense_replace", m.firstKDenseReplace},
              {"moe_layer_freq", m.moeLayerFreq},
              {"router_bias", m.routerBias},
              {"expert_bias", m.expertBias},
              {"scoring_func", toWord(kScoringWords, m.scoringFunction)},
              {"n_group", m.expertGroups},
              {"topk_group", m.chosenGroups},
              {"norm_topk_prob", m.normTopkProb},
              {"routed_scaling_factor", number(m.routedScalingFactor)},
              {"q_lora_rank", m.qLoraRank},
              {"kv_lora_rank", m.kvLoraRank},
              {"qk_nope_head_dim", m.qkNopeHeadDim},
              {"qk_rope_head_dim", m.qkRopeHeadDim},
              {"v_head_dim", m.vHeadDim}};
    if (m.ropeScaling.kind != RopeScalingKind::none)
        json["rope_scaling"] = toJson(m.ropeScaling);
    for (const LayerType type : m.layerTypes)
        json["layer_types"].push_back(toWord(kLayerTypeWords, type));
    return json;
}

Json toJson(const Efficiency& e)
{
    Json json{{"id", e.id},
              {"gemm", number(e.gemm)},
              {"gemm_half_k", number(e.gemmHalfK)},
              {"attention_forward", number(e.attentionForward)},
              {"attention_backward", number(e.attentionBackward)},
              {"memory", number(e.memory)},
              {"grouped_gemm", number(e.groupedGemm)},
              {"fp8_gemm", number(e.fp8Gemm)},
              {"weight_gradient", number(e.weightGradient)},
              {"kernel_us", number(e.kernelUs)},
              {"attention_half_length", number(e.attentionHalfLength)},
              {"launch_us", number(e.launchUs)},
              {"network", number(e.network)},
              {"inter_node", number(e.interNode)},
              {"all_to_all", number(e.allToAll)},
              {"in_network", number(e.inNetwork)},
              {"collective_us", number(e.collectiveUs)},
              {"host_link", number(e.hostLink)},
              {"host_memory", number(e.hostMemory)},
              {"beside_transfers", number(e.besideTransfers)},
              {"beside_all_to_all", number(e.besideAllToAll)}};
    const auto writeAttention = [&json](std::string_view word, const AttentionRate& rate) {
        const auto write = [&](const char* key, double forward, double backward) {
            if (forward != 0 || backward != 0)
                json[key][std::string(word)] = {number(forward), number(backward)};
        };
        write("attention", rate.forward, rate.backward);
        write("attention_half_lengths", rate.forwardHalfLength, rate.backwardHalfLength);
        write("attention_half_heads", rate.forwardHalfHead, rate.backwardHalfHead);
    };
    for (const auto& [word, kernel] : kAttentionWords)
        writeAttention(word, e.attention[static_cast<std::size_t>(kernel)]);
    for (const auto& [word, scaling] : kNarrowAttentionWords)
        writeAttention(word, e.narrowAttention[static_cast<std::size_t>(scaling)]);
    json.update(toJson(e.profile));
    return json;
}

Json toJson(const Cluster& c)
{
    Json peaks = Json::object();
    for (const auto& [precision, rate] : c.gpu.peakTflops)
        peaks[std::string(toWord(kPrecisionWords, precision))] = number(rate);
    Json tiers = Json::array();
    for (const Tier& tier : c.tiers)
        tiers.push_back({{"name", tier.name},
                         {"span", tier.span == 0 ? Json("all") : Json(tier.span)},
                         {"bandwidth_gbs", number(tier.bandwidthGBs)},
                         {"latency_us", number(tier.latencyUs)},
                         {"gpus_per_nic", tier.gpusPerNic},
                         {"in_network_reduction", tier.inNetworkReduction},
                         {"mesh", tier.mesh}});
    return {{"name", c.name},
            {"gpu",
             {{"name", c.gpu.name},
              {"peak_tflops", peaks},
              {"memory_gib", number(c.gpu.memoryGib)},
              {"memory_bandwidth_gbs", number(c.gpu.memoryBandwidthGBs)},
              {"host_bandwidth_gbs", number(c.gpu.hostBandwidthGBs)},
              {"multiprocessors", c.gpu.multiprocessors},
              {"power_watts", number(c.gpu.powerWatts)}}},
            {"gpus_per_node", c.gpusPerNode},
            {"nodes", c.nodes},
            {"host", {{"memory_bandwidth_gbs", number(c.host.memoryBandwidthGBs)}, {"memory_gib", number(c.host.memoryGib)}}},
            {"tiers", tiers},
            {"efficiency", toJson(c.efficiency)}};
}

Json toJson(const Layout& l)
{
    Json json{{"tp", l.tp},
              {"cp", l.cp},
              {"pp", l.pp},
              {"dp", l.dp},
              {"ep", l.ep},
              {"etp", l.etp},
              {"order", l.order},
              {"sequence_parallel", l.sequenceParallel},
              {"zero_stage", l.zeroStage},
              {"reshard_after_forward", l.reshardAfterForward},
              {"reduce_each_microbatch", l.reduceEachMicrobatch},
              {"dp_shard", l.dpShard}};
    if (l.placement == PlacementRule::explicitList)
        json["placement"] = l.explicitPlacement;
    else
        json["placement"] = l.placement == PlacementRule::packed ? "packed" : "round-robin";
    return json;
}

Json toJson(const ScheduleSettings& s)
{
    Json json{{"kind", s.kind},
              {"virtual_stages", s.virtualStages},
              {"layers_per_stage", s.layersPerStage},
              {"microbatch_group", s.microbatchGroup}};
    if (scheduleFamily(s.kind).cutsSequences())
        json["sequence_slices"] = s.sequenceSlices;
    if (s.memoryCapGib > 0)
        json["memory_cap_gib"] = number(s.memoryCapGib);
    if (!s.actions.empty())
        json["actions"] = s.actions;
    return json;
}

const char* elementWord(int bytes)
{
    return bytes == 4 ? "fp32" : bytes == 1 ? "fp8" : "bf16";
}

Json toJson(const Training& t)
{
    Json recompute = toWord(kRecomputeWords, t.recompute);
    if (t.recomputeLayers > 0)
        recompute = {{"kind", recompute}, {"layers", t.recomputeLayers}};
    if (t.recompute == Recompute::selective &&
        (t.recomputeModules != t.stack.selective || t.recomputeModules != Training().recomputeModules)) {
        if (recompute.is_string())
            recompute = {{"kind", recompute}};
        for (const auto& [word, module] : kRecomputeModuleWords)
            if (t.recomputeModules.has(module))
                recompute["modules"].push_back(word);
    }
    Json json{{"sequence_length", t.sequenceLength},
              {"micro_batch_size", t.microBatchSize},
              {"global_batch_size", t.globalBatchSize},
              {"precision", toWord(kPrecisionWords, t.precision)},
              {"recompute", recompute},
              {"optimizer", toWord(kOptimizerWords, t.optimizer)},
              {"causal", t.causal},
              {"flash_attention", t.flashAttention},
              {"attention", toWord(kAttentionWords, t.attention)},
              {"loss_chunk_tokens", t.lossChunkTokens},
              {"master_weights", t.masterWeights},
              {"gradient_dtype", elementWord(t.gradientBytes)},
              {"moment_dtype", elementWord(t.momentBytes)},
              {"moe",
               {{"dispatch_dtype", elementWord(t.moe.dispatchBytes)},
                {"combine_dtype", elementWord(t.moe.combineBytes)},
                {"send_once_per_node", t.moe.sendOncePerNode},
                {"imbalance", number(t.moe.imbalance)}}},
              {"stack", toJson(t.stack)},
              {"overlap",
               {{"grad_reduce", t.overlap.gradReduce},
                {"param_gather", t.overlap.paramGather},
                {"tp_comm", t.overlap.tpComm},
                {"p2p", t.overlap.p2p},
                {"ep_comm", t.overlap.epComm}}},
              {"offload", {{"optimizer", number(t.offload.optimizer)}, {"activation_layers", t.offload.activationLayers}}}};
    if (t.documents.areGiven()) {
        Json weights = Json::array();
        for (const double weight : t.documents.weights)
            weights.push_back(number(weight));
        json["documents"] = {{"lengths", t.documents.lengths}, {"weights", weights}, {"seed", t.documents.seed}};
    }
    if (t.tokens > 0)
        json["tokens"] = number(t.tokens);
    return json;
}

Json toJson(const Perturbation& p)
{
    // What the kind needs, and what was given besides.
    const Perturbation unset;
    const bool isJitter = p.kind == PerturbationKind::jitter;
    const bool isFailure = p.kind == PerturbationKind::failure;
    Json json{{"kind", toWord(kPerturbationWords, p.kind)}};
    if (p.rank >= 0)
        json["rank"] = p.rank;
    if (p.factor != unset.factor || (!isJitter && !isFailure))
        json["factor"] = number(p.factor);
    if (p.sigma != unset.sigma || isJitter)
        json["sigma"] = number(p.sigma);
    if (p.seed != unset.seed || isJitter || isFailure)
        json["seed"] = p.seed;
    if (!isFailure && p.failures == unset.failures)
        return json;
    const Failures& f = p.failures;
    json["mtbf_hours"] = number(f.mtbfHours);
    if (f.checkpointEverySeconds)
        json["checkpoint_every_s"] = number(*f.checkpointEverySeconds);
    if (f.checkpointSeconds)
        json["checkpoint_s"] = number(*f.checkpointSeconds);
    json["storage_gbs"] = number(f.storageGBs);
    json["restart_s"] = number(f.restartSeconds);
    json["replace_s"] = number(f.replaceSeconds);
    json["spares"] = f.spares;
    json["days"] = number(f.days);
    return json;
}

} // namespace

std::string resolvedText(const Scenario& s)
{
    Json json{{"format", "rankscope-scenario"}, {"version", 1}};
    for (const auto& [key, value] : {std::pair{"name", &s.name}, {"description", &s.description}, {"source", &s.source}})
        if (!value->empty())
            json[key] = *value;
    json["model"] = toJson(s.model);
    json["cluster"] = toJson(s.cluster);
    json["layout"] = toJson(s.layout);
    json["schedule"] = toJson(s.schedule);
    json["training"] = toJson(s.training);
    if (const Lora& lora = s.model.lora; lora.isOn()) {
        Json targets = Json::array();
        for (const auto& [word, target] : kLoraTargetWords)
            if (lora.has(target))
                targets.push_back(word);
        Json& written = json["training"]["lora"] = {
            {"rank", lora.rank}, {"targets", targets}, {"dropout", number(lora.dropout)}, {"fused", lora.fused}};
        if (lora.base != LoraBase::wide || elementBytes(s.training.precision) == 2) // else it is in 32 bits, without a word
            written["base_dtype"] = toWord(kLoraBaseWords, lora.base);
    }
    if (!s.perturbations.empty()) {
        json["perturbations"] = Json::array();
        for (const Perturbation& perturbation : s.perturbations)
            json["perturbations"].push_back(toJson(perturbation));
    }
    json["live"] = {{"device", s.live.device},
                    {"steps", s.live.steps},
                    {"learning_rate", number(s.live.learningRate)},
                    {"seed", s.live.seed},
                    {"data", s.live.data},
                    {"dtype", s.live.dtype},
                    {"dropout", number(s.live.dropout)},
                    {"weight_decay", number(s.live.weightDecay)},
                    {"clip_norm", number(s.live.clipNorm)},
                    {"aux_loss", number(s.live.auxiliaryLoss)}};
    return prettyText(json);
}

} // namespace sim
