// Each rule: what it finds, and what is on the quiet side of it.
#include "sim/analysis/findings/edits.h"
#include "sim/analysis/findings/findings.h"

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/explain/explain_traffic.h"
#include "tests/sim/analysis/found.h"
#include "tests/sim/cost/kernels.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace sim;
using test::anyHelps;
using test::effectsOf;
using test::find;
using test::findingsOf;
using test::has;
using test::kSwitched;
using test::Opened;

namespace {

std::string reasonOf(const Opened& opened, FindingKind kind)
{
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, kind);
    return finding != nullptr ? finding->reason : "";
}

/// One of the gallery's smallest, with room for everything: near all rules, on the quiet side of each.
constexpr const char* kTinyPipeline = "58";

} // namespace

TEST(FindingRules, MemoryThatDoesNotFitComesFirst)
{
    const Opened opened = test::openNumber("41");
    const auto all = findingsOf(opened);
    EXPECT_EQ(all[0].kind, FindingKind::doesNotFit);
    EXPECT_EQ(all[0].severity, FindingSeverity::broken);
    EXPECT_NE(all[0].title.find("too much"), std::string::npos);
    EXPECT_TRUE(anyHelps(opened, FindingKind::doesNotFit));
    EXPECT_FALSE(has(findingsOf("41", {"training.recompute=full"}), FindingKind::doesNotFit));
}

TEST(FindingRules, NearlyFullIsNotTheSameAsFull)
{
    const auto with = [](const char* gib) { return findingsOf("17", {std::string("cluster.gpu.memory_gib=") + gib}); };
    EXPECT_TRUE(has(with("18"), FindingKind::nearlyFull));
    EXPECT_FALSE(has(with("18"), FindingKind::doesNotFit));
    const double peakGib = test::openNumber("17").simulation->metrics().peakMemoryGib;
    for (const auto& [room, severity] :
         {std::pair{1.02, FindingSeverity::costly}, {1.045, FindingSeverity::hint}}) { // beside a reserve of 4 %
        const auto all = with(std::to_string(room * peakGib).c_str());
        const auto found =
            std::find_if(all.begin(), all.end(), [](const Finding& f) { return f.kind == FindingKind::nearlyFull; });
        ASSERT_NE(found, all.end()) << room;
        EXPECT_EQ(found->severity, severity) << room;
    }
    EXPECT_FALSE(has(with("20"), FindingKind::nearlyFull));
    EXPECT_TRUE(has(with("17"), FindingKind::doesNotFit));
    EXPECT_FALSE(has(with("17"), FindingKind::nearlyFull));
}

TEST(FindingRules, LargeBubbleIsComparedToTheClosedForm)
{
    const Opened opened = test::openNumber("35");
    const auto all = findingsOf(opened);
    const Finding* bubble = find(all, FindingKind::bubble);
    ASSERT_TRUE(bubble);
    EXPECT_NE(bubble->reason.find("7 / 39 = 17.9 %"), std::string::npos) << bubble->reason;
    EXPECT_EQ(bubble->stepShare, opened.simulation->metrics().bubbleFraction);
    EXPECT_TRUE(anyHelps(opened, FindingKind::bubble));
    EXPECT_FALSE(has(findingsOf("35", {"training.global_batch_size=512"}), FindingKind::bubble));
    EXPECT_TRUE(has(findingsOf(kTinyPipeline), FindingKind::bubble));
}

TEST(FindingRules, SlicesFillAPipelineAsMicrobatchesDo)
{
    const auto document = [](const char* slices) {
        return ScenarioDocument::parse(
            std::string(R"({"format": "rankscope-scenario", "version": 1, "model": "llama3-8b", "cluster": "h100-sxm-ib400",
                "layout": {"tp": 4, "pp": 8}, "schedule": {"kind": "seq-1f1b", "sequence_slices": )") +
            slices + R"(}, "training": {"sequence_length": 8192, "global_batch_size": 1}})");
    };
    const auto reasonWith = [&](const char* slices) {
        const auto of = document(slices);
        return reasonOf({of, simulate(resolvedScenario(of, test::catalogue()))}, FindingKind::bubble);
    };
    EXPECT_NE(reasonWith("4").find("Fewer slices of them than ranks never fill the pipeline."), std::string::npos);
    EXPECT_NE(reasonWith("1").find("Fewer micro-batches than ranks never fill the pipeline."), std::string::npos);
    EXPECT_NE(reasonWith("8").find("1 micro-batch runs through 8 pipeline ranks."), std::string::npos) << "and eight slices";
    EXPECT_EQ(reasonWith("8").find("never fill"), std::string::npos);
}

TEST(FindingRules, TensorParallelGroupsBelongIntoOneDomain)
{
    const Opened across = test::openNumber("36"); // tp 16 on nodes of eight
    const auto all = findingsOf(across);
    const Finding* finding = find(all, FindingKind::tensorAcrossNodes);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->show.ranks.size(), 16U);
    EXPECT_TRUE(anyHelps(across, FindingKind::tensorAcrossNodes));
    EXPECT_FALSE(has(findingsOf("35"), FindingKind::tensorAcrossNodes)); // tp 8
    // The same groups of eight, put across the nodes by the order of axes: the order is what has to change.
    const auto spread = findingsOf("02", {"layout.order=dp-tp-cp-ep-pp"});
    const Finding* byOrder = find(spread, FindingKind::tensorAcrossNodes);
    ASSERT_TRUE(byOrder);
    EXPECT_EQ(byOrder->severity, FindingSeverity::costly);
    ASSERT_FALSE(byOrder->suggestions.empty());
    EXPECT_EQ(byOrder->suggestions[0].text, "dp-tp-cp-ep-pp → tp-dp-cp-ep-pp");
    EXPECT_FALSE(has(findingsOf("02"), FindingKind::tensorAcrossNodes));
}

