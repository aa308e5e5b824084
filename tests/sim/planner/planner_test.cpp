// What the planner promises: it finds what trying everything finds, says the same for any number of threads, and its numbers are
// those of the scenario that it proposes.
#include "sim/planner/planner.h"

#include "sim/answers/plan.h"
#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/planner/reasons.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

TEST(Planner, SaysOfWhatDoesNotFitWhatItsLeanestLayoutHolds)
{
    PlanRequest request = tinyJob();
    request.marginGib = 79.95;
    const PlanAnswer answer = plan(request, test::catalogue());
    const double capacity = 80 - request.marginGib;
    int told = 0;
    for (const RejectedGrid& rejected : answer.rejected) {
        if (rejected.reason != PlanReason::memory)
            continue;
        ++told;
        EXPECT_GT(rejected.needGib, capacity) << rejected.text;
        const auto step = simulate(resolvedScenario(withSettings(request, rejected.needSettings), test::catalogue()));
        EXPECT_NEAR(step->metrics().peakMemoryGib, rejected.needGib, 1e-9) << rejected.text;
        EXPECT_THAT(rejected.text, testing::HasSubstr("the least of what was laid out"));
    }
    EXPECT_GE(told, 3);
}

/// Milliseconds of "…: bubble +1.20 ms, exposed tp -0.30 ms".
double sumOfTerms(const std::string& text)
{
    double sum = 0;
    for (std::size_t at = text.find_first_of("+-"); at != std::string::npos; at = text.find_first_of("+-", at + 1)) {
        std::size_t digits = 0;
        const double value = std::stod(text.substr(at), &digits);
        sum += text.substr(at + digits).starts_with(" ms") ? value : 1e3 * value;
    }
    return sum;
}

TEST(Planner, CallsAFloorOfAGridWhatNothingOfItIsBelow)
{
    PlanRequest request{.document =
                            ScenarioDocument::readFile(RANKSCOPE_SOURCE_DIR "/scenarios/05-dp2-tp4-pp2-sixteen-gpus.json"),
                        .fixed = {{"schedule.kind", "1f1b"}, {"training.recompute", "none"}, {"training.micro_batch_size", "1"}}};
    request.top = 100;
    const PlanAnswer answer = plan(request, test::catalogue());
    int told = 0;
    for (const RejectedGrid& rejected : answer.rejected)
        if (rejected.best) {
            ++told;
            EXPECT_GT(rejected.leastFloorSeconds, 0) << rejected.grid.text();
            EXPECT_LE(rejected.leastFloorSeconds, rejected.best->stepSeconds) << rejected.grid.text();
            EXPECT_THAT(rejected.text, testing::Not(testing::HasSubstr("+0.00 ms"))) << "what rounds to nothing is no reason";
            EXPECT_NEAR(sumOfTerms(rejected.text), 1e3 * (rejected.best->stepSeconds - answer.best.front().stepSeconds), 0.0051)
                << rejected.text;
        }
    EXPECT_GE(told, 2);
}

