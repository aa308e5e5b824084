// Precision, what is kept of activations and where, adapters, overlap.
#include "sim/legal/rules.h"
#include "sim/scenario/words.h"
#include "sim/text/quoted.h"

#include <tuple>

namespace sim {

void Rules::precisionAndOverlap()
{
    const Training& t = m_scenario.training;
    const Gpu& gpu = m_scenario.cluster.gpu;
    if (sound({"/training/precision", "/cluster/gpu"}) && !gpu.peakTflops.empty() && !gpu.peakTflops.contains(t.precision)) {
        error("/training/precision", [&] {
            std::string supported;
            for (const auto& [precision, rate] : gpu.peakTflops)
                supported += (supported.empty() ? "" : ", ") + std::string(toWord(kPrecisionWords, precision));
            return shownText(gpu.name) + " has no " + std::string(toWord(kPrecisionWords, t.precision)) +
                   m_provenance.originOf("/training/precision") + "; it has " + supported;
        });
    }
    recomputeModules();
    documentsAndOffload();
    lora();
    narrowerThanComputed();
    const int zeroStage = m_scenario.layout.zeroStage;
    if (t.overlap.paramGather && !t.overlap.gradReduce && (zeroStage == 1 || zeroStage == 2))
        warning("/training/overlap/param_gather",
                [&] { return std::string("Megatron Core overlaps parameter gathering only together with grad_reduce"); });
    if (t.overlap.tpComm && m_scenario.layout.tp > 1 && !m_scenario.layout.sequenceParallel)
        warning("/training/overlap/tp_comm",
                [&] { return std::string("Megatron Core overlaps tensor parallel communication only with sequence_parallel"); });
}

/// What neither is known of.
void Rules::documentsAndOffload()
{
    const Training& t = m_scenario.training;
    const Model& m = m_scenario.model;
    if (!sound({"/training", "/model", "/schedule"}))
        return;
    const int slices = m_scenario.schedule.sequenceSlices;
    if (t.documents.areGiven() && slices > 1)
        error("/training/documents", [&] {
            return "is not known of sequences in slices: " + named("/schedule/sequence_slices", slices) +
                   "; nearest: leave documents out";
        });
    for (const auto& [type, size, key] : {std::tuple{LayerType::sliding, m.slidingWindow, "/model/sliding_window"},
                                          {LayerType::chunked, m.attentionChunkSize, "/model/attention_chunk_size"}})
        if (t.documents.areGiven() && m.layersOf(type) > 0 && size < t.sequenceLength)
            return error("/training/documents", [&, key = key, size = size] {
                return "is not known of layers that see less than a sequence: " + named(key, size) +
                       "; nearest: leave documents out";
            });
    if (t.offload.activationLayers > 0 && slices > 1)
        error("/training/offload/activation_layers", [&] {
            return named("/training/offload/activation_layers", t.offload.activationLayers) +
                   " cannot leave where later slices of a sequence attend to them: " +
                   named("/schedule/sequence_slices", slices) + "; nearest: 0";
        });
    // A layer leaves and comes back beside the one behind it in its chunk.
    const auto& layers = m_scenario.schedule.layersPerStage;
    const auto least = std::min_element(layers.begin(), layers.end(), [](int a, int b) { return a > 0 && (b <= 0 || a < b); });
    if (slices == 1 && least != layers.end() && *least > 0 && t.offload.activationLayers >= *least)
        warning("/training/offload/activation_layers", [&] {
            const auto whole =
                std::count_if(layers.begin(), layers.end(), [&](int of) { return of > 0 && of <= t.offload.activationLayers; });
            return text(t.offload.activationLayers) + " layers are all that " + text(whole) + " of " +
                   text(static_cast<std::int64_t>(layers.size())) +
                   " chunks have: their last one has none behind it to travel beside, so that its way to the host and back is "
                   "waited for; nearest: " +
                   text(*least - 1);
        });
}

/// What is asked for must be there.
void Rules::recomputeModules()
{
    const Training& t = m_scenario.training;
    const Model& m = m_scenario.model;
    const std::string_view key = "/training/recompute/modules";
    if (t.recompute != Recompute::selective) {
        if (isWritten(key))
            warning(key, [&] {
                return "has an effect with kind selective only; kind is " + std::string(toWord(kRecomputeWords, t.recompute));
            });
        return;
    }
    if (!sound({"/training/recompute", "/model"}))
        return;
    struct Need {
        RecomputeModule module;
        bool isThere;
        const char* asks;
        std::string_view why;
        std::int64_t value;
    };
    const bool hasMoe = m.moeLayers() > 0;
    const Need needs[] = {
        {RecomputeModule::mlaUpProjection, m.isLatentAttention(), "latent attention", "/model/kv_lora_rank", m.kvLoraRank},
        {RecomputeModule::moe, hasMoe, "experts", "/model/num_experts", m.numExperts},
        {RecomputeModule::moeActivation, hasMoe, "experts", "/model/num_experts", m.numExperts},
        {RecomputeModule::sharedExperts, hasMoe && m.numSharedExperts > 0, "shared experts", "/model/num_shared_experts",
         m.numSharedExperts},
        {RecomputeModule::mlp, m.moeLayers() < m.numHiddenLayers, "a dense MLP", "/model/num_hidden_layers", m.numHiddenLayers}};
    RecomputeModules there = t.recomputeModules;
    for (const Need& need : needs)
        if (!need.isThere)
            there.remove(need.module);
    std::string nearest;
    for (const auto& [word, module] : kRecomputeModuleWords)
        if (there.has(module))
            nearest += (nearest.empty() ? "\"" : ",\"") + std::string(word) + "\"";
    for (const Need& need : needs)
        if (!need.isThere && t.recomputeModules.has(need.module))
            error(key, [&] {
                return std::string(toWord(kRecomputeModuleWords, need.module)) + " asks for " + need.asks + ", and the model " +
                       shownText(m.name) + " has none: " + named(need.why, need.value) + "; nearest: [" +
                       (nearest.empty() ? std::string("\"core_attn\"") : nearest) + "]";
            });
    if (t.recomputeModules.has(RecomputeModule::operators) && t.recomputeModules != RecomputeModules{RecomputeModule::operators})
        warning(key, [&] { return std::string("no other module has an effect beside operators, which covers the whole layer"); });
    for (const RecomputeModule module : {RecomputeModule::moeActivation, RecomputeModule::sharedExperts})
        if (t.recomputeModules.has(module) && t.recomputeModules.has(RecomputeModule::moe))
            warning(key, [&] {
                return std::string(toWord(kRecomputeModuleWords, module)) +
                       " has no effect beside moe, which runs all of the layer of experts again";
            });
}

/// Adapters stand beside ordinary attention and dense MLPs.
void Rules::lora()
{
    const Model& m = m_scenario.model;
    if (!m.lora.isOn() || !sound({"/training/lora", "/training/lora/rank", "/training/lora/targets", "/model"}))
        return;
    if (m.isLatentAttention()) {
        error("/training/lora", [&] {
            return "adapters beside latent attention are not simulated: " + named("/model/kv_lora_rank", m.kvLoraRank) +
                   "; nearest: no lora";
        });
        return;
    }
    const int tp = m_scenario.layout.tp, rank = m.lora.rank;
    // Beside layers cut by rows A is cut by rows, too, and keeps its rank whole.
    const bool isCut = std::any_of(kLoraTargets.begin(), kLoraTargets.end(), [&m](LoraTarget target) {
        return target != LoraTarget::output && target != LoraTarget::down && m.lora.has(target);
    });
    if (sound({"/layout/tp"}) && isCut && rank % tp != 0)
        error("/training/lora/rank", [&] {
            const int below = rank / tp * tp;
            return text(rank) + " is not a multiple of " + named("/layout/tp", tp) +
                   ", which cuts adapters; nearest: " + (below > 0 ? text(below) + ", " : "") + text(below + tp);
        });
    if (m.numNextnPredictLayers > 0)
        error("/training/lora", [&] {
            return "adapters with multi-token prediction are not simulated: " +
                   named("/model/num_nextn_predict_layers", m.numNextnPredictLayers) + "; nearest: num_nextn_predict_layers 0";
        });
    const auto without = [&](std::initializer_list<LoraTarget> targets) {
        Lora others = m.lora;
        for (const LoraTarget target : targets)
            others.targets[static_cast<std::size_t>(target)] = false;
        return wordsOf(others).empty() ? std::string("q_proj, k_proj, v_proj, o_proj") : wordsOf(others);
    };
    if (m.moeLayers() > 0 && m.lora.hasMlp())
        error("/training/lora/targets", [&] {
            return "adapters beside experts are not simulated: " + named("/model/num_experts", m.numExperts) +
                   "; nearest: " + without({LoraTarget::gate, LoraTarget::up, LoraTarget::down});
        });
    else if (!m.gatedMlp && m.lora.has(LoraTarget::gate))
        error("/training/lora/targets", [&] {
            return "gate_proj asks for a gated MLP, and the model " + shownText(m.name) +
                   " has none; nearest: " + without({LoraTarget::gate});
        });
}

/// Keys that speak of 16 bits, where nothing is in 16 bits.
void Rules::narrowerThanComputed()
{
    const Training& t = m_scenario.training;
    const std::string_view master = "/training/master_weights", base = "/training/lora/base_dtype";
    if (elementBytes(t.precision) < 4 || !sound({"/training/precision"}))
        return;
    const auto precision = [&] {
        return "precision " + std::string(toWord(kPrecisionWords, t.precision)) + m_provenance.originOf("/training/precision");
    };
    // The host's share of the optimizer gets gradients in as many bits as it keeps a copy in, or without one in their own.
    const bool isForHost = t.offload.optimizer > 0 && t.gradientBytes < elementBytes(t.precision);
    if (isWritten(master) && !t.masterWeights && !isForHost)
        warning(master, [&] {
            return "false has no effect with " + precision() +
                   ": parameters of 32 bits have no copy beside them; nearest: leave it out, or precision bf16";
        });
    if (isWritten(base) && m_scenario.model.lora.isOn() && m_scenario.model.lora.base == LoraBase::wide)
        warning(base, [&] {
            return "bf16 has no effect with " + precision() +
                   ": frozen layers are kept in 32 bits, as activations are; nearest: leave it out, fp8, nf4, or precision bf16";
        });
}

void Rules::recomputedLayers()
{
    const Training& t = m_scenario.training;
    const auto& layers = m_scenario.schedule.layersPerStage;
    if (t.recomputeLayers == 0 || layers.empty() || !sound({"/training/recompute", "/schedule", "/layout/pp", "/model"}))
        return;
    const int most = *std::max_element(layers.begin(), layers.end());
    if (t.recompute != Recompute::full)
        warning("/training/recompute/layers", [&] {
            return "has an effect with kind full only; kind is " + std::string(toWord(kRecomputeWords, t.recompute));
        });
    else if (t.recomputeLayers > most)
        error("/training/recompute/layers", [&] {
            return text(t.recomputeLayers) + " layers of each chunk cannot be recomputed: the largest has " + text(most) +
                   (most > 0 ? "; nearest: " + text(most) : "");
        });
}

} // namespace sim