TEST(FindingRules, ExposedCommunicationOfEachDimension)
{
    EXPECT_TRUE(has(findingsOf("02"), FindingKind::exposedTensor));
    EXPECT_TRUE(has(findingsOf("03"), FindingKind::exposedTensor));
    EXPECT_FALSE(has(findingsOf("03", {"training.overlap.tp_comm=true", "training.sequence_length=8192", kSwitched}),
                     FindingKind::exposedTensor));
    EXPECT_TRUE(has(findingsOf("50", {R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":10,"latency_us":10}])"}),
                    FindingKind::exposedExpert));
    EXPECT_TRUE(has(findingsOf("52"), FindingKind::expertsAcrossNodes));
    EXPECT_FALSE(has(findingsOf("52"), FindingKind::exposedExpert)) << "said once";
    EXPECT_FALSE(has(findingsOf("50", {R"(cluster.tiers=[{"name":"fast","span":"all","bandwidth_gbs":900,"latency_us":3}])"}),
                     FindingKind::exposedExpert));
    EXPECT_TRUE(has(findingsOf("15", {"training.overlap.param_gather=false"}), FindingKind::exposedData));
    EXPECT_FALSE(has(findingsOf("15"), FindingKind::exposedData));
    EXPECT_FALSE(has(findingsOf("57"), FindingKind::exposedData));
    EXPECT_FALSE(has(findingsOf("57"), FindingKind::exposedPipeline));
    EXPECT_TRUE(anyHelps(test::openNumber("52"), FindingKind::expertsAcrossNodes));
    EXPECT_TRUE(anyHelps(test::openNumber("15", {"training.micro_batch_size=1"}), FindingKind::exposedData));
}

TEST(FindingRules, ExpertTransfersThatDualPipeHidesAreNotSaidToBeWaitedFor)
{
    const auto ofKind = [](const char* kind) {
        const auto document =
            ScenarioDocument::parse(std::string(R"({"format": "rankscope-scenario", "version": 1, "model": "mixtral-8x7b",
                "cluster": {"base": "h100-sxm-ib400",
                            "tiers": [{"name": "slow", "span": "all", "bandwidth_gbs": 40, "latency_us": 10}]},
                "layout": {"pp": 2, "dp": 8, "ep": 8}, "training": {"sequence_length": 4096, "global_batch_size": 64},
                "schedule": {"kind": ")") +
                                    kind + R"("}})");
        const auto simulation = simulate(resolvedScenario(document, test::catalogue()));
        const auto all = findings(*simulation, document, test::catalogue());
        const Finding* finding = find(all, FindingKind::exposedExpert);
        std::map<ClaimOf, double> said;
        if (finding != nullptr)
            for (const Claim& claim : finding->claims)
                said[claim.of] = claim.value;
        return said;
    };
    auto plain = ofKind("1f1b"), hiding = ofKind("dualpipe");
    EXPECT_GT(plain[ClaimOf::exposedSeconds], 0.95 * plain[ClaimOf::transferSeconds]) << "nothing runs beside them";
    ASSERT_GT(hiding[ClaimOf::exposedSeconds], 0);
    EXPECT_LT(hiding[ClaimOf::exposedSeconds], 0.8 * hiding[ClaimOf::transferSeconds]) << "forward beside backward";
    EXPECT_NEAR(hiding[ClaimOf::transferSeconds], plain[ClaimOf::transferSeconds], 0.05 * plain[ClaimOf::transferSeconds]);
}

TEST(FindingRules, SlowLinksExposeTheRingOfKeysAndTheStages)
{
    const std::vector<std::string> slow = {R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":0.1,"latency_us":10}])"};
    EXPECT_TRUE(has(findingsOf("61", slow), FindingKind::exposedContext));
    EXPECT_FALSE(has(findingsOf("61"), FindingKind::exposedContext));
    EXPECT_TRUE(has(findingsOf("58", slow), FindingKind::exposedPipeline));
    EXPECT_FALSE(has(findingsOf("58"), FindingKind::exposedPipeline));
}

/// Whether the link or the host's memory is the limit.
TEST(FindingRules, KeysThatAreGatheredAreNotSaidToGoRoundARing)
{
    const auto job = [](const std::string& model) {
        const auto document =
            ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": ")" + model + R"(",
            "cluster": {"base": "dgx-a100", "nodes": 2, "tiers": [{"name": "slow", "span": "all", "bandwidth_gbs": 2, "latency_us": 10}]},
            "layout": {"cp": 16, "order": "cp-tp-ep-dp-pp"},
            "training": {"sequence_length": 8192, "micro_batch_size": 1, "global_batch_size": 64, "recompute": "full"}})");
        return Opened{document, simulate(resolvedScenario(document, test::catalogue()))};
    };
    const auto sourceOf = [](const Opened& opened) {
        return TrafficExplainer(*opened.simulation).ofDimension(Dimension::cp).source;
    };
    const Opened windows = job("mistral-7b"), chunks = job("gpt-oss-20b"), whole = job("llama3.2-1b");
    const std::string gathered = reasonOf(windows, FindingKind::exposedContext);
    EXPECT_TRUE(gathered.starts_with("Keys and values are gathered among 16 ranks over ")) << gathered;
    EXPECT_EQ(gathered.find("ring"), std::string::npos) << gathered;
    EXPECT_TRUE(sourceOf(windows).starts_with("Grattafiori et al. 2024 (Llama 3)")) << sourceOf(windows);
    const std::string both = reasonOf(chunks, FindingKind::exposedContext);
    EXPECT_NE(both.find("; layers that see the whole sequence pass them round a ring, beside attention over the 512 tokens"),
              std::string::npos)
        << both;
    EXPECT_NE(sourceOf(chunks).find("Ring Attention"), std::string::npos);
    EXPECT_NE(sourceOf(chunks).find("Llama 3"), std::string::npos);
    EXPECT_TRUE(reasonOf(whole, FindingKind::exposedContext).starts_with("The ring of 16 ranks "));
    EXPECT_EQ(sourceOf(whole), "Liu et al. 2023 (Ring Attention), section 3");
}