TEST(Planner, GivesEveryGridOneReason)
{
    const PlanAnswer answer = plan(tinyJob(), test::catalogue());
    std::set<PlanGrid> seen{answer.best.front().grid};
    for (const RejectedGrid& rejected : answer.rejected) {
        EXPECT_TRUE(seen.insert(rejected.grid).second) << rejected.grid.text();
        EXPECT_FALSE(rejected.text.empty());
        EXPECT_EQ(rejected.reason == PlanReason::slower, rejected.best.has_value());
        if (rejected.reason == PlanReason::floor) {
            EXPECT_GE(rejected.leastFloorSeconds, answer.best.front().stepSeconds);
        }
        EXPECT_NE(rejected.reason, PlanReason::open) << rejected.text;
    }
    EXPECT_EQ(seen.size(), 10U); // of 4 = tp x cp x pp x dp
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

TEST(Planner, CountsNoLayoutThatTheReaderRefuses)
{
    PlanRequest request = tinyJob({{"schedule.kind", "gpipe"}, {"training.recompute", "none"}, {"layout.zero_stage", "0"}});
    request.gpus = 8;
    request.fixed.emplace_back("layout.pp", "8"); // 4 layers for the six between the outer two
    const PlanAnswer none = plan(request, test::catalogue());
    EXPECT_EQ(none.covered, 0);
    ASSERT_EQ(none.rejected.size(), 1U);
    EXPECT_EQ(none.rejected.front().reason, PlanReason::rule);
    EXPECT_THAT(none.rejected.front().text, testing::HasSubstr("cannot fill pp 8"));
    request.fixed.back().second = "4";
    std::int64_t legal = 0;
    for (const auto& [tp, cp, dp] : {std::array{2, 1, 1}, std::array{1, 2, 1}, std::array{1, 1, 2}})
        for (const int microBatch : {1, 2, 4, 8})
            for (const bool sequenceParallel : {false, true}) {
                if (sequenceParallel && tp == 1)
                    continue; // says nothing
                ScenarioDocument document = request.document;
                for (const auto& [pointer, value] : request.fixed)
                    document.set(pointer, value);
                document.set("layout.tp", std::to_string(tp));
                document.set("layout.cp", std::to_string(cp));
                document.set("layout.dp", std::to_string(dp));
                document.set("training.micro_batch_size", std::to_string(microBatch));
                document.set("layout.sequence_parallel", sequenceParallel ? "true" : "false");
                legal += document.resolve(test::catalogue()).scenario ? 1 : 0;
            }
    EXPECT_EQ(plan(request, test::catalogue()).covered, legal);
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

TEST(Planner, AnswersWhyNotWithTermsThatAddUp)
{
    const PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    const PlanWhy why = whyNot(request, test::catalogue(), answer, {"layout.tp", "4"});
    ASSERT_TRUE(why.other);
    EXPECT_EQ(why.other->grid.tp, 4);
    double sum = 0;
    for (const auto& [part, seconds] : why.terms)
        sum += seconds;
    EXPECT_NEAR(sum, why.deltaSeconds, 1e-12);
    EXPECT_NEAR(why.deltaSeconds, why.other->stepSeconds - answer.best.front().stepSeconds, 1e-12);
    EXPECT_FALSE(whyNot(request, test::catalogue(), answer, {"layout.tp", "3"}).other);
}

TEST(Planner, ComparesAnotherBatchByTheToken)
{
    const PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    const PlanWhy why = whyNot(request, test::catalogue(), answer, {"training.global_batch_size", "16"});
    ASSERT_TRUE(why.other);
    EXPECT_EQ(why.tokensRatio, 2);
    EXPECT_NEAR(why.perToken, why.other->stepSeconds / (2 * answer.best.front().stepSeconds), 1e-12);
    EXPECT_LT(why.perToken, 1);
    EXPECT_EQ(whyAnswer(why)["tokens_ratio"], 2);
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

TEST(Planner, SaysOfGridsThatItDidNotComeToThatTheyAreOpen)
{
    PlanRequest request = tinyJob();
    request.gpus = 16;
    request.mostSimulated = 1; // and of a search that was cut short by a limit
    std::vector<PlanAnswer> answers{plan(request, test::catalogue())};
    for (const std::int64_t most : {0, 1000, 20'000, 60'000}) {
        std::int64_t looks = 0;
        const CancelScope scope([&] { return looks++ >= most; });
        request = tinyJob();
        request.jobs = 1;
        answers.push_back(plan(request, test::catalogue()));
    }
    int open = 0;
    for (const PlanAnswer& answer : answers)
        for (const RejectedGrid& rejected : answer.rejected) {
            open += rejected.reason == PlanReason::open ? 1 : 0;
            EXPECT_FALSE(rejected.text.empty()) << rejected.grid.text();
            EXPECT_THAT(rejected.text, testing::Not(testing::HasSubstr("inf")));
            if (rejected.reason == PlanReason::floor) {
                ASSERT_FALSE(answer.best.empty());
                EXPECT_GE(rejected.leastFloorSeconds, answer.best.front().stepSeconds) << rejected.text;
            }
        }
    EXPECT_GT(open, 10);
    EXPECT_FALSE(answers.front().proved);
}

TEST(Planner, HoldsAnEntryOfAListOfTheBaseBesideItsOtherEntries)
{
    PlanRequest request = tinyJob();
    hold(request, {"/cluster/tiers/0/bandwidth_gbs", "1"}, test::catalogue());
    const Cluster before = resolvedScenario(withSettings(tinyJob(), {}), test::catalogue()).cluster;
    const Cluster held = resolvedScenario(withSettings(request, {}), test::catalogue()).cluster;
    ASSERT_EQ(held.tiers.size(), before.tiers.size());
    EXPECT_EQ(held.tiers[0].latencyUs, before.tiers[0].latencyUs);
    EXPECT_EQ(held.tiers[0].bandwidthGBs, 1);
    EXPECT_NE(before.tiers[0].bandwidthGBs, 1);
    EXPECT_TRUE(plan(request, test::catalogue()).proved);
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

TEST(Planner, TakesNoLayoutThatTheRampOfItsBatchDoesNotReach)
{
    const auto valueOf = [](const PlannedLayout& layout, const char* pointer) {
        for (const auto& [key, value] : layout.settings)
            if (key == pointer)
                return value;
        return std::string();
    };
    PlanRequest request = tinyJob({{"schedule.kind", "\"1f1b\""}, {"training.recompute", "\"none\""}});
    const PlanAnswer whole = plan(request, test::catalogue());
    request.rampBatches = rampedBatches(request, test::catalogue(), 2, 2);
    EXPECT_EQ(request.rampBatches, (std::vector<int>{2, 4, 6}));
    const PlanAnswer ramped = plan(request, test::catalogue());
    ASSERT_FALSE(ramped.best.empty());
    EXPECT_TRUE(ramped.proved);
    // Every layout of which the replicas share each of the batches, and no other.
    double best = std::numeric_limits<double>::infinity();
    std::int64_t covered = 0;
    for (const auto& [dp, microBatch] : {std::pair{"1", "1"}, {"1", "2"}, {"2", "1"}}) {
        PlanRequest held = request;
        held.rampBatches.clear();
        held.fixed.emplace_back("layout.dp", dp);
        held.fixed.emplace_back("training.micro_batch_size", microBatch);
        const PlanAnswer answer = plan(held, test::catalogue());
        ASSERT_FALSE(answer.best.empty());
        best = std::min(best, answer.best.front().stepSeconds);
        covered += answer.covered;
    }
    EXPECT_EQ(ramped.best.front().stepSeconds, best);
    EXPECT_EQ(ramped.covered, covered);
    EXPECT_LT(ramped.covered, whole.covered);
    for (const PlannedLayout& layout : ramped.best)
        EXPECT_EQ(2 % (layout.grid.dp * std::stoi(valueOf(layout, "training.micro_batch_size"))), 0) << layout.grid.text();
    for (const RejectedGrid& rejected : ramped.rejected)
        if (rejected.grid.dp == 4) {
            EXPECT_EQ(rejected.reason, PlanReason::rule);
            EXPECT_THAT(rejected.text, testing::HasSubstr("while the batch is 2"));
        }
    EXPECT_THAT(ramped.heldFixed.at("/training/global_batch_size"), testing::HasSubstr("from 2 to 8 in 3 steps"));
    EXPECT_THROW(rampedBatches(request, test::catalogue(), 3, 2), Error);
    EXPECT_THROW(rampedBatches(request, test::catalogue(), 8, 2), Error);
    EXPECT_THROW(rampedBatches(request, test::catalogue(), 2, 0), Error);
    PlanRequest held = request; // what is held need be no job beside the rest of the file
    held.fixed.emplace_back("layout.dp", "64");
    EXPECT_EQ(rampedBatches(held, test::catalogue(), 2, 2), request.rampBatches);
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

TEST(Planner, RunsNoMoreLayersAgainThanItTakesWhereDenseLayersComeFirst)
{
    ScenarioDocument document = ScenarioDocument::parse(kTinyJob);
    for (const auto& [pointer, value] : std::initializer_list<PlanSetting>{{"model.num_hidden_layers", "12"},
                                                                           {"model.num_experts", "32"},
                                                                           {"model.num_experts_per_tok", "4"},
                                                                           {"model.moe_intermediate_size", "2048"},
                                                                           {"model.first_k_dense_replace", "4"},
                                                                           {"training.sequence_length", "1024"},
                                                                           {"training.micro_batch_size", "2"},
                                                                           {"layout.tp", "1"},
                                                                           {"layout.pp", "1"},
                                                                           {"layout.dp", "2"},
                                                                           {"layout.zero_stage", "3"},
                                                                           {"layout.ep", "1"}})
        document.set(pointer, value);
    std::vector<double> peaks(1, 0);
    for (int layers = 1; layers <= 12; ++layers) {
        document.set("training.recompute", R"({"kind":"full","layers":)" + std::to_string(layers) + "}");
        peaks.push_back(simulate(resolvedScenario(document, test::catalogue()))->metrics().peakMemoryGib);
    }
    document.set("training.recompute", R"({"kind":"full","layers":1})");
    for (int needed = 2; needed < 12; ++needed) {
        PlanRequest request{.document = document, .freed = {"training.recompute"}};
        for (const char* held : {"layout.tp", "layout.cp", "layout.pp", "layout.ep", "layout.etp"})
            request.fixed.emplace_back(held, "1");
        for (const char* held : {"layout.dp", "layout.dp_shard", "training.micro_batch_size"})
            request.fixed.emplace_back(held, "2");
        request.fixed.emplace_back("layout.zero_stage", "3");
        request.marginGib = 80 - peaks[asIndex(needed)] - 1e-6;
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty()) << needed;
        int least = 1; // of what fits
        while (peaks[asIndex(least)] > peaks[asIndex(needed)] + 1e-6)
            ++least;
        const auto& settings = answer.best.front().settings;
        const auto again =
            std::find_if(settings.begin(), settings.end(), [](const PlanSetting& s) { return s.first == "training.recompute"; });
        ASSERT_NE(again, settings.end());
        EXPECT_EQ(again->second, R"({"kind":"full","layers":)" + std::to_string(least) + "}") << needed;
    }
}

TEST(Planner, NamesTheLimitsOfTheSearchThatLeaveSomethingOut)
{
    const auto held = [](const std::vector<PlanSetting>& fixed, const char* pointer) {
        PlanRequest request = tinyJob(fixed);
        request.part = 15, request.parts = 16; // what is held does not depend on the part
        const PlanAnswer answer = plan(request, test::catalogue());
        const auto found = answer.heldFixed.find(pointer);
        return found == answer.heldFixed.end() ? std::string() : found->second;
    };
    EXPECT_EQ(held({}, "/training/micro_batch_size"), "");
    EXPECT_EQ(held({{"training.global_batch_size", "128"}}, "/training/micro_batch_size"), "\"at most 64\"");
    EXPECT_EQ(held({{"training.micro_batch_size", "2"}}, "/training/micro_batch_size"), "2");
    EXPECT_EQ(held({}, "/schedule/virtual_stages"), "");
    EXPECT_EQ(held({{"model.num_hidden_layers", "160"}}, "/schedule/virtual_stages"), "\"at most 64\"");
    EXPECT_THAT(held({}, "/schedule/kind"), testing::HasSubstr("pp is 1"));
    EXPECT_THAT(held({{"layout.pp", "2"}}, "/schedule/kind"), testing::Not(testing::HasSubstr("pp is 1")));
    EXPECT_THAT(held({}, "/training/recompute"), testing::HasSubstr("its usual modules"));
    EXPECT_THAT(
        held({{"training.recompute.kind", "selective"}, {"training.recompute.modules", R"(["mlp"])"}}, "/training/recompute"),
        testing::HasSubstr("one set"));
    PlanRequest request{.document = ScenarioDocument::parse(kTinyJob)};
    request.document.set("training.recompute", R"({"kind":"selective","modules":["mlp"]})");
    EXPECT_THAT(plan(request, test::catalogue()).heldFixed.at("/training/recompute"), testing::HasSubstr("the scenario gives"));
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

TEST(Planner, RefusesWhatCannotBeSearched)
{
    PlanRequest request = tinyJob();
    request.freed = {"training.sequence_length"};
    EXPECT_THROW(plan(request, test::catalogue()), Error);
    request = tinyJob();
    request.framework = "megatrn";
    EXPECT_THROW(plan(request, test::catalogue()), Error);
    EXPECT_THROW(plan(tinyJob({{"layout.tp", "\"two\""}}), test::catalogue()), Error);
    EXPECT_TRUE(plan(tinyJob({{"layout.tp", "3"}}), test::catalogue()).best.empty());
}

/// A size that is held is not quietly another.
TEST(Planner, HoldsWhatIsSaidOfExpertsThatADenseModelDoesNotHave)
{
    PlanRequest request = tinyJob({{"layout.ep", "2"}});
    try {
        plan(request, test::catalogue());
        ADD_FAILURE() << "experts of a model that has none";
    } catch (const ScenarioError& error) {
        EXPECT_NE(std::string(error.what()).find("/layout/ep: 2 needs experts"), std::string::npos) << error.what();
    }
    request = tinyJob({{"layout.etp", "2"}, {"layout.pp", "4"}});
    request.gpus = 4;
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_TRUE(answer.best.empty());
    ASSERT_FALSE(answer.rejected.empty());
    EXPECT_EQ(answer.rejected.front().text.find("/layout/etp: experts are laid out as"), 0U) << answer.rejected.front().text;
}

TEST(Planner, KeepsToWhatAFrameworkCanDo)
{
    PlanRequest request = tinyJob();
    request.framework = "megatron";
    const PlanAnswer answer = plan(request, test::catalogue());
    for (const PlannedLayout& layout : answer.best)
        for (const auto& [pointer, value] : layout.settings) {
            if (pointer == "schedule.kind") {
                EXPECT_THAT(value, testing::AnyOf("\"1f1b\"", "\"interleaved-1f1b\""));
            }
        }
    EXPECT_LT(answer.covered, plan(tinyJob(), test::catalogue()).covered);
}

/// ZB-2p orders its passes by what they hold: with more layers run again it may hold more.
TEST(Planner, LooksAtEachDepthWhereTheOrderIsPlannedByCost)
{
    ScenarioDocument document = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1, "model": {"base": "deepseek-v2-lite"},
      "cluster": {"base": "h100-sxm-ib400", "nodes": 1}, "layout": {"tp": 1, "pp": 4, "dp": 1},
      "schedule": {"kind": "zb-2p", "virtual_stages": 1},
      "training": {"sequence_length": 1024, "micro_batch_size": 1, "global_batch_size": 16, "recompute": "none",
                   "stack": "megatron-te-2024"}})");
    double least = 1e9;
    for (int layers = 1; layers <= 7; ++layers) {
        document.set("training.recompute", R"({"kind": "full", "layers": )" + std::to_string(layers) + "}");
        least = std::min(least, simulate(resolvedScenario(document, test::catalogue()))->metrics().peakMemoryGib);
    }
    PlanRequest request{.document = document};
    for (const char* key : {"layout.tp", "layout.cp", "layout.dp", "training.micro_batch_size"})
        request.fixed.emplace_back(key, "1");
    request.fixed.insert(request.fixed.end(), {{"layout.pp", "4"}, {"schedule.kind", "zb-2p"}, {"schedule.virtual_stages", "1"}});
    request.marginGib = 80 - least - 1e-6;
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    EXPECT_LE(answer.best.front().peakMemoryGib, least + 1e-6);
}

TEST(Planner, HoldsNoBlockOfWhatIsSearchedNorAPartOfIt)
{
    const auto refusal = [](const PlanSetting& fixed, int gpus = 0) {
        PlanRequest request = tinyJob({fixed});
        request.gpus = gpus;
        try {
            (void)plan(request, test::catalogue());
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal({"layout", R"({"tp":2})"}), testing::HasSubstr("as layout.tp"));
    EXPECT_THAT(refusal({"/schedule", R"({"kind":"gpipe"})"}), testing::HasSubstr("as schedule.kind"));
    EXPECT_THAT(refusal({"training.recompute.layers", "30"}), testing::HasSubstr("training.recompute is searched as a whole"));
    EXPECT_THAT(refusal({"training.recompute.kind", "full"}), testing::HasSubstr("training.recompute is searched as a whole"));
    EXPECT_THAT(refusal({"cluster.nodes", "4"}, 16), testing::HasSubstr("16 GPUs are 2 nodes of 8"));
    EXPECT_EQ(refusal({"cluster.nodes", "2"}, 16), "");
}

TEST(Planner, TellsMemoryAloneWhereMemoryIsWhatCounts)
{
    GridRecord record{.legal = 1, .isSurveyed = true, .bestKey = 5.5 * 1024 * 1024, .best = PlannedLayout{}};
    PlannedLayout first;
    first.use[kStepParts[0]] = 5'000'000;
    const RejectedGrid of = rejectionOf(record, &first, {.bestKey = 5.0 * 1024 * 1024, .byHeadroom = true});
    EXPECT_EQ(of.reason, PlanReason::slower);
    EXPECT_EQ(of.text, "the best of it that was simulated holds 5.5 MiB, 512.0 KiB more");
}

namespace {

PlanRequest requestOf(const char* job, int gpus, std::vector<PlanSetting> fixed)
{
    PlanRequest request{.document = ScenarioDocument::parse(job), .fixed = std::move(fixed)};
    request.gpus = gpus;
    request.jobs = 1;
    return request;
}

} // namespace

TEST(Planner, RunsBlocksOnOnePipelineRankWhereTheyHideExpertsTransfers)
{
    constexpr const char* kExperts = R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"vocab_size": 32000, "max_position_embeddings": 8192, "num_hidden_layers": 4, "hidden_size": 2048,
                "intermediate_size": 4096, "num_attention_heads": 16, "num_key_value_heads": 4, "num_experts": 16,
                "num_experts_per_tok": 4, "moe_intermediate_size": 1024},
      "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 1},
      "training": {"sequence_length": 4096, "global_batch_size": 64, "micro_batch_size": 1}})";
    const std::vector<PlanSetting> held{{"layout.dp", "16"},
                                        {"layout.ep", "16"},
                                        {"layout.zero_stage", "1"},
                                        {"layout.dp_shard", "16"},
                                        {"training.recompute", "none"}};
    const PlanAnswer answer = plan(requestOf(kExperts, 16, held), test::catalogue());
    const auto bestOf = [&](const char* kind) {
        std::vector<PlanSetting> fixed = held;
        fixed.emplace_back("schedule.kind", kind);
        return plan(requestOf(kExperts, 16, fixed), test::catalogue()).best.front().stepSeconds;
    };
    ASSERT_TRUE(answer.proved);
    EXPECT_LT(bestOf("dualpipe-v"), 0.95 * bestOf("1f1b"));
    EXPECT_EQ(answer.best.front().stepSeconds, bestOf("dualpipe-v"));
    EXPECT_THAT(answer.heldFixed.at("/schedule/kind"), testing::HasSubstr("dualpipe-v where experts are spread"));
    EXPECT_THAT(plan(tinyJob(), test::catalogue()).heldFixed.at("/schedule/kind"),
                testing::Not(testing::HasSubstr("dualpipe-v")));
}

TEST(Planner, SearchesTwoCopiesOnAsManyRanksAsTheirOuterStagesCanBeWithoutLayers)
{
    const PlanAnswer answer =
        plan(requestOf(kTinyJob, 6, {{"schedule.kind", "dualpipe"}, {"layout.pp", "6"}, {"training.global_batch_size", "12"}}),
             test::catalogue());
    EXPECT_GT(answer.covered, 0);
    EXPECT_FALSE(answer.best.empty());
}

TEST(Planner, TakesAListOfStagesThatIsLongerThanItWouldLookItself)
{
    PlanRequest request = requestOf(kTinyJob, 2, {{"layout.pp", "2"}});
    request.document.set("schedule.layers_per_stage", "[0,1,0,1,1,0,1,0]");
    const PlanAnswer ofFile = plan(request, test::catalogue());
    request.fixed.emplace_back("schedule.layers_per_stage", "[0,1,0,1,1,0,1,0]");
    const PlanAnswer held = plan(request, test::catalogue());
    EXPECT_GT(held.covered, 0);
    ASSERT_FALSE(held.best.empty());
    EXPECT_GT(ofFile.covered, held.covered) << "other numbers of stages, too";
}

TEST(Planner, HoldsToThePlannedOrdersMemoryCap)
{
    PlanRequest request = requestOf(kTinyJob, 4,
                                    {{"layout.pp", "4"},
                                     {"schedule.kind", "auto"},
                                     {"schedule.virtual_stages", "1"},
                                     {"training.recompute", "none"},
                                     {"training.micro_batch_size", "1"},
                                     {"training.global_batch_size", "16"}});
    const PlanAnswer free = plan(request, test::catalogue());
    ASSERT_FALSE(free.best.empty());
    const auto peakOf = [&](const PlanAnswer& answer) { return answer.best.front().peakMemoryGib; };
    const double cap = 0.95 * peakOf(free);
    request.document.set("schedule.memory_cap_gib", std::to_string(cap));
    const PlanAnswer capped = plan(request, test::catalogue());
    ASSERT_FALSE(capped.best.empty());
    EXPECT_LE(peakOf(capped), cap);
    EXPECT_EQ(capped.heldFixed.count("/schedule/memory_cap_gib"), 1U);
    request.marginGib = 80 - peakOf(capped) * (1 + 1e-9); // as much as that takes is enough
    const PlanAnswer tight = plan(request, test::catalogue());
    ASSERT_FALSE(tight.best.empty());
    EXPECT_EQ(tight.best.front().stepSeconds, capped.best.front().stepSeconds);
    request.marginGib = 0;
    request.document.set("schedule.memory_cap_gib", "0.001");
    EXPECT_TRUE(plan(request, test::catalogue()).best.empty()) << "what misses its cap does not fit";
}

TEST(Planner, CountsNoRecomputationThatIsDeeperThanItsChunks)
{
    const auto answerOf = [](const char* recompute) {
        return plan(requestOf(kTinyJob, 4, {{"training.recompute", recompute}}), test::catalogue());
    };
    const PlanAnswer tooDeep = answerOf(R"({"kind":"full","layers":9})");
    EXPECT_EQ(tooDeep.covered, 0);
    ASSERT_FALSE(tooDeep.rejected.empty());
    EXPECT_TRUE(std::any_of(tooDeep.rejected.begin(), tooDeep.rejected.end(), [](const RejectedGrid& grid) {
        return grid.text.find("9 layers of each chunk cannot be recomputed") != std::string::npos;
    }));
    const PlanAnswer ofAll = answerOf(R"({"kind":"full","layers":4})"), ofOne = answerOf(R"({"kind":"full","layers":1})");
    EXPECT_GT(ofAll.covered, 0);
    EXPECT_LT(ofAll.covered, ofOne.covered);
    EXPECT_EQ(ofAll.best.front().grid.pp, 1);
}

TEST(Planner, SaysOfHeldExpertRanksWhatTheyDoNotDivide)
{
    const auto problemOf = [](const char* ep) -> std::string {
        PlanRequest request = requestOf(kTinyJob, 16, {{"layout.ep", ep}});
        request.document.set("model.num_experts", "8");
        request.document.set("model.num_experts_per_tok", "2");
        try {
            requirePlannable(request, test::catalogue());
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_THAT(problemOf("3"), testing::HasSubstr("layout.ep is to be held at 3, which does not divide the model's 8 experts"));
    EXPECT_THAT(problemOf("16"), testing::HasSubstr("does not divide the model's 8 experts; nearest: 8"));
    EXPECT_EQ(problemOf("4"), "");
    EXPECT_THAT(notDividing("layout.etp", "3", 16), testing::HasSubstr("3 does not divide 16"));
}
