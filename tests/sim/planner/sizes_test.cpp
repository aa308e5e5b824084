// The fewest GPUs that are done in time.
#include "sim/planner/sizes.h"

#include "sim/answers/plan.h"
#include "sim/cancel.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace sim;

namespace {

constexpr const char* kRunJob = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8,
            "num_key_value_heads": 4, "vocab_size": 4096, "max_position_embeddings": 1024},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 2, "pp": 2, "dp": 1},
  "training": {"sequence_length": 512, "global_batch_size": 32, "tokens": 1e9}
})";

PlanRequest runOfTokens()
{
    return {.document = ScenarioDocument::parse(kRunJob), .fixed = {{"training.recompute", "none"}, {"schedule.kind", "1f1b"}}};
}

/// Of the best layout on so many GPUs.
double bestDays(int gpus)
{
    PlanRequest request = runOfTokens();
    request.gpus = gpus;
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_TRUE(answer.proved) << gpus;
    return answer.best.empty()
               ? HUGE_VAL
               : runDays(resolvedScenario(answer.firstDocument(request), test::catalogue()), answer.best.front().stepSeconds);
}

} // namespace

TEST(Sizes, AreTheFirstThatIsInTimeAndProvedSo)
{
    const std::vector<int> sizes{1, 2, 4, 8, 16};
    std::vector<double> days;
    for (const int gpus : sizes)
        days.push_back(bestDays(gpus));
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
        if (days[i + 1] >= days[i])
            continue; // more are not faster here
        const double between = std::sqrt(days[i] * days[i + 1]);
        const SizeAnswer answer =
            fewestGpus({.job = runOfTokens(), .days = between, .sizes = {16, 8, 4, 2, 1, 1}}, test::catalogue());
        std::size_t first = 0;
        while (days[first] > between)
            ++first;
        EXPECT_EQ(answer.gpus, sizes[first]);
        EXPECT_TRUE(answer.isFewest);
        EXPECT_DOUBLE_EQ(answer.bestDays, days[first]) << "the best of that size, not the first that was in time";
        EXPECT_TRUE(answer.best.proved);
        ASSERT_EQ(answer.tried.size(), first + 1);
        for (std::size_t j = 0; j < first; ++j) {
            EXPECT_FALSE(answer.tried[j].meets);
            EXPECT_TRUE(answer.tried[j].proved);
            EXPECT_GT(answer.tried[j].leastDays, between);
            EXPECT_LE(answer.tried[j].leastDays, days[j] * (1 + 1e-9)) << "what is least is no more than the best takes";
        }
    }
}

TEST(Sizes, AreWorthTheirPriceWhereNoOtherIsDoneSoonerForNoMore)
{
    const auto of = [](double tokensPerSecond, double gpuHours) {
        return PlannedLayout{.settings = {}, .tokensPerSecond = tokensPerSecond, .gpuHours = gpuHours};
    };
    // The third is later than the second and costs as much, the last is sooner and cheaper than the fourth.
    const std::vector<PlannedLayout> layouts{of(1, 10), of(2, 12), of(1.9, 12), of(4, 20), of(4, 19)};
    EXPECT_THAT(daysAgainstHours(layouts), testing::ElementsAre(4, 1, 0));
    EXPECT_TRUE(daysAgainstHours({}).empty());

    PlanRequest request = runOfTokens();
    request.price = 2;
    std::vector<PlanAnswer> plans;
    for (const int gpus : {1, 2, 4}) {
        request.gpus = gpus;
        plans.push_back(plan(request, test::catalogue()));
        const PlannedLayout& best = plans.back().best.front();
        EXPECT_DOUBLE_EQ(best.runDays, bestDays(gpus));
        EXPECT_DOUBLE_EQ(best.cost, 2 * 24 * gpus * best.runDays);
    }
    const Answer answer = sizesAnswer(plans, {8}, request);
    EXPECT_EQ(answer.at("sizes").size(), 3U);
    ASSERT_FALSE(answer.at("pareto").empty());
    for (std::size_t i = 1; i < answer.at("pareto").size(); ++i) {
        EXPECT_GT(answer.at("pareto")[i].at("run_days"), answer.at("pareto")[i - 1].at("run_days"));
        EXPECT_LT(answer.at("pareto")[i].at("cost"), answer.at("pareto")[i - 1].at("cost"));
    }
}