TEST(FindingRules, HeadsThatAreExchangedAreNotSaidToGoRoundARing)
{
    const auto document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "llama3.2-1b",
        "cluster": {"base": "dgx-a100", "nodes": 1, "tiers": [{"name": "slow", "span": "all", "bandwidth_gbs": 2, "latency_us": 10}]},
        "layout": {"cp": 8},
        "training": {"sequence_length": 8192, "micro_batch_size": 1, "global_batch_size": 64,
                     "stack": {"base": "megatron-te-2025", "exchanges_heads": true}}})");
    const Opened opened{document, simulate(resolvedScenario(document, test::catalogue()))};
    const std::string reason = reasonOf(opened, FindingKind::exposedContext);
    EXPECT_TRUE(reason.starts_with("All-to-alls among 8 ranks over ")) << reason;
    EXPECT_NE(reason.find("1,024 tokens for attention heads"), std::string::npos) << reason;
    EXPECT_EQ(reason.find("ring"), std::string::npos) << reason;
    const auto all = findings(*opened.simulation, document, test::catalogue());
    const Finding* finding = find(all, FindingKind::exposedContext);
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(std::any_of(finding->suggestions.begin(), finding->suggestions.end(),
                            [](const SuggestedEdit& edit) { return edit.text == "heads exchanged → a ring"; }));
    EXPECT_TRUE(TrafficExplainer(*opened.simulation).ofDimension(Dimension::cp).source.starts_with("Jacobs et al. 2023"));
}

TEST(FindingRules, WaitingForTheHostIsBlamedOnWhatTakesIt)
{
    const auto reasonWith = [](const std::vector<std::string>& overrides) {
        const auto all = findingsOf("86", overrides);
        const Finding* finding = find(all, FindingKind::exposedHost);
        return finding != nullptr ? finding->reason : "";
    };
    const std::string work = reasonWith({"training.offload.optimizer=1"});
    EXPECT_TRUE(work.starts_with("The host updates the parameters whose optimizer states it has: its memory gives each GPU "))
        << work;
    const std::string copies = reasonWith(
        {"training.offload.optimizer=1", "cluster.host.memory_bandwidth_gbs=100000", "cluster.gpu.host_bandwidth_gbs=4"});
    EXPECT_TRUE(copies.starts_with("Gradients leave when they are all there, and parameters come back: a GPU's link carries "))
        << copies;
    EXPECT_EQ(copies.find("The host updates"), std::string::npos) << copies;
}

TEST(FindingRules, AHostThatIsSlowerThanItsKernelsIsBlamedOnItsLaunches)
{
    const auto all = findingsOf("01", {R"(training.stack={"base":"megatron-2021","launch_us":2000,"backward_launch_us":2000})"});
    const Finding* finding = find(all, FindingKind::exposedHost);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->severity, FindingSeverity::costly);
    EXPECT_TRUE(finding->reason.starts_with("The host launches a kernel in 2.00 ms on the way forward; the GPU waits wherever "))
        << finding->reason;
    EXPECT_EQ(finding->reason.find("updates"), std::string::npos) << finding->reason;
    ASSERT_FALSE(finding->suggestions.empty());
    EXPECT_EQ(finding->suggestions[0].changes[0].pointer, "/training/micro_batch_size");
}

TEST(FindingRules, WhatTheHostDoesBeforeTheOptimizerIsNotBlamedOnItsLaunches)
{
    const auto all = findingsOf("01", {R"(training.stack={"base":"megatron-2021","launch_us":0,"backward_launch_us":0,)"
                                       R"("collective_launch_us":0,"step_ms":2000})"});
    const Finding* finding = find(all, FindingKind::exposedHost);
    ASSERT_TRUE(finding);
    EXPECT_TRUE(finding->reason.starts_with("Once a step the host works for 2.00 s before it launches the optimizer"))
        << finding->reason;
    EXPECT_EQ(finding->reason.find("launches a kernel"), std::string::npos) << finding->reason;
    EXPECT_TRUE(finding->suggestions.empty()) << "neither a larger micro-batch nor less tp shortens that";
}

TEST(FindingRules, GradientsThatAreNotOverlappedAreSaid)
{
    const Opened opened = test::openNumber("01", {"training.overlap.grad_reduce=false"});
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::exposedData);
    ASSERT_TRUE(finding);
    ASSERT_FALSE(finding->suggestions.empty());
    EXPECT_EQ(finding->suggestions[0].changes[0], (Change{"/training/overlap/grad_reduce", "true"}));
    EXPECT_LT(effectsOf(opened, *finding)[0].timePerToken, 0);
}

