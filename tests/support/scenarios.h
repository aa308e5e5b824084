// Resolved scenarios made in code, for tests that do not want to depend on files.
#pragma once

#include "sim/scenario/scenario.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// GPT-style as in Korthikanti et al. 2022: biases, dropout, 4h MLP, learned positions.
inline sim::Model gptModel(int layers, int hidden, int heads, int vocabulary = 51200, int positions = 2048)
{
    sim::Model model;
    model.name = "gpt";
    model.numHiddenLayers = layers;
    model.hiddenSize = hidden;
    model.intermediateSize = 4 * hidden;
    model.numAttentionHeads = model.numKeyValueHeads = heads;
    model.headDim = hidden / heads;
    model.vocabSize = vocabulary;
    model.maxPositionEmbeddings = positions;
    model.tieWordEmbeddings = true;
    model.hiddenAct = sim::HiddenActivation::gelu;
    model.gatedMlp = false;
    model.normalization = sim::Normalization::layernorm;
    model.positionEmbedding = sim::PositionEmbedding::learned;
    model.bias = true;
    model.hiddenDropout = model.attentionDropout = 0.1;
    return model;
}

inline sim::Model llamaModel(int layers, int hidden, int heads, int keyValueHeads, int intermediate, int vocabulary = 32000)
{
    sim::Model model;
    model.name = "llama";
    model.numHiddenLayers = layers;
    model.hiddenSize = hidden;
    model.intermediateSize = intermediate;
    model.numAttentionHeads = heads;
    model.numKeyValueHeads = keyValueHeads;
    model.headDim = hidden / heads;
    model.vocabSize = vocabulary;
    model.maxPositionEmbeddings = 4096;
    return model;
}

inline sim::Cluster h100Cluster(int gpus, int gpusPerNode = 8)
{
    sim::Cluster cluster;
    cluster.name = "test H100";
    cluster.gpu.name = "H100";
    cluster.gpu.peakTflops = {{sim::Precision::bf16, 989}, {sim::Precision::fp8, 1979}, {sim::Precision::fp32, 67}};
    cluster.gpu.memoryGib = 80;
    cluster.gpu.memoryBandwidthGBs = 3350;
    cluster.gpu.multiprocessors = 132;
    cluster.gpusPerNode = gpusPerNode;
    cluster.nodes = (gpus + gpusPerNode - 1) / gpusPerNode;
    cluster.gpu.hostBandwidthGBs = 64;
    cluster.host = {.memoryBandwidthGBs = 75.0 * gpusPerNode, .memoryGib = 256.0 * gpusPerNode};
    cluster.tiers = {{.name = "nvlink", .span = gpusPerNode, .bandwidthGBs = 450, .latencyUs = 3},
                     {.name = "network", .span = 0, .bandwidthGBs = 50, .latencyUs = 10}};
    return cluster;
}

/// Fills in what the reader would: layers a stage, shard group, interleaving group.
inline void resolve(sim::Scenario& scenario)
{
    sim::Layout& layout = scenario.layout;
    if (layout.dpShard == 0)
        layout.dpShard = layout.dp * layout.cp;
    layout.reshardAfterForward = layout.pp == 1;
    scenario.training.attention = scenario.training.flashAttention ? sim::AttentionKernel::flash2 : sim::AttentionKernel::unfused;
    if (scenario.schedule.microbatchGroup == 0)
        scenario.schedule.microbatchGroup = layout.pp;
    if (scenario.schedule.layersPerStage.empty()) {
        const int stages = scenario.stages();
        for (int stage = 0; stage < stages; ++stage) {
            const int layers = scenario.model.numHiddenLayers;
            scenario.schedule.layersPerStage.push_back(layers / stages + (stage < layers % stages ? 1 : 0));
        }
    }
    if (scenario.cluster.gpusPerNode == 0)
        scenario.cluster = h100Cluster(layout.worldSize());
}

inline sim::Scenario smallScenario(int tp = 1, int pp = 1, int dp = 1, int microbatches = 4)
{
    sim::Scenario scenario;
    scenario.name = "small";
    scenario.model = llamaModel(8, 1024, 16, 8, 2816);
    scenario.layout.tp = scenario.layout.etp = tp;
    scenario.layout.pp = pp;
    scenario.layout.dp = dp;
    scenario.layout.sequenceParallel = tp > 1;
    scenario.training.sequenceLength = 1024;
    scenario.training.globalBatchSize = microbatches * dp;
    resolve(scenario);
    return scenario;
}

