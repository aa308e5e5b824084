// What the planner promises: it finds what trying everything finds, says the same for any number of threads, and its numbers are
// those of the scenario that it proposes.
#include "sim/planner/planner.h"

#include "sim/answers/plan.h"
#include "sim/cancel.h"
#include "sim/memory_limit.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

using namespace sim;
using test::kTinyJob;
using test::said;
using test::tinyJob;

namespace {

double simulated(const ScenarioDocument& document)
{
    return simulate(resolvedScenario(document, test::catalogue()))->metrics().stepTimeSeconds;
}

} // namespace

TEST(Planner, FindsWhatTryingEverythingFinds)
{
    for (const char* kind : {"1f1b", "gpipe"}) {
        const PlanRequest request = tinyJob({{"schedule.kind", kind}, {"training.recompute", "none"}});
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty());
        EXPECT_TRUE(answer.proved);
        EXPECT_EQ(answer.gap, 0);

        double best = 1e9;
        std::int64_t legal = 0;
        for (const int tp : {1, 2, 4})
            for (const int cp : {1, 2, 4})
                for (const int pp : {1, 2, 4}) {
                    if (4 % (tp * cp * pp) != 0)
                        continue;
                    const int dp = 4 / (tp * cp * pp);
                    for (const int microBatch : {1, 2, 4, 8})
                        for (const bool sp : {false, true})
                            for (const int zero : {0, 1, 2, 3})
                                for (const int shard : {1, 2, 4}) {
                                    const bool isWhole = shard == dp * cp;
                                    if ((sp && tp == 1) || (zero > 0 && dp * cp == 1) || dp * cp % shard != 0 ||
                                        (zero == 0 && !isWhole) || (shard == 1 && !isWhole))
                                        continue;
                                    ScenarioDocument document = request.document;
                                    document.set("schedule.kind", kind);
                                    document.set("layout.tp", std::to_string(tp));
                                    document.set("layout.cp", std::to_string(cp));
                                    document.set("layout.pp", std::to_string(pp));
                                    document.set("layout.dp", std::to_string(dp));
                                    document.set("layout.zero_stage", std::to_string(zero));
                                    document.set("layout.dp_shard", std::to_string(shard));
                                    document.set("layout.sequence_parallel", sp ? "true" : "false");
                                    document.set("training.micro_batch_size", std::to_string(microBatch));
                                    const auto resolved = document.resolve(test::catalogue());
                                    if (!resolved.scenario)
                                        continue;
                                    ++legal;
                                    const auto step = simulate(*resolved.scenario);
                                    if (step->metrics().fits)
                                        best = std::min(best, step->metrics().stepTimeSeconds);
                                }
                }
        EXPECT_EQ(answer.best.front().stepSeconds, best) << kind;
        EXPECT_EQ(answer.covered, legal) << kind;
    }
}

TEST(Planner, PrintsWhatItsProposalSimulatesTo)
{
    const PlanRequest request = tinyJob();
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_GE(answer.best.size(), 2U);
    for (const PlannedLayout& layout : answer.best)
        EXPECT_EQ(simulated(withSettings(request, layout.settings)), layout.stepSeconds);
    EXPECT_EQ(simulated(answer.firstDocument(request)), answer.best.front().stepSeconds);
    for (const PlannedLayout& layout : answer.best) {
        EXPECT_LE(layout.floorSeconds, layout.stepSeconds + 1e-9);
        EXPECT_LE(layout.closedFormSeconds, layout.stepSeconds + 1e-9);
        EXPECT_EQ(layout.use.total(), std::llround(layout.stepSeconds * 1e9));
    }
}

TEST(Planner, KeepsTheBatchOfAFileThatDoesNotSayIt)
{
    PlanRequest request = tinyJob();
    request.document.erase("training.global_batch_size");
    const int batch = resolvedScenario(request.document, test::catalogue()).training.globalBatchSize;
    const PlanAnswer answer = plan(request, test::catalogue());
    for (const PlannedLayout& layout : answer.best) {
        const Scenario scenario = resolvedScenario(withSettings(request, layout.settings), test::catalogue());
        EXPECT_EQ(scenario.training.globalBatchSize, batch) << layout.grid.text();
        EXPECT_EQ(simulate(scenario)->metrics().stepTimeSeconds, layout.stepSeconds);
    }
    PlanRequest saysIt = request;
    saysIt.document.set("training.global_batch_size", std::to_string(batch));
    const PlanAnswer same = plan(saysIt, test::catalogue());
    EXPECT_EQ(same.best.front().stepSeconds, answer.best.front().stepSeconds);
    EXPECT_EQ(same.covered, answer.covered);
}

TEST(Planner, SaysTheSameForAnyNumberOfThreads)
{
    PlanRequest one = tinyJob(), three = tinyJob();
    one.jobs = 1;
    three.jobs = 3;
    EXPECT_EQ(said(one), said(three));
}

