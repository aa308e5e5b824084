// A scenario written out without its catalogue entries is the same job; what was asked for in it is found again.
#include "sim/scenario/document.h"
#include "sim/scenario/key_facts.h"
#include "sim/scenario/schema.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

Scenario readBack(const Scenario& scenario)
{
    auto again = ScenarioDocument::parse(resolvedText(scenario)).resolve(catalogue());
    if (!again.scenario)
        throw ScenarioError(again.problems);
    again.scenario->uncertainty = scenario.uncertainty; // the catalogue's to say
    return *again.scenario;
}

} // namespace

TEST(ResolvedText, OfRandomScenariosReadsBackTheSame)
{
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        Scenario scenario = test::randomScenario(random, 512);
        scenario.description = "Markdown: \"quoted\", \\ and ü, two\nlines\tand a tab";
        EXPECT_EQ(readBack(scenario), scenario) << test::describe(scenario);
    }
}

TEST(ResolvedText, KeepsAdapters)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.model.lora = {
        .rank = 6, .base = LoraBase::nf4, .dropout = 0.05, .targets = {true, false, true, true, false, false, true}};
    EXPECT_EQ(readBack(scenario), scenario);
    scenario.model.lora = {.rank = 2, .fused = true};
    scenario.model.gatedMlp = false;
    scenario.model.lora.targets[static_cast<std::size_t>(LoraTarget::gate)] = false;
    EXPECT_EQ(readBack(scenario), scenario);
}

// What attention reaches in one pass replaces that pass's rate of each kernel that the catalogue's card has rates of.
TEST(ResolvedText, OfOnePassOfAttentionReadsBackTheSame)
{
    for (const char* given : {"attention_forward", "attention_backward"}) {
        ScenarioDocument document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "gpt2"}, "cluster": {"base": "dgx-h200"}, "layout": {"tp": 1, "dp": 1}})");
        document.set(std::string("cluster.efficiency.") + given, "0.3");
        const auto resolved = document.resolve(catalogue());
        ASSERT_TRUE(resolved.scenario);
        const Efficiency& efficiency = resolved.scenario->cluster.efficiency;
        const AttentionRate& flash = efficiency.attention[static_cast<std::size_t>(AttentionKernel::flash2)];
        EXPECT_EQ(given == std::string("attention_forward") ? flash.forward : flash.backward, 0.3);
        EXPECT_NE(flash.forward, flash.backward);
        EXPECT_EQ(readBack(*resolved.scenario).cluster.efficiency, efficiency);
    }
}