TEST(Sizes, WhereNoneIsInTimeSayWhatEachTakesAtLeast)
{
    const SizeAnswer answer = fewestGpus({.job = runOfTokens(), .days = 1e-6, .sizes = {1, 2}}, test::catalogue());
    EXPECT_EQ(answer.gpus, 0);
    EXPECT_FALSE(answer.isFewest);
    ASSERT_EQ(answer.tried.size(), 2U);
    for (const TriedSize& size : answer.tried) {
        EXPECT_FALSE(size.meets);
        EXPECT_TRUE(size.proved);
        EXPECT_GT(size.leastDays, 1e-6);
    }
    const Answer json = sizeAnswer(answer, runOfTokens());
    EXPECT_EQ(json.at("gpus"), 0);
    EXPECT_TRUE(json.at("deadline").at("run_days").is_null());
    EXPECT_EQ(json.at("deadline").at("tried").size(), 2U);
}

TEST(Sizes, ARunOfUnknownLengthHasNoDeadline)
{
    PlanRequest request = runOfTokens();
    request.document.erase("training.tokens");
    try {
        fewestGpus({.job = request, .days = 3, .sizes = {1}}, test::catalogue());
        FAIL() << "there is nothing to count days of";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("training/tokens"));
    }
    EXPECT_THROW(fewestGpus({.job = runOfTokens(), .days = 0, .sizes = {1}}, test::catalogue()), Error);
}

TEST(Sizes, UsualOnesAreOfNodesAndPartsOfOne)
{
    EXPECT_THAT(usualSizes(8, 64), testing::ElementsAre(1, 2, 4, 8, 16, 24, 32, 48, 64));
    EXPECT_THAT(usualSizes(8, 20), testing::ElementsAre(1, 2, 4, 8, 16));
    EXPECT_THAT(usualSizes(72, 150), testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 72, 144));
    EXPECT_THAT(usualSizes(8, 2), testing::ElementsAre(1, 2));
}

TEST(Sizes, AreThoseOfWhichALayoutIsLegal)
{
    PlanRequest request = runOfTokens();
    request.document.set("training.global_batch_size", "48");
    const auto daysOn = [&](int gpus) {
        PlanRequest of = request;
        of.gpus = gpus;
        return runDays(resolvedScenario(request.document, test::catalogue()),
                       plan(of, test::catalogue()).best.front().stepSeconds);
    };
    const double two = daysOn(2), three = daysOn(3);
    ASSERT_LT(three, two);
    const SizeAnswer answer = fewestGpus({.job = request, .days = std::sqrt(two * three), .most = 16}, test::catalogue());
    EXPECT_EQ(answer.gpus, 3) << "between the powers of two";
    EXPECT_TRUE(answer.isFewest);
    request.fixed.emplace_back("layout.dp", "6");
    const std::vector<int> held = plannedSizes(request, test::catalogue(), 50);
    EXPECT_THAT(held, testing::Contains(12));
    EXPECT_THAT(held, testing::Each(testing::ResultOf([](int gpus) { return gpus % 6; }, 0)));
    request.fixed.emplace_back("layout.tp", "3");
    try {
        fewestGpus({.job = request, .days = 1, .most = 64}, test::catalogue());
        FAIL() << "three ranks share no eight heads";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("num_attention_heads 8"));
    }
}