TEST(FindingRules, GatheredParametersAndReducedGradientsAreToldApart)
{
    const std::string gathers = reasonOf(
        test::openNumber("86", {"layout.zero_stage=1", "training.global_batch_size=8", "training.overlap.param_gather=false"}),
        FindingKind::exposedData);
    EXPECT_TRUE(gathers.starts_with("Parameters are gathered among 8 ranks over Slingshot (")) << gathers;
    const auto gradients = gathers.find(" Gradients are reduced among them beside the last backward pass: ");
    ASSERT_NE(gradients, std::string::npos) << gathers;
    EXPECT_LT(gathers.find(" after the update, beside nothing: "), gradients) << gathers;
}

TEST(FindingRules, ABandwidthThatGpusShareIsToldAsTheirCards)
{
    const Opened opened =
        test::openNumber("14", {R"(cluster.tiers=[{"name":"nvlink","span":4,"bandwidth_gbs":300,"latency_us":2},)"
                                R"({"name":"slingshot","span":"all","bandwidth_gbs":25,"latency_us":6,)"
                                R"("gpus_per_nic":4}])"});
    const std::string reason = reasonOf(opened, FindingKind::exposedData);
    EXPECT_NE(reason.find(" over Slingshot (25.0 GB/s a card of 4 GPUs)"), std::string::npos) << reason;
    const std::string because = explain(*opened.simulation, MetricId::exposedDp).convention;
    EXPECT_NE(because.find("joined by Slingshot (25.0 GB/s a card of 4 GPUs)"), std::string::npos) << because;
}

/// Sharded gradients of a job without pipeline cannot add up whole.
TEST(FindingRules, GradientsOfEveryMicrobatchAreSaidToBeReducedAfterEach)
{
    const std::vector<std::string> job = {"training.global_batch_size=64", "training.overlap.grad_reduce=false"};
    for (const int zero : {1, 2, 3}) {
        std::vector<std::string> overrides = job;
        overrides.push_back("layout.zero_stage=" + std::to_string(zero));
        const std::string reason = reasonOf(test::openNumber("86", overrides), FindingKind::exposedData);
        EXPECT_NE(reason.find(std::string("Gradients are reduced among 8 ranks over Slingshot (25.0 GB/s a GPU) after ") +
                              (zero == 1 ? "the last" : "each") + " backward pass, not beside it: "),
                  std::string::npos)
            << reason;
    }
}

/// What a file does not say follows from the stage that is tried.
TEST(FindingRules, AnotherStageOfZeroGathersAsItUsuallyDoes)
{
    const std::string late = R"(training.stack={"base":"pytorch-eager","gathers_ahead":false})";
    for (const bool isSaid : {false, true}) {
        std::vector<std::string> overrides{late};
        if (isSaid)
            overrides.emplace_back("training.overlap.param_gather=false");
        const Opened opened = test::openNumber("14", overrides);
        ASSERT_FALSE(opened.simulation->scenario().training.overlap.paramGather);
        const auto all = findingsOf(opened);
        const Finding* finding = find(all, FindingKind::exposedData);
        ASSERT_TRUE(finding);
        int stages = 0;
        for (const SuggestedEdit& edit : finding->suggestions) {
            const auto tried = scenarioWith(edit, opened.document, test::catalogue());
            ASSERT_TRUE(tried) << edit.text;
            if (tried->layout.zeroStage == 3)
                continue;
            ++stages;
            EXPECT_EQ(tried->training.overlap.paramGather, !isSaid) << edit.text;
        }
        EXPECT_EQ(stages, 2) << "ZeRO 2 and 1";
    }
}

TEST(FindingRules, HybridShardingNamesTheGroupsThatTalk)
{
    const Opened opened = test::openNumber("11", {"training.sequence_length=1024", "training.micro_batch_size=1"});
    const std::string reason = reasonOf(opened, FindingKind::exposedData);
    EXPECT_NE(reason.find("Parameters are gathered among 8 ranks over NVLink ("), std::string::npos) << reason;
    EXPECT_NE(reason.find("Gradients are reduced among 4 replicas over InfiniBand ("), std::string::npos) << reason;
    const std::string because = explain(*opened.simulation, MetricId::exposedDp).convention;
    EXPECT_TRUE(
        because.starts_with("Groups of 8 ranks, joined by NVLink (450 GB/s a GPU); replicas: groups of 4 ranks, joined by "
                            "InfiniBand (50.0 GB/s a GPU)."))
        << because;
}

TEST(FindingRules, GroupsThatLieUnalikeAreToldTogether)
{
    const Opened opened = test::openNumber("02", {"layout.tp=4", "layout.dp=4", "cluster.gpus_per_node=6", "cluster.nodes=3"});
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::tensorAcrossNodes);
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->reason.find("1 of 4 groups of 4 ranks meet over InfiniBand ("), std::string::npos) << finding->reason;
    EXPECT_EQ(finding->show.ranks, (std::vector<int>{4, 5, 6, 7})) << "the one that does not fit into a node of six";
    const std::string because = explain(*opened.simulation, MetricId::exposedTp).convention;
    EXPECT_TRUE(because.starts_with("Groups of 4 ranks, 3 of 4 joined by NVLink (300 GB/s a GPU), 1 of 4 joined by InfiniBand ("))
        << because;
}