TEST(ResolvedText, KeepsEveryCornerOfAScenario)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.source = "a source";
    scenario.model.numExperts = 4;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 128;
    scenario.model.numSharedExperts = 1;
    scenario.model.moeLayerFreq = 2;
    scenario.model.routerBias = scenario.model.expertBias = scenario.model.qkNorm = scenario.model.attentionSinks = true;
    scenario.model.qkvBias = scenario.model.outputBias = scenario.model.bias = true;
    scenario.model.numNextnPredictLayers = 2;
    scenario.model.hiddenDropout = 0.25;
    scenario.model.attentionDropout = 0.05;
    scenario.model.slidingWindow = 100;
    scenario.model.slidingWindowPattern = 3;
    scenario.model.attentionChunkSize = 200;
    scenario.model.noRopeLayerInterval = 4;
    scenario.model.layerTypes = std::vector<LayerType>(8, LayerType::sliding);
    scenario.model.layerTypes[5] = LayerType::chunked;
    scenario.model.layerTypes[7] = LayerType::full;
    scenario.model.qLoraRank = 8;
    scenario.model.kvLoraRank = 16;
    scenario.model.qkNopeHeadDim = scenario.model.qkRopeHeadDim = scenario.model.vHeadDim = 32;
    scenario.cluster.tiers.front().inNetworkReduction = scenario.cluster.tiers.front().mesh = true;
    scenario.cluster.tiers.front().bandwidthGBs = 0.1; // no exact binary fraction
    scenario.cluster.efficiency = {.id = "mine", .gemm = 1.0 / 3, .gemmHalfK = 17.5, .launchUs = 0};
    scenario.layout.ep = 2;
    scenario.layout.etp = 1;
    scenario.layout.dpShard = 1;
    scenario.layout.zeroStage = 2;
    scenario.layout.placement = PlacementRule::explicitList;
    scenario.layout.explicitPlacement = {7, 6, 5, 4, 3, 2, 1, 0};
    scenario.schedule.kind = "custom";
    scenario.schedule.actions = {"0F0,0B0", "1F0,1B0"};
    scenario.schedule.memoryCapGib = 12.5;
    scenario.schedule.microbatchGroup = 3;
    scenario.schedule.layersPerStage = {5, 3};
    scenario.training.recompute = Recompute::selective;
    scenario.training.recomputeModules = {RecomputeModule::layernorm, RecomputeModule::moeActivation};
    EXPECT_EQ(readBack(scenario).training, scenario.training);
    scenario.training.recomputeModules = Training().recomputeModules;
    scenario.training.recompute = Recompute::full;
    scenario.training.recomputeLayers = 3;
    scenario.training.optimizer = Optimizer::sgd;
    scenario.training.precision = Precision::fp8;
    scenario.training.causal = scenario.training.flashAttention = false;
    scenario.training.attention = AttentionKernel::unfused;
    scenario.training.gradientBytes = scenario.training.momentBytes = 2;
    scenario.training.lossChunkTokens = 96;
    scenario.training.masterWeights = false;
    scenario.training.stack.narrowSaved = scenario.training.stack.sharesAttentionOutput = true;
    scenario.training.stack.keepsNarrowWeights = scenario.training.stack.parametersAreMaster = true;
    scenario.training.stack.gathersHeads = true;
    scenario.training.moe = {.dispatchBytes = 1, .combineBytes = 4, .sendOncePerNode = true, .imbalance = 1.7};
    scenario.training.offload = {.optimizer = 0.3, .activationLayers = 5};
    scenario.cluster.gpu.hostBandwidthGBs = 48.5;
    scenario.cluster.host = {.memoryBandwidthGBs = 111.5, .memoryGib = 333};
    scenario.cluster.efficiency.hostLink = 0.7;
    scenario.cluster.efficiency.inNetwork = 0.6;
    scenario.cluster.efficiency.hostMemory = 0.6;
    scenario.training.stack.id = "mine";
    scenario.training.stack.launchUs = 3.25;
    scenario.training.stack.expertLaunchUs = 7.5;
    scenario.training.stack.cudaGraphs = CudaGraphs::attention;
    scenario.training.stack.fusesExperts = true;
    scenario.training.stack.padsVocabulary = false;
    scenario.training.stack.softmaxMultiple = 4;
    scenario.training.stack.rerunsUnread = false;
    scenario.training.stack.keepsUnread = true;
    scenario.training.stack.shardedLossSaved = 4;
    scenario.training.stack.passesGradients = scenario.training.stack.offloadsGradients = true;
    scenario.training.stack.joinsGradients = scenario.training.stack.keepsLossHead = scenario.training.stack.keepsMessages =
        scenario.training.stack.keepsOutputs = true;
    scenario.training.stack.reduceBucket = 500'000'003;
    scenario.training.stack.reductionsAhead = 5;
    scenario.training.stack.updateMoments = 2;
    scenario.training.stack.updatedTogether = 1'000'000'007;
    scenario.training.stack.blocksLaunches = scenario.training.stack.reducesWhole = scenario.training.stack.reducesWide =
        scenario.training.stack.plainTensorParallel = scenario.training.stack.gathersLogits = true;
    scenario.training.stack.gathersApart = scenario.training.stack.wholeEmbedding = scenario.training.stack.wholeHead = true;
    scenario.training.stack.exchangesHeads = true;
    scenario.training.stack.sequenceCopyBytes = 4;
    scenario.training.stack.reducesAmongAll = true;
    scenario.training.stack.sendsShards = scenario.training.stack.scattersSends = scenario.training.stack.gathersChunks =
        scenario.training.stack.narrowGather = scenario.training.stack.narrowReduce = scenario.training.stack.repeatsKeys = true;
    scenario.training.stack.parts[0] = {.traffic = 2, .backwardTraffic = 3, .launches = 4, .backwardLaunches = 5, .saved = 6};
    scenario.cluster.efficiency.attention[3] = {.forward = 0.4, .backward = 0.3, .forwardHalfLength = 7, .backwardHalfLength = 8};
    scenario.cluster.efficiency.attention[3].forwardHalfHead = 9;
    scenario.cluster.efficiency.attention[3].backwardHalfHead = 10;
    scenario.cluster.efficiency.narrowAttention = {
        {{.forward = 0.2, .backward = 0.1},
         {.forward = 0.3, .backward = 0.25, .forwardHalfLength = 11, .backwardHalfLength = 12}}};
    scenario.training.stack.narrowAttention = true;
    scenario.layout.reshardAfterForward = true;
    scenario.training.overlap = {.gradReduce = false, .paramGather = false, .tpComm = true, .p2p = false};
    scenario.perturbations = {
        {.kind = PerturbationKind::jitter, .rank = 3, .sigma = 0.05, .seed = 9007199254740991},
        {.kind = PerturbationKind::slowLink, .rank = 0, .factor = 1, .sigma = 2, .seed = 4, .failures = {.spares = 1}},
        {.kind = PerturbationKind::failure,
         .seed = 5,
         .failures = {.mtbfHours = 40000,
                      .checkpointEverySeconds = 0,
                      .checkpointSeconds = 2.5,
                      .storageGBs = 3,
                      .restartSeconds = 90,
                      .replaceSeconds = 7200,
                      .spares = 4,
                      .days = 54}}};
    scenario.live = {.device = "cpu", .steps = 3, .learningRate = 1e-5, .seed = 1ULL << 52U, .data = "a.txt", .dtype = "fp64"};
    EXPECT_EQ(readBack(scenario), scenario);
}