TEST(Sizes, AreEachLookedAtWhereMoreGpusAreSlower)
{
    // Five heads, five layers: which sizes divide them decides, and how long it takes goes up and down.
    PlanRequest request = runOfTokens();
    for (const auto& [key, value] : {std::pair{"model.num_hidden_layers", "5"},
                                     {"model.hidden_size", "640"},
                                     {"model.intermediate_size", "1280"},
                                     {"model.num_attention_heads", "5"},
                                     {"model.num_key_value_heads", "5"},
                                     {"training.global_batch_size", "45"},
                                     {"layout.tp", "1"},
                                     {"layout.pp", "1"}})
        request.document.set(key, value);
    constexpr int kMost = 24;
    std::map<int, double> days;
    for (int gpus = 1; gpus <= kMost; ++gpus) {
        PlanRequest of = request;
        of.gpus = gpus;
        if (const PlanAnswer answer = plan(of, test::catalogue()); !answer.best.empty() && (gpus < 8 || gpus % 8 == 0))
            days[gpus] = answer.best.front().runDays;
    }
    bool isUneven = false;
    for (const auto& [gpus, takes] : days) {
        int fewest = gpus;
        for (const auto& [other, asLong] : days)
            if (asLong <= takes * 1.0001)
                fewest = std::min(fewest, other);
        isUneven = isUneven || fewest != gpus;
        const SizeAnswer answer = fewestGpus({.job = request, .days = takes * 1.0001, .most = kMost}, test::catalogue());
        EXPECT_EQ(answer.gpus, fewest) << "in what " << gpus << " take";
        EXPECT_TRUE(answer.isFewest);
        for (const TriedSize& tried : answer.tried)
            EXPECT_TRUE(days.contains(tried.gpus)) << tried.gpus << ": parts of a node, whole nodes";
    }
    EXPECT_TRUE(isUneven) << "else the first power of two would do";
}

TEST(Sizes, BetweenThoseUsualAreLookedAtToo)
{
    PlanRequest request = runOfTokens(); // 32 sequences: what shares them out
    request.document.set("training.global_batch_size", "1000");
    request.document.set("cluster.gpus_per_node", "1");
    PlanRequest of = request;
    const auto daysOn = [&](int gpus) {
        of.gpus = gpus;
        return plan(of, test::catalogue()).best.front().runDays;
    };
    const double takes = daysOn(50);
    ASSERT_LT(takes, daysOn(48));
    const SizeAnswer answer = fewestGpus({.job = request, .days = takes, .most = 64}, test::catalogue());
    EXPECT_EQ(answer.gpus, 50) << "neither a power of two nor three times one";
    for (const TriedSize& size : answer.tried)
        EXPECT_TRUE(size.proved) << size.gpus << " GPUs, at least " << size.leastDays << " of " << takes << " days";
    EXPECT_TRUE(answer.isFewest);
}

TEST(Sizes, CountThoseWhoseReplicasShareASmallerBatch)
{
    PlanRequest job = runOfTokens();
    job.fixed.insert(job.fixed.end(), {{"layout.tp", "1"}, {"layout.pp", "1"}, {"layout.cp", "1"}});
    EXPECT_THAT(plannedSizes(job, test::catalogue(), 12), testing::Not(testing::Contains(12))) << "32 sequences";
    job.freed = {"training.global_batch_size"};
    EXPECT_THAT(plannedSizes(job, test::catalogue(), 12), testing::Contains(12));
    const SizeAnswer answer = fewestGpus({.job = job, .days = 1e6, .sizes = {12}}, test::catalogue());
    ASSERT_EQ(answer.gpus, 12);
    EXPECT_DOUBLE_EQ(answer.bestDays, answer.best.best.front().runDays);
}

TEST(Sizes, StoppedSayWhatWasFound)
{
    const CancelScope scope([] { return true; });
    const SizeAnswer answer = fewestGpus({.job = runOfTokens(), .days = 1, .sizes = {1, 2}}, test::catalogue());
    EXPECT_TRUE(answer.stopped);
    EXPECT_EQ(answer.gpus, 0);
    EXPECT_FALSE(answer.isFewest);
}