/// Two stages and eight micro-batches of sequences that are packed from documents.
inline sim::Scenario packedScenario(std::vector<int> lengths, std::vector<double> weights, int dp = 1, std::uint64_t seed = 0)
{
    sim::Scenario scenario = smallScenario(1, 2, dp, 8);
    scenario.training.documents = {.lengths = std::move(lengths), .weights = std::move(weights), .seed = seed};
    return scenario;
}

/// A fraction of the optimizer and so many layers of each stage in the host's memory.
inline sim::Scenario offloadedScenario(double optimizer, int layers, int pp = 1)
{
    sim::Scenario scenario = smallScenario(1, pp, 1, 4 * pp);
    scenario.training.offload = {.optimizer = optimizer, .activationLayers = layers};
    return scenario;
}

/// Jobs that train adapters beside some of the layers, by all that cuts or shards them.
inline std::vector<sim::Scenario> adaptedScenarios()
{
    std::vector<sim::Scenario> scenarios;
    for (const int zero : {0, 1, 3})
        for (const int tp : {1, 2}) {
            sim::Scenario& scenario = scenarios.emplace_back(smallScenario(tp, 2, 2));
            scenario.model.lora = {.rank = 6, .targets = {true, false, true, true, false, true, true}};
            scenario.layout.zeroStage = zero;
        }
    return scenarios;
}

/// Any legal job of up to `largestWorld` ranks, with all the features that change the program or the classes.
inline sim::Scenario randomScenario(std::mt19937& random, int largestWorld)
{
    const auto pick = [&random](std::initializer_list<int> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    };
    for (;;) {
        sim::Scenario scenario;
        scenario.name = "random";
        sim::Layout& layout = scenario.layout;
        layout.tp = pick({1, 1, 2, 4, 8});
        layout.cp = pick({1, 1, 1, 2, 4});
        layout.pp = pick({1, 2, 2, 3, 4, 8});
        layout.dp = pick({1, 2, 3, 4, 8});
        if (layout.worldSize() > largestWorld)
            continue;
        const bool moe = random() % 3 == 0;
        scenario.model = llamaModel(8 + static_cast<int>(random() % 9), 512, 16, pick({2, 8, 16}), 1536, 4096);
        scenario.model.tieWordEmbeddings = random() % 2 == 0;
        if (scenario.model.numHiddenLayers % 4 == 1) {
            scenario.model.slidingWindow = 100;
            scenario.model.slidingWindowPattern = 2;
        } else if (scenario.model.numHiddenLayers % 4 == 2) {
            scenario.model.attentionChunkSize = 100;
            scenario.model.noRopeLayerInterval = 4;
        } else if (scenario.model.numHiddenLayers % 4 == 3) {
            scenario.model.numNextnPredictLayers = 1 + scenario.model.numHiddenLayers / 4 % 2;
        }
        layout.etp = layout.tp;
        if (moe) {
            scenario.model.numExperts = 8;
            scenario.model.numExpertsPerTok = 2;
            scenario.model.moeIntermediateSize = 256;
            scenario.model.firstKDenseReplace = static_cast<int>(random() % 3);
            layout.etp = random() % 2 == 0 ? 1 : layout.tp;
            layout.ep = pick({1, 2, 4, 8});
            if (layout.worldSize() % (layout.etp * layout.ep * layout.pp) != 0)
                continue;
        }
        layout.sequenceParallel = layout.tp > 1 && (moe || random() % 2 == 0);
        layout.zeroStage = pick({0, 1, 2, 3});
        const int dataRanks = layout.dp * layout.cp;
        layout.dpShard = layout.zeroStage > 0 && dataRanks % 2 == 0 && random() % 3 == 0 ? dataRanks / 2 : dataRanks;
        if (random() % 4 == 0 && !moe && layout.cp == 1)
            layout.order = "tp-cp-pp-dp";
        layout.placement = random() % 4 == 0 ? sim::PlacementRule::roundRobin : sim::PlacementRule::packed;

        const auto families = sim::scheduleFamilies();
        const sim::ScheduleFamily& family = layout.pp == 1 ? sim::scheduleFamily("1f1b") : families[random() % families.size()];
        scenario.schedule.kind = family.kind;
        scenario.schedule.virtualStages =
            layout.pp == 1 ? 1 : family.chunks.least + (family.chunks.most == 0 ? static_cast<int>(random() % 2) : 0);
        scenario.schedule.sequenceSlices = family.cutsSequences() ? pick({1, 2, 4}) : 1;
        const int microbatches = layout.pp * (1 + static_cast<int>(random() % 3));
        if (family.isWrittenOut || (family.cutsSequences() && layout.cp > 1) ||
            family.firstUnmet({.ranks = layout.pp,
                               .chunks = scenario.schedule.virtualStages,
                               .group = layout.pp,
                               .microbatches = microbatches}))
            continue;
        if (scenario.model.numHiddenLayers < scenario.stages())
            continue;
        sim::Training& training = scenario.training;
        training.sequenceLength = 256;
        training.microBatchSize = pick({1, 2});
        training.globalBatchSize = microbatches * layout.dp * training.microBatchSize;
        training.recompute = static_cast<sim::Recompute>(random() % 3);
        if (training.recompute == sim::Recompute::selective && scenario.model.numHiddenLayers % 2 == 0)
            training.recomputeModules =
                !moe ? sim::RecomputeModules{sim::RecomputeModule::layernorm, sim::RecomputeModule::mlp}
                : scenario.model.numHiddenLayers % 4 == 0
                    ? sim::RecomputeModules{sim::RecomputeModule::moe}
                    : sim::RecomputeModules{sim::RecomputeModule::layernorm, sim::RecomputeModule::moeActivation,
                                            sim::RecomputeModule::coreAttention};
        training.flashAttention = random() % 2 == 0;
        const bool cutsSequences = scenario.schedule.sequenceSlices > 1;
        if (scenario.model.numHiddenLayers % 28 == 16 && !cutsSequences) // without windows
            training.documents = {.lengths = {100, 300, 2000}, .weights = {2, 1, 1}, .seed = 3};
        if (scenario.model.numHiddenLayers % 5 == 0)
            training.offload = {.optimizer = scenario.model.numHiddenLayers % 2 == 0 ? 0.5 : 1,
                                .activationLayers = cutsSequences ? 0 : layout.pp};
        training.overlap = {.gradReduce = random() % 2 == 0,
                            .paramGather = random() % 2 == 0,
                            .tpComm = random() % 2 == 0,
                            .p2p = random() % 2 == 0,
                            .epComm = random() % 2 == 0};
        scenario.cluster = h100Cluster(layout.worldSize(), pick({4, 6, 8}));
        const int world = layout.worldSize();
        for (int i = pick({0, 0, 1, 2}); i > 0; --i) {
            sim::Perturbation perturbation;
            perturbation.kind = random() % 2 == 0 ? sim::PerturbationKind::slowGpu : sim::PerturbationKind::slowLink;
            perturbation.rank = static_cast<int>(random() % static_cast<unsigned>(world));
            perturbation.factor = 1.0 + 0.1 * static_cast<double>(1 + random() % 20);
            scenario.perturbations.push_back(perturbation);
        }
        resolve(scenario);
        return scenario;
    }
}