TEST(Efficiency, OfTheScenarioBeatsTheClustersBeatsTheGpus)
{
    const auto gemm = [](const std::string& cluster) {
        const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt",
            "layout":{},"cluster":)" + cluster + "}")
                                  .resolve(catalogue());
        if (!resolved.scenario)
            throw ScenarioError(resolved.problems);
        return resolved.scenario->cluster.efficiency;
    };
    const Efficiency ofGpu = gemm(R"("dgx-a100")");
    EXPECT_EQ(ofGpu.id, "a100-sxm-80gb");
    EXPECT_NE(ofGpu.gemm, Efficiency{}.gemm);
    EXPECT_EQ(gemm(R"({"base":"dgx-a100","gpu":"h100-sxm"})").id, "h100-sxm") << "another GPU brings its own";
    EXPECT_EQ(gemm(R"({"base":"dgx-a100","efficiency":"h100-sxm"})").id, "h100-sxm") << "a profile by name";
    const Efficiency changed = gemm(R"({"base":"dgx-a100","efficiency":{"gemm":0.5}})");
    EXPECT_EQ(changed.gemm, 0.5);
    EXPECT_EQ(changed.memory, ofGpu.memory) << "the rest stays";
    const Efficiency ofOverriddenGpu =
        gemm(R"({"base":"dgx-a100","gpu":{"base":"h100-sxm","efficiency":{"gemm":0.4}},"efficiency":{"memory":0.3}})");
    EXPECT_EQ(ofOverriddenGpu.gemm, 0.4);
    EXPECT_EQ(ofOverriddenGpu.memory, 0.3);
}

TEST(Bases, GiveWayToTheKeysBesideThem)
{
    const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,
        "model":{"base":"llama3-8b","num_hidden_layers":4},
        "cluster":{"base":"dgx-a100","gpus_per_node":4,"gpu":{"memory_gib":40}},"layout":{"dp":8}})")
                              .resolve(catalogue());
    ASSERT_TRUE(resolved.scenario);
    const Scenario& scenario = *resolved.scenario;
    EXPECT_EQ(scenario.model.base, "llama3-8b");
    EXPECT_EQ(scenario.model.numHiddenLayers, 4);
    EXPECT_EQ(scenario.model.hiddenSize, 4096);
    EXPECT_EQ(scenario.cluster.gpu.memoryGib, 40) << "an object without a base changes the cluster's GPU";
    EXPECT_EQ(scenario.cluster.gpu.multiprocessors, 108);
    EXPECT_EQ(scenario.cluster.tiers.front().span, 4) << "the domain of a node follows gpus_per_node";
    EXPECT_EQ(scenario.cluster.tiers.front().bandwidthGBs, 300);
    EXPECT_EQ(scenario.cluster.nodes, 2);
}