TEST(Planner, IsNeverWorseWithFasterLinks)
{
    double before = std::numeric_limits<double>::infinity();
    for (const int times : {1, 2, 8}) {
        PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
        request.document.set("cluster.tiers", R"([{"name": "nvlink", "span": 2, "latency_us": 2, "bandwidth_gbs": )" +
                                                  std::to_string(20 * times) +
                                                  R"(}, {"name": "network", "span": "all", "latency_us": 5, "bandwidth_gbs": )" +
                                                  std::to_string(times) + "}]");
        const PlanAnswer answer = plan(request, test::catalogue());
        EXPECT_TRUE(answer.proved);
        EXPECT_LT(answer.best.front().stepSeconds, before) << times;
        before = answer.best.front().stepSeconds;
    }
}

TEST(Planner, IsNeverWorseWithMoreMemoryOrMoreToChooseFrom)
{
    const auto bestOf = [](const PlanRequest& request) { return plan(request, test::catalogue()).best.front().stepSeconds; };
    const double all = bestOf(tinyJob());
    EXPECT_LE(all, bestOf(tinyJob({{"layout.tp", "4"}})));
    EXPECT_LE(all, bestOf(tinyJob({{"schedule.kind", "1f1b"}})));
    PlanRequest tight = tinyJob();
    tight.marginGib = 79.8;
    EXPECT_LE(all, bestOf(tight));
}

TEST(Planner, TriesFewerLayersRunAgainWhereMoreTakeMoreMemory)
{
    ScenarioDocument document = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"num_hidden_layers": 4, "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 8,
                "num_key_value_heads": 2, "head_dim": 512, "vocab_size": 256, "max_position_embeddings": 8192,
                "tie_word_embeddings": false},
      "cluster": {"base": "h100-sxm-ib400"},
      "layout": {"tp": 4, "dp": 1},
      "training": {"sequence_length": 4096, "global_batch_size": 6, "optimizer": "sgd"}
    })");
    const PlanRequest request{
        .document = document, .objective = PlanObjective::headroom, .fixed = {{"layout.tp", "4"}, {"layout.pp", "1"}}};
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    EXPECT_TRUE(answer.proved);
    for (int layers = 1; layers <= 4; ++layers) {
        ScenarioDocument other = answer.firstDocument(request);
        other.set("training.recompute", R"({"kind": "full", "layers": )" + std::to_string(layers) + "}");
        EXPECT_GE(simulate(resolvedScenario(other, test::catalogue()))->metrics().peakMemoryGib,
                  answer.best.front().peakMemoryGib)
            << layers;
    }
}

TEST(Planner, GoesOnUntilASmallJobIsProved)
{
    ScenarioDocument document = ScenarioDocument::parse(kTinyJob);
    document.set("perturbations", R"([{"kind": "slow_gpu", "rank": 1, "factor": 2}])");
    document.set("training.offload", R"({"activation_layers": 1})");
    EXPECT_TRUE(plan({.document = document}, test::catalogue()).proved);
}

TEST(Planner, CallsNoLayoutATieWhereMemoryCounts)
{
    PlanRequest request{.document =
                            ScenarioDocument::readFile(RANKSCOPE_SOURCE_DIR "/scenarios/05-dp2-tp4-pp2-sixteen-gpus.json")};
    request.fixed = {{"schedule.kind", "1f1b"}, {"training.recompute", "none"}};
    request.top = 100; // among them grids whose steps the model cannot tell apart
    request.objective = PlanObjective::headroom;
    for (const PlannedLayout& layout : plan(request, test::catalogue()).best)
        EXPECT_FALSE(layout.tieWithFirst) << layout.grid.text();
}

TEST(Planner, WarnsOfNoIdleGpuOfALayoutThatIsNotTheFiles)
{
    PlanRequest request = tinyJob({{"training.sequence_length", "4096"}});
    request.document.set("layout.dp", "2");
    request.document.set("cluster.nodes", "1");
    request.document.set("model.num_attention_heads", "7");
    try {
        requirePlannable(request, test::catalogue());
        FAIL() << "seven heads of 512";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("/model"));
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("idle")));
    }
}

TEST(Planner, ProvesNothingWhereItWasStopped)
{
    PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    request.top = 1;
    request.jobs = 1;
    // Cancels at the look after so many, and at each from then on.
    const auto stoppedAfter = [&](std::int64_t most, std::int64_t& looks) {
        const CancelScope scope([&] { return looks++ >= most; });
        return plan(request, test::catalogue());
    };
    std::int64_t all = 0, looks = 0;
    const PlanAnswer whole = stoppedAfter(std::numeric_limits<std::int64_t>::max(), all);
    ASSERT_TRUE(whole.proved);
    ASSERT_FALSE(whole.stopped);
    for (int i = 0; i < 50; ++i) {
        looks = 0;
        const PlanAnswer answer = stoppedAfter(all * i / 50, looks);
        ASSERT_TRUE(answer.stopped) << i;
        EXPECT_FALSE(answer.proved) << i << ": " << answer.simulated << " of " << whole.simulated << " simulated";
        EXPECT_GT(answer.gap, 0) << i;
    }
}