TEST(FindingRules, WithoutDataParallelismItIsSaidWhoseGradientsAreAddedUp)
{
    std::vector<std::string> job = {R"(model={"base":"gpt2"})",
                                    R"(layout={"pp":2})",
                                    R"(cluster={"base":"dgx-a100","nodes":1})",
                                    R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":50,"latency_us":10}])",
                                    "training.micro_batch_size=1",
                                    "training.global_batch_size=4",
                                    "training.sequence_length=256"};
    for (const char* kind : {"1f1b", "dualpipe"}) {
        job.emplace_back(std::string("schedule={\"kind\":\"") + kind + "\"}");
        const Opened opened = test::openNumber("01", job);
        const auto all = findingsOf(opened);
        const Finding* finding = find(all, FindingKind::exposedData);
        ASSERT_TRUE(finding) << kind;
        const bool isTwice = opened.simulation->schedule().chains > 1;
        EXPECT_TRUE(finding->title.ends_with(isTwice ? "exposed copies communication" : "exposed embedding communication"))
            << finding->title;
        EXPECT_NE(finding->reason.find(isTwice ? "hold copies of a stage" : "embedding that they share"), std::string::npos)
            << finding->reason;
        const Finding* parts = find(all, FindingKind::composition);
        ASSERT_TRUE(parts);
        EXPECT_EQ(parts->reason.find("exposed dp"), std::string::npos) << parts->reason;
    }
}

/// Experts that are cut in fewer pieces than the rest have copies where nothing else has.
TEST(FindingRules, WithoutDataParallelismCopiesOfExpertsAreNamed)
{
    const Opened opened = test::openNumber(
        "01", {R"(model={"base":"mixtral-8x7b"})", R"(cluster={"base":"h100-sxm-ib400","nodes":2})",
               R"(layout={"tp":8,"pp":2,"dp":1,"ep":1,"etp":1})", R"(schedule={"kind":"1f1b"})",
               R"(training={"sequence_length":512,"micro_batch_size":1,"global_batch_size":4,"overlap":{"grad_reduce":true}})"});
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::exposedData);
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->reason.find("among 8 ranks with copies of the experts over NVLink"), std::string::npos) << finding->reason;
    EXPECT_TRUE(std::any_of(finding->suggestions.begin(), finding->suggestions.end(),
                            [](const SuggestedEdit& edit) { return edit.text == "etp 1 → 8"; }));
}

TEST(FindingRules, UnevenStagesAreBalanced)
{
    const Opened opened = test::openNumber("04");
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::stageImbalance);
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->reason.find("output head over 128,256 words"), std::string::npos) << finding->reason;
    EXPECT_EQ(finding->suggestions[0].changes[0].pointer, "/schedule/layers_per_stage");
    EXPECT_LT(effectsOf(opened, *finding)[0].timePerToken, -0.1);
    EXPECT_FALSE(has(findingsOf("04", {"schedule.layers_per_stage=[10,6]"}), FindingKind::stageImbalance));
}

TEST(FindingRules, LayersThatAreComparedAreThoseOfPipelineRanks)
{
    const auto all = findingsOf("18"); // two chunks a rank
    const Finding* finding = find(all, FindingKind::stageImbalance);
    ASSERT_TRUE(finding);
    EXPECT_TRUE(finding->title.ends_with(" longer than the mean of all")) << finding->title;
    EXPECT_NE(finding->reason.find("; a pipeline rank has 12.0 layers on average."), std::string::npos) << finding->reason;
}

TEST(FindingRules, SlowRankIsNamedAndWeighed)
{
    const Opened opened = test::openNumber("21");
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::slowRank);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->show.ranks, std::vector<int>{21});
    const EditEffect without = effectsOf(opened, *finding)[0];
    EXPECT_NEAR(-without.timePerToken, finding->stepShare, 1e-9);
    EXPECT_FALSE(has(all, FindingKind::stageImbalance)) << "the stages are even, the GPUs are not";
    EXPECT_FALSE(has(findingsOf("21", {"perturbations=[]"}), FindingKind::slowRank));
}

TEST(FindingRules, ASlowRankKeepsThoseWaitingThatThereAre)
{
    const auto reason = [](const std::string& number, const std::string& kind) {
        const auto all = findingsOf(number, {R"(perturbations=[{"kind":")" + kind + R"(","rank":0,"factor":3}])"});
        const Finding* finding = find(all, FindingKind::slowRank);
        return finding != nullptr ? finding->reason : "none";
    };
    EXPECT_EQ(reason("01", "slow_gpu"), "The ranks of its groups wait for it in every collective.");
    EXPECT_EQ(reason("01", "slow_link"), "The ranks of its groups wait for what it sends in every collective.");
    EXPECT_EQ(reason("58", "slow_gpu"), "Through the pipeline everybody waits for it.");
    EXPECT_EQ(reason("56", "slow_gpu"), "It is the only one: what it runs is the step.");
    EXPECT_EQ(reason("60", "slow_gpu"),
              "The ranks of its groups wait for it in every collective, and through the pipeline everybody does.");
}

TEST(FindingRules, OfASlowGpuAndASlowLinkTheOneIsBlamedThatCosts)
{
    const auto all = findingsOf("41", {R"(perturbations=[{"kind":"slow_link","rank":5,"factor":1.5},)"
                                       R"({"kind":"slow_gpu","rank":0,"factor":1.4}])"});
    const Finding* finding = find(all, FindingKind::slowRank);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->show.ranks, std::vector<int>{0});
    EXPECT_EQ(finding->title.find("Rank 0 computes 1.40 times as long"), 0U) << finding->title;
    const Finding* bubble = find(all, FindingKind::bubble);
    ASSERT_NE(bubble, nullptr);
    EXPECT_NE(bubble->title.find("rank 0"), std::string::npos) << bubble->title;
}