TEST(Bases, HalfOfANodeWithoutSwitchesHasTheLinksToItsOwnGpus)
{
    const auto tierOf = [](const std::string& node) {
        const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b",
            "cluster":{"base":"mi300x-roce400")" + node +
                                                      R"(},"layout":{"dp":4}})")
                                  .resolve(catalogue());
        return resolved.scenario->cluster.tiers.front();
    };
    EXPECT_TRUE(tierOf("").mesh);
    EXPECT_EQ(tierOf("").bandwidthGBs, 7 * 64);
    EXPECT_EQ(tierOf(R"(,"gpus_per_node":4)").bandwidthGBs, 3 * 64);
}

namespace {

/// A job of the catalogue's model that leaves to defaults what it can.
ScenarioDocument jobOf(const std::string& model)
{
    auto document = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":{},
"cluster":"h100-sxm-ib400","layout":{"dp":2},"training":{}})");
    document.set("/model/base", "\"" + model + "\"");
    return document;
}

/// What a resolved scenario says it is, is what it is read as.
/// False where the document is not legal, and has nothing to read back.
bool expectReadsBack(const ScenarioDocument& document)
{
    const auto resolved = document.resolve(catalogue());
    if (!resolved.scenario)
        return false;
    const auto again = ScenarioDocument::parse(resolvedText(*resolved.scenario)).resolve(catalogue());
    for (const Problem& problem : again.problems)
        EXPECT_EQ(problem.severity, Severity::warning) << problem.text();
    EXPECT_TRUE(again.scenario);
    if (again.scenario) {
        EXPECT_EQ(resolvedText(*again.scenario), resolvedText(*resolved.scenario));
    }
    return true;
}

/// Both ends of a number's range and a value between; nothing for what is no number.
std::vector<std::string> extremesOf(const std::string& pointer)
{
    const auto facts = keyFacts(catalogue(), pointer);
    if (!facts || (facts->type != KeyType::integer && facts->type != KeyType::number))
        return {};
    const auto text = [&](double value) { return std::to_string(static_cast<std::int64_t>(value)); };
    return {text(std::max(facts->low, 0.0)), text(std::max(facts->low, 0.0) + 1), text(facts->high / 2), text(facts->high)};
}

} // namespace

// A rotated head dimension of 65536 made a head_dim of 65664, which the reader refuses.
TEST(ResolvedText, OfExtremesOfEveryKeyReadsBackTheSame)
{
    test::Tried which;
    for (const Catalogue::Entry& model : catalogue().models()) {
        const ScenarioDocument job = jobOf(model.id);
        for (const char* block : {"model", "layout", "training", "schedule"}) {
            if (std::string(block) != "model" && model.id != catalogue().models().front().id)
                continue; // the others' layouts are no others
            for (const std::string& key : catalogue().schema().keysOf(block)) {
                const std::string pointer = "/" + std::string(block) + "/" + key;
                for (const std::string& value : extremesOf(pointer)) {
                    if (!which.next())
                        continue;
                    SCOPED_TRACE(model.id + " " + pointer + "=" + value);
                    ScenarioDocument changed = job;
                    changed.set(pointer, value);
                    expectReadsBack(changed);
                }
            }
        }
    }
}