TEST(Planner, HasTheFilesOwnLayoutWhereItIsStoppedBeforeItFindsOne)
{
    PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    request.jobs = 1;
    const double own = simulated(request.document);
    int ofOwn = 0;
    for (std::int64_t most = 100; most < 50'000; most += most / 10) {
        std::int64_t looks = 0;
        const CancelScope scope([&] { return looks++ >= most; });
        const PlanAnswer answer = plan(request, test::catalogue());
        if (answer.best.empty())
            EXPECT_EQ(ofOwn, 0) << "what was found is not lost";
        else if (answer.simulated == 1) {
            ++ofOwn;
            EXPECT_EQ(answer.best.front().stepSeconds, own);
            EXPECT_TRUE(answer.stopped);
            EXPECT_FALSE(answer.proved);
        } else {
            EXPECT_LE(answer.best.front().stepSeconds, own);
        }
    }
    EXPECT_GT(ofOwn, 0);
}

TEST(Planner, SimulatesTheFilesOwnLayoutOnce)
{
    PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}, {"training.recompute", "none"}});
    request.top = 1000;
    const double own = simulated(withSettings(request, {}));
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_TRUE(answer.proved);
    std::set<std::string> met;
    bool hasOwn = false;
    for (const PlannedLayout& layout : answer.best) {
        hasOwn = hasOwn || layout.stepSeconds == own;
        std::string settings;
        for (const auto& [pointer, value] : layout.settings)
            settings += pointer + "=" + value + " ";
        EXPECT_TRUE(met.insert(settings).second) << settings;
    }
    EXPECT_TRUE(hasOwn);
}

TEST(Planner, SimulatesNoMoreThanItMay)
{
    for (const int most : {1, 2, 3, 5}) {
        PlanRequest request = tinyJob();
        request.gpus = 16;
        request.mostSimulated = most;
        EXPECT_LE(plan(request, test::catalogue()).simulated, most);
    }
}

TEST(Planner, LeavesOpenWhatIsTooLargeToBeSimulatedHere)
{
    PlanRequest request = tinyJob({{"model.num_hidden_layers", "64"},
                                   {"training.global_batch_size", "524288"},
                                   {"training.micro_batch_size", "1"},
                                   {"training.recompute", "none"},
                                   {"schedule.kind", "1f1b"},
                                   {"layout.sequence_parallel", "false"}});
    request.gpus = 1;
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_TRUE(answer.best.empty());
    EXPECT_GT(answer.tooLarge, 0);
    EXPECT_EQ(answer.tooLarge + answer.simulated, answer.covered);
    EXPECT_THAT(answer.tooLargeText, testing::HasSubstr("limit"));
    EXPECT_FALSE(answer.proved);
    ASSERT_EQ(answer.rejected.size(), 1U);
    EXPECT_EQ(answer.rejected.front().reason, PlanReason::open);
    EXPECT_THAT(answer.rejected.front().text, testing::HasSubstr("cannot be laid out or simulated here"));
    EXPECT_EQ(planAnswer(answer, request)["too_large"], answer.tooLarge);
}

TEST(Planner, TellsOfItsProgressInWhatIsMadeLeast)
{
    for (const PlanObjective objective : {PlanObjective::time, PlanObjective::headroom}) {
        PlanRequest request = tinyJob();
        request.objective = objective;
        PlanProgress last;
        const PlanAnswer answer = plan(request, test::catalogue(), [&](const PlanProgress& now) { last = now; });
        EXPECT_EQ(last.grids, 10);
        EXPECT_EQ(last.gridsDone, 10);
        EXPECT_EQ(last.simulated, answer.simulated);
        if (objective == PlanObjective::time) {
            EXPECT_EQ(last.bestBytes + last.floorBytes, 0);
            EXPECT_GE(last.floorSeconds, last.bestSeconds);
        } else {
            EXPECT_EQ(last.floorSeconds, 0);
            EXPECT_NEAR(last.bestBytes / kBytesPerGib, answer.best.front().peakMemoryGib, 1e-9);
        }
    }
}

TEST(Planner, TellsWhatItKnowsWhileItGoesOnAndLosesNothingByIt)
{
    for (const PlanObjective objective : {PlanObjective::time, PlanObjective::headroom}) {
        PlanRequest request = tinyJob();
        request.objective = objective;
        std::vector<PlanAnswer> told;
        PlanAnswer watched = plan(request, test::catalogue(), [&](const PlanProgress& now) { told.push_back(now.soFar()); });
        PlanAnswer alone = plan(request, test::catalogue());
        watched.seconds = alone.seconds = 0;
        EXPECT_EQ(planAnswer(watched, request).dump(), planAnswer(alone, request).dump());
        ASSERT_FALSE(told.empty());
        const PlanAnswer& last = told.back();
        EXPECT_EQ(last.simulated, alone.simulated);
        ASSERT_EQ(last.best.size(), alone.best.size());
        for (std::size_t i = 0; i < last.best.size(); ++i)
            EXPECT_EQ(last.best[i].settings, alone.best[i].settings);
        ASSERT_EQ(last.rejected.size(), alone.rejected.size());
        for (std::size_t i = 0; i < last.rejected.size(); ++i)
            EXPECT_EQ(last.rejected[i].text, alone.rejected[i].text);
    }
}