TEST(FindingRules, ABubbleThatASlowRankMakesIsNotBlamedOnStages)
{
    const std::string slow = R"(perturbations=[{"kind":"slow_gpu","rank":0,"factor":1.2}])";
    const auto all = findingsOf("41", {slow});
    const Finding* bubble = find(all, FindingKind::bubble);
    ASSERT_TRUE(bubble);
    EXPECT_NE(bubble->title.find("ranks wait for other stages and for rank 0"), std::string::npos) << bubble->title;
    EXPECT_NE(bubble->reason.find("Rank 0 computes 1.20 times as long, and the others wait for it."), std::string::npos)
        << bubble->reason;
    EXPECT_EQ(bubble->reason.find("not equal"), std::string::npos) << bubble->reason;
    EXPECT_EQ(bubble->show.ranks, std::vector<int>{0});
    ASSERT_FALSE(bubble->suggestions.empty());
    EXPECT_EQ(bubble->suggestions[0].text, "without perturbations");
    const auto even = findingsOf("41");
    EXPECT_NE(find(even, FindingKind::bubble)->title.find("ranks wait for other stages"), std::string::npos);
    EXPECT_EQ(find(even, FindingKind::bubble)->title.find("rank 0"), std::string::npos);
    // Where stages leave hardly a bubble, the slow rank alone is named, and nothing is offered against stages.
    const auto steady = findingsOf("35", {"training.global_batch_size=512", slow});
    const Finding* alone = find(steady, FindingKind::bubble);
    ASSERT_TRUE(alone);
    EXPECT_TRUE(alone->title.ends_with("ranks wait for rank 0")) << alone->title;
    EXPECT_EQ(alone->suggestions.size(), 1U);
}

TEST(FindingRules, RecomputationIsNeededOrNot)
{
    const Opened roomy = test::openNumber("50");
    const auto all = findingsOf(roomy);
    const Finding* finding = find(all, FindingKind::needlessRecompute);
    ASSERT_TRUE(finding);
    EXPECT_TRUE(effectsOf(roomy, *finding)[0].fits);
    EXPECT_NEAR(-effectsOf(roomy, *finding)[0].timePerToken, finding->stepShare, 1e-9);
    EXPECT_FALSE(has(findingsOf("50", {"training.recompute=none"}), FindingKind::needlessRecompute));
    EXPECT_FALSE(has(findingsOf("50", {"cluster.gpu.memory_gib=30"}), FindingKind::needlessRecompute));
    const auto some = findingsOf("50", {"cluster.gpu.memory_gib=40"});
    ASSERT_TRUE(has(some, FindingKind::needlessRecompute));
    EXPECT_TRUE(find(some, FindingKind::needlessRecompute)->title.starts_with("Recomputing every layer is not needed"));
}

TEST(FindingRules, RecomputingAFusedKernelFreesNothingWhetherTheStepFitsOrNot)
{
    const std::string modules = R"(training.recompute={"kind":"selective","modules":["core_attn","layernorm"]})";
    for (const char* memory : {"cluster.gpu.memory_gib=80", "cluster.gpu.memory_gib=20"}) {
        const auto all = findingsOf("50", {modules, memory, "training.sequence_length=32768"});
        const Finding* finding = find(all, FindingKind::needlessRecompute);
        ASSERT_NE(finding, nullptr) << memory;
        EXPECT_TRUE(finding->title.starts_with("Recomputing fused attention frees hardly anything")) << finding->title;
        EXPECT_EQ(finding->suggestions.front().changes.front().json, R"({"kind":"selective","modules":["layernorm"]})");
    }
    EXPECT_FALSE(has(findingsOf("50", {modules, "training.attention=unfused", "cluster.gpu.memory_gib=20"}),
                     FindingKind::needlessRecompute));
}

TEST(FindingRules, SwitchesThatCostNothing)
{
    EXPECT_TRUE(has(findingsOf("35"), FindingKind::noSequenceParallel));
    EXPECT_FALSE(has(findingsOf("35", {"layout.sequence_parallel=true"}), FindingKind::noSequenceParallel));
    EXPECT_TRUE(has(findingsOf("35"), FindingKind::unfusedAttention));
    EXPECT_FALSE(has(findingsOf("35", {"training.flash_attention=true"}), FindingKind::unfusedAttention));
    EXPECT_TRUE(has(findingsOf("01"), FindingKind::replicatedStates));
    EXPECT_FALSE(has(findingsOf("01", {"layout.zero_stage=1"}), FindingKind::replicatedStates));
    EXPECT_TRUE(anyHelps(test::openNumber("35"), FindingKind::noSequenceParallel));
    EXPECT_TRUE(anyHelps(test::openNumber("01"), FindingKind::replicatedStates));
}

TEST(FindingRules, ScoresAreThoseOfTheQueriesThatARankHasAtOnce)
{
    const auto titleOf = [](const std::string& number) {
        return find(findingsOf(number, {"training.attention=unfused"}), FindingKind::unfusedAttention)->title;
    };
    EXPECT_EQ(titleOf("61"), "Attention is not fused: scores of 64 × 128 go to memory and back") << "cp 2";
    EXPECT_EQ(titleOf("72"), "Attention is not fused: scores of 256 × up to 1,024 go to memory and back") << "four slices";
    EXPECT_EQ(titleOf("02"), "Attention is not fused: scores of 4,096 × 4,096 go to memory and back");
}