/// config.json's words; null and "default" are none.
TEST(ResolvedText, OfScaledRotaryPositionsReadsBackTheSame)
{
    ScenarioDocument job = jobOf("llama3-8b");
    const auto scalingOf = [&](const std::string& rule) {
        job.set("/model/rope_scaling", rule);
        expectReadsBack(job);
        const auto resolved = job.resolve(catalogue());
        return resolved.scenario ? resolved.scenario->model.ropeScaling : RopeScaling{.factor = -1};
    };
    const RopeScaling llama = scalingOf(R"({"rope_type":"llama3","factor":8,"original_max_position_embeddings":8192})");
    EXPECT_EQ(llama.kind, RopeScalingKind::llama3);
    EXPECT_EQ(llama.originalLength, 8192);
    EXPECT_EQ(llama.highFrequencyFactor, 4);
    const RopeScaling yarn = scalingOf(R"({"rope_type":"yarn","factor":40,"mscale":1,"mscale_all_dim":1,"truncate":false})");
    EXPECT_EQ(yarn.originalLength, job.resolve(catalogue()).scenario->model.maxPositionEmbeddings);
    EXPECT_FALSE(yarn.truncate);
    EXPECT_EQ(scalingOf("null"), RopeScaling());
    EXPECT_EQ(scalingOf(R"({"rope_type":"default"})"), RopeScaling());

    const auto problemOf = [&](const std::string& rule, const std::string& positions) {
        job.set("/model/rope_scaling", rule);
        job.set("/model/position_embedding", positions);
        std::string text;
        for (const Problem& problem : job.resolve(catalogue()).problems)
            text += problem.text() + "\n";
        return text;
    };
    EXPECT_NE(problemOf(R"({"rope_type":"llama3","factor":8,"low_freq_factor":5})", "\"rope\"")
                  .find("/model/rope_scaling/low_freq_factor: 5.00 is not less than high_freq_factor 4.00"),
              std::string::npos);
    EXPECT_NE(problemOf(R"({"rope_type":"linear","factor":2})", "\"learned\"")
                  .find("/model/rope_scaling: scales rotary positions, and position_embedding is learned; nearest: rope, or no"),
              std::string::npos);
}

TEST(ResolvedText, OfThreeExtremesAtOnceReadsBackTheSame)
{
    std::vector<std::pair<std::string, std::string>> extremes;
    for (const char* block : {"model", "layout", "training"})
        for (const std::string& key : catalogue().schema().keysOf(block))
            for (const std::string pointer = std::string("/") + block + "/" + key; const std::string& value : extremesOf(pointer))
                extremes.emplace_back(pointer, value);
    std::mt19937 random(11);
    int legal = 0;
    for (int round = 0; round < 2000; ++round) {
        ScenarioDocument changed = jobOf(round % 2 == 0 ? "deepseek-v3" : "llama3-8b");
        std::string trace;
        for (int i = 0; i < 3; ++i) {
            const auto& [pointer, value] = extremes[random() % extremes.size()];
            changed.set(pointer, value);
            trace += pointer + "=" + value + " ";
        }
        SCOPED_TRACE(trace);
        legal += expectReadsBack(changed) ? 1 : 0;
    }
    EXPECT_GT(legal, 400) << "most of the rest is refused for good reasons";
}

TEST(HeadDim, ThatFollowsFromOtherKeysIsNoLargerThanOneThatIsWritten)
{
    const auto problemsOf = [](const std::string& model, const std::vector<std::string>& overrides) {
        ScenarioDocument job = jobOf(model);
        for (const std::string& assignment : overrides)
            job.applyOverride(assignment);
        std::string text;
        for (const Problem& problem : job.resolve(catalogue()).problems)
            if (problem.severity == Severity::error)
                text += problem.text() + "\n";
        return text;
    };
    EXPECT_EQ(
        problemsOf("deepseek-v3", {"model.qk_rope_head_dim=65536"}),
        "/model/qk_rope_head_dim: 65536 beside qk_nope_head_dim 128 (of deepseek-v3) makes head_dim 65664, more than 65536; "
        "nearest: 65408\n");
    EXPECT_EQ(problemsOf("deepseek-v3", {"model.qk_rope_head_dim=65408"}), "");
    EXPECT_EQ(
        problemsOf("gpt2", {R"(model={"num_hidden_layers":2,"hidden_size":131072,"num_attention_heads":1,"vocab_size":256})"}),
        "/model/num_attention_heads: 1 of hidden_size 131072 makes head_dim 131072, more than 65536; nearest: 2\n");
}