inline std::string describe(const sim::Scenario& s)
{
    const sim::Layout& l = s.layout;
    return "tp" + std::to_string(l.tp) + " cp" + std::to_string(l.cp) + " pp" + std::to_string(l.pp) + " dp" +
           std::to_string(l.dp) + " ep" + std::to_string(l.ep) + " etp" + std::to_string(l.etp) + " zero" +
           std::to_string(l.zeroStage) + " shard" + std::to_string(l.dpShard) + " " + l.order + " " + s.schedule.kind + " v" +
           std::to_string(s.schedule.virtualStages) + " slices" + std::to_string(s.schedule.sequenceSlices) +
           (s.training.overlap.epComm ? " blocks" : "") + " m" + std::to_string(s.microbatches()) + " perturbations " +
           std::to_string(s.perturbations.size()) + " gpus/node " + std::to_string(s.cluster.gpusPerNode);
}

/// Llama 3 405B on 16,384 GPUs, without the gallery.
inline sim::Scenario llama405b()
{
    sim::Scenario s;
    s.model = llamaModel(126, 16384, 128, 8, 53248, 128256);
    s.layout.tp = s.layout.etp = 8;
    s.layout.pp = 16;
    s.layout.dp = 128;
    s.layout.order = "tp-cp-pp-dp";
    s.layout.sequenceParallel = true;
    s.layout.zeroStage = 2;
    s.training.sequenceLength = 8192;
    s.training.globalBatchSize = 2048;
    s.cluster = h100Cluster(16384);
    resolve(s);
    return s;
}

} // namespace test