TEST(FindingEdits, SayWhatEveryStageBecomes)
{
    Scenario scenario;
    scenario.schedule.layersPerStage = {12, 12, 12, 12, 12, 12};
    const SuggestedEdit edit = Edits(scenario).layersPerStage({11, 13, 13, 12, 13, 10});
    EXPECT_EQ(edit.text, "layers: 12 → 11 on stage 0; 12 → 13 on stages 1-2, 4; 12 → 10 on stage 5");
    ASSERT_EQ(edit.changes.size(), 1U);
    EXPECT_EQ(edit.changes.front().json, "[11,13,13,12,13,10]");
}

TEST(FindingRules, WholeNodesThatAreIdle)
{
    const Opened opened = test::openNumber("02", {"cluster.nodes=4"});
    ASSERT_TRUE(has(findingsOf(opened), FindingKind::idleGpus));
    EXPECT_TRUE(anyHelps(opened, FindingKind::idleGpus));
    // 48 nodes have room for 48 replicas, which 64 sequences do not divide into: 32 of them, with two each for the two stages.
    const Opened uneven = test::openNumber("05", {"cluster.nodes=48"});
    EXPECT_TRUE(anyHelps(uneven, FindingKind::idleGpus));
    const auto found = findingsOf(uneven);
    const std::vector<SuggestedEdit>& edits = find(found, FindingKind::idleGpus)->suggestions;
    ASSERT_EQ(edits.size(), 2U);
    EXPECT_EQ(edits.front().text, "dp 2 → 32");
    // A batch that the file does not give grows with the replicas.
    ScenarioDocument document = opened.document;
    document.erase("/training/global_batch_size");
    const Opened grows{document, simulate(*document.resolve(test::catalogue()).scenario)};
    const auto more = findingsOf(grows);
    const Finding* const idle = find(more, FindingKind::idleGpus);
    ASSERT_TRUE(idle);
    ASSERT_FALSE(idle->suggestions.empty());
    EXPECT_EQ(idle->suggestions.front().text, "dp 2 → 4, global batch 2 → 4");
    EXPECT_FALSE(has(findingsOf("02"), FindingKind::idleGpus));
    EXPECT_FALSE(has(findingsOf("03"), FindingKind::idleGpus)) << "part of a node is how small jobs run";
}

TEST(FindingRules, SmallKernelsWantMoreRows)
{
    const std::vector<std::string> small = {"training.sequence_length=128", "training.micro_batch_size=1"};
    const Opened opened = test::openNumber("17", small);
    ASSERT_TRUE(has(findingsOf(opened), FindingKind::smallKernels));
    EXPECT_TRUE(anyHelps(opened, FindingKind::smallKernels));
    EXPECT_FALSE(has(findingsOf("17"), FindingKind::smallKernels));
}

TEST(FindingRules, KernelsBelowThePeakAreBlamedOnWhatLosesMost)
{
    EXPECT_TRUE(reasonOf(test::openNumber("17", {"training.sequence_length=128", "training.micro_batch_size=1"}),
                         FindingKind::smallKernels)
                    .starts_with("Matrix products of any size"));
    const std::string ofExperts = reasonOf(
        test::openNumber("51", {"training.sequence_length=256", "training.micro_batch_size=1"}), FindingKind::smallKernels);
    EXPECT_NE(ofExperts.find("rows (tokens of a micro-batch on a rank), an expert's "), std::string::npos) << ofExperts;
    // Permutations of tokens take more than any product loses.
    const std::string permuted = reasonOf(test::openNumber("51"), FindingKind::smallKernels);
    EXPECT_NE(permuted.find("% of the time of kernels goes to norms, activations, the permutation of tokens to their experts"),
              std::string::npos)
        << permuted;
    EXPECT_EQ(reasonOf(test::openNumber("83"), FindingKind::smallKernels).find("permutation"), std::string::npos) << "no experts";
    const std::string attention =
        reasonOf(test::openNumber("03", {"training.sequence_length=65536", "cluster.efficiency.attention_forward=0.2",
                                         "cluster.efficiency.attention_backward=0.2"}),
                 FindingKind::smallKernels);
    EXPECT_TRUE(attention.starts_with("It is attention that keeps them from it: ")) << attention;
}

/// What is said to be within reach of products is what the engine gives one that is large every way.
TEST(FindingRules, LargeProductsReachWhatIsSaid)
{
    for (const std::string precision : {"bf16", "fp8"}) {
        const Opened opened = test::openNumber(
            "44", {"training.precision=" + precision, "training.stack.gemm=0.4", "cluster.efficiency.fp8_gemm=0.5"});
        const auto all = findingsOf(opened);
        const Finding* finding = find(all, FindingKind::smallKernels);
        ASSERT_TRUE(finding) << precision;
        const auto said = std::find_if(finding->claims.begin(), finding->claims.end(),
                                       [](const Claim& claim) { return claim.of == ClaimOf::gemmEfficiency; });
        ASSERT_NE(said, finding->claims.end()) << finding->reason;
        const Scenario& scenario = opened.simulation->scenario();
        OpShape product = test::gemm(1 << 17, 1 << 17, 1 << 17);
        product.lowPrecision = true;
        const double seconds = 1e-9 * static_cast<double>(CostModel(scenario).kernelNs(product));
        const double peak = 1e12 * scenario.cluster.gpu.peakTflops.at(scenario.training.precision);
        EXPECT_NEAR(product.flops / (seconds * peak), said->value, 0.02 * said->value) << precision;
        EXPECT_EQ(finding->reason.find("in so few bits") != std::string::npos, precision == "fp8");
    }
}

TEST(FindingRules, PrecisionThatLeavesTheTensorCoresAside)
{
    for (const std::string precision : {"fp32", "tf32"}) { // tf32 runs on tensor cores as bf16 does
        const auto all = findingsOf("10", {"training.precision=" + precision});
        const Finding* finding = find(all, FindingKind::slowPrecision);
        ASSERT_TRUE(finding);
        EXPECT_EQ(finding->title,
                  "bf16 has " + std::string(precision == "fp32" ? "14.8" : "2.00") + " times the peak of " + precision);
    }
    // What of it stays wide is what the states of such a job have.
    const auto reasonWith = [](std::vector<std::string> overrides) {
        overrides.emplace_back("training.precision=fp32");
        return reasonOf(test::openNumber("10", overrides), FindingKind::slowPrecision);
    };
    EXPECT_EQ(reasonWith({}), "Parameters keep their fp32 copy in the optimizer.");
    EXPECT_EQ(reasonWith({"training.master_weights=false"}), "Parameters have no fp32 copy: master weights are off.");
    EXPECT_EQ(reasonWith({"training.stack.parameters_are_master=true"}), "Parameters themselves stay in fp32.");
    EXPECT_EQ(reasonWith({R"(training.lora={"rank":8})"}),
              "Adapters keep their fp32 copy in the optimizer, frozen weights have none.");
    EXPECT_FALSE(has(findingsOf("03"), FindingKind::slowPrecision));
    EXPECT_FALSE(has(findingsOf("44"), FindingKind::slowPrecision)); // fp8
    // A GPU without bf16 has fp16.
    const auto old = findingsOf("60", {"cluster=dgx-1-v100", "training.precision=fp32"});
    const Finding* finding = find(old, FindingKind::slowPrecision);
    ASSERT_TRUE(finding);
    EXPECT_TRUE(finding->title.starts_with("fp16 has 7.96 times the peak of fp32")) << finding->title;
    EXPECT_EQ(finding->suggestions.at(0).text, "precision → fp16");
}

/// Its bubble is that of the closed form (InterleavedSchedule, ClosedFormsForEveryLegalGroup).
TEST(FindingRules, RanksThatWaitForTheBusiestExpertsAreNotToldToHaveSlowKernels)
{
    EXPECT_FALSE(has(findingsOf("50"), FindingKind::unevenRouting));
    const Opened opened = test::openNumber("50", {"training.moe.imbalance=2"});
    const auto all = findingsOf(opened);
    EXPECT_FALSE(has(all, FindingKind::smallKernels)) << "the products are larger than those of even routing";
    const Finding* finding = find(all, FindingKind::unevenRouting);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->severity, FindingSeverity::costly);
    EXPECT_NE(finding->reason.find("the busiest gets 2.00 times the mean's tokens"), std::string::npos) << finding->reason;
    EXPECT_LT(effectsOf(opened, *finding).at(0).timePerToken, -0.3) << "without it 7.6 s of 13.3 s";
}

TEST(FindingRules, UnevenMemoryMattersWhereTheFullestRankIsFull)
{
    const auto tight = findingsOf("17", {"cluster.gpu.memory_gib=20"});
    const auto roomy = findingsOf("17", {"cluster.gpu.memory_gib=40"});
    EXPECT_TRUE(has(tight, FindingKind::memoryImbalance)) << tight.front().title;
    EXPECT_FALSE(has(roomy, FindingKind::memoryImbalance));
}

TEST(FindingRules, UnevenMemoryIsOneFOneBsOnlyWhereItIsItsStaircase)
{
    const Finding first = *find(findingsOf("17", {"cluster.gpu.memory_gib=20"}), FindingKind::memoryImbalance);
    EXPECT_TRUE(first.reason.starts_with("1F1B keeps a micro-batch alive")) << first.reason;
    // The last stage keeps one micro-batch; what it is full of are logits.
    const auto document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "llama3.2-1b",
        "cluster": {"base": "h100-sxm-ib400", "nodes": 1, "gpus_per_node": 4}, "layout": {"pp": 4}, "schedule": {"kind": "1f1b"},
        "training": {"sequence_length": 8192, "micro_batch_size": 14, "global_batch_size": 224, "recompute": "full"}})");
    const Opened opened{document, simulate(resolvedScenario(document, test::catalogue()))};
    const auto all = findingsOf(opened);
    const Finding* last = find(all, FindingKind::memoryImbalance);
    ASSERT_TRUE(last);
    EXPECT_TRUE(last->title.starts_with("Memory is uneven: pipeline rank 3 ")) << last->title;
    EXPECT_TRUE(last->reason.starts_with("Activations are the largest part")) << last->reason;
    EXPECT_TRUE(last->reason.ends_with("It has the output head over 128,256 words.")) << last->reason;
    EXPECT_TRUE(anyHelps(opened, FindingKind::memoryImbalance));
    for (const SuggestedEdit& edit : last->suggestions)
        EXPECT_EQ(edit.text.find("v-half"), std::string::npos) << edit.text;
}
