// Steps of recordings in which nothing marks them.
#include "sim/recovery/steps.h"

#include "sim/recovery/recover.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t kForward = 0, kBackward = 1, kOptimizer = 2, kReduce = 3, kLogging = 4;

/// A rank of data parallelism: four layers forwards, four backwards with a sum of gradients behind each, the optimizer.
class Recorded {
public:
    Recorded() { m_evidence.names = {"fwd", "bwd", "adam", "ncclAllReduce", "log"}; }

    void step(bool isCut = false)
    {
        for (int layer = 0; layer < 4; ++layer)
            work(kForward, 100);
        for (int layer = 0; layer < (isCut ? 3 : 4); ++layer) {
            work(kBackward, 200);
            m_rank.comms.push_back({.startNs = m_now,
                                    .endNs = m_now + 50,
                                    .exchange = sim::Exchange::allReduce,
                                    .group = 0,
                                    .bytes = 4096 * (layer + 1),
                                    .name = kReduce});
        }
        if (!isCut)
            work(kOptimizer, 100);
    }
    void work(std::uint32_t name, std::int64_t ns)
    {
        m_rank.work.push_back({.startNs = m_now, .endNs = m_now + ns, .name = name});
        m_now += ns;
    }
    std::size_t steps()
    {
        m_rank.rank = 0;
        m_evidence.ranks = {m_rank};
        m_evidence.groups = {{.name = "0", .description = {}, .ranks = {0, 1}, .evidence = {}}};
        return sim::recoverSteps(m_evidence, true).steps.size();
    }

private:
    sim::RunEvidence m_evidence;
    sim::RankEvidence m_rank;
    std::int64_t m_now = 1000;
};

TEST(Steps, ThatNothingMarksAreFoundByWhatComesAgain)
{
    for (const std::size_t count : {2U, 3U, 5U}) {
        Recorded recorded;
        for (std::size_t i = 0; i < count; ++i)
            recorded.step();
        EXPECT_EQ(recorded.steps(), count);
    }
}

TEST(Steps, MayRunAKernelNowAndThenAndEndCutShort)
{
    Recorded logged;
    for (int i = 0; i < 4; ++i) {
        logged.step();
        if (i == 3)
            logged.work(kLogging, 1);
    }
    EXPECT_EQ(logged.steps(), 4U);
    Recorded cut;
    for (int i = 0; i < 4; ++i)
        cut.step(i == 3);
    EXPECT_EQ(cut.steps(), 4U);
}

TEST(Steps, ThatNothingMarksAreCountedFromTheEndWhereARankBeganLater)
{
    // Periods of three collectives; the second rank lacks the first of all.
    sim::RunEvidence evidence;
    evidence.names = {"kernel", "ncclAllReduce"};
    evidence.groups = {{.name = "0", .description = {}, .ranks = {0, 1}, .evidence = {}}};
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::int64_t k = rank; k < 12; ++k) {
            of.work.push_back({.startNs = k * 1000 + 100, .endNs = k * 1000 + 900, .name = 0});
            of.comms.push_back({.startNs = k * 1000,
                                .endNs = k * 1000 + 50,
                                .exchange = sim::Exchange::allReduce,
                                .group = 0,
                                .sequence = k,
                                .bytes = 4096 * (k % 3 + 1),
                                .name = 1});
        }
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence, false);
    ASSERT_EQ(steps.steps.size(), 3U);
    for (const sim::RecoveredStep& step : steps.steps)
        EXPECT_EQ(step.rankStartNs[0], step.rankStartNs[1]);
    EXPECT_EQ(steps.steps.front().rankStartNs[1], 3000);
}

/// Two ranks with marks: begin and end of each step on each.
sim::RecoveredSteps stepsOfMarks(const std::vector<std::array<std::pair<std::int64_t, std::int64_t>, 2>>& steps,
                                 bool isOneClock = true)
{
    sim::RunEvidence evidence;
    evidence.names = {"kernel"};
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::size_t k = 0; k < steps.size(); ++k) {
            const auto& [begin, end] = steps[k][static_cast<std::size_t>(rank)];
            of.steps.push_back({.number = static_cast<std::int64_t>(k), .startNs = begin, .endNs = end});
            of.work.push_back({.startNs = begin, .endNs = end, .name = 0});
        }
    }
    return sim::recoverSteps(evidence, isOneClock);
}

TEST(Steps, ThatNothingMarksEndWithAPartWhereACallNeverEnded)
{
    // One collective ended after 1 ms, one after 0.5 ms, when the dump was made as the third stood still.
    const sim::RecoveredSteps steps = sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/nccl/flight_rank_1.json"})).steps;
    ASSERT_EQ(steps.steps.size(), 2U);
    EXPECT_FALSE(steps.areMarked);
    EXPECT_FALSE(steps.areGuessed);
    EXPECT_EQ(steps.steps[0].unlikeText(), "");
    EXPECT_EQ(steps.steps[1].unlikeText(), "recorded in part");
    EXPECT_NEAR(steps.medianSeconds, 1e-3, 1e-9);
    EXPECT_THAT(steps.problems, testing::ElementsAre("step 1 was recorded in part only: no means are taken over it"));
}

TEST(Steps, ThatOverlapAddUpToWhatWasRecorded)
{
    // Rank 0 runs ahead.
    const sim::RecoveredSteps steps =
        stepsOfMarks({{{{0, 100}, {0, 160}}}, {{{100, 220}, {160, 300}}}, {{{220, 420}, {300, 450}}}});
    ASSERT_EQ(steps.steps.size(), 3U);
    double sum = 0;
    for (const sim::RecoveredStep& step : steps.steps)
        sum += step.seconds();
    EXPECT_NEAR(sum, 450e-9, 1e-15);
    EXPECT_NEAR(steps.steps[0].seconds(), 100e-9, 1e-15);
    EXPECT_NEAR(steps.steps[1].seconds(), 120e-9, 1e-15);
    EXPECT_NEAR(steps.medianSeconds, 120e-9, 1e-15);
    EXPECT_EQ(steps.steps[1].endNs, 300) << "what is drawn of it stays";
    EXPECT_EQ(steps.steps[1].rankStartNs[1], 160);
    EXPECT_TRUE(steps.steps[0].overlapsNext());
    EXPECT_FALSE(steps.steps[2].overlapsNext());
    EXPECT_THAT(steps.problems, testing::ElementsAre(testing::HasSubstr("steps overlap: ")));
    EXPECT_THAT(steps.problems, testing::ElementsAre(testing::HasSubstr("by up to 80")));

    const sim::RecoveredSteps apart = stepsOfMarks({{{{0, 100}, {0, 110}}}, {{{115, 220}, {112, 230}}}});
    EXPECT_NEAR(apart.steps[0].seconds(), 112e-9, 1e-15) << "until the next one begins";
    EXPECT_TRUE(apart.problems.empty());
    const sim::RecoveredSteps clocks = stepsOfMarks({{{{0, 100}, {1000, 1160}}}, {{{100, 220}, {1160, 1300}}}}, false);
    EXPECT_NEAR(clocks.steps[0].seconds(), 160e-9, 1e-15) << "of the longest rank";
    EXPECT_TRUE(clocks.problems.empty());
}

TEST(Steps, AreFirstLookedAtWhereOneIsLikeMost)
{
    const auto typical = [](const std::vector<std::int64_t>& lengths) {
        std::vector<std::array<std::pair<std::int64_t, std::int64_t>, 2>> steps;
        std::int64_t at = 0;
        for (const std::int64_t length : lengths) {
            steps.push_back({std::pair(at, at + length), std::pair(at, at + length)});
            at += length;
        }
        return stepsOfMarks(steps).typical();
    };
    EXPECT_EQ(typical({1000, 1000, 1000, 1000, 1000}), 2U);
    EXPECT_EQ(typical({1000, 1002, 1005, 1001, 1003}), 2U) << "as long as the others";
    EXPECT_EQ(typical({1000, 1001, 3000, 1000, 1000}), 1U) << "the one in the middle is unlike the others";
    EXPECT_EQ(typical({3490, 2000, 2680}), 2U);
    EXPECT_EQ(typical({2'000'000, 1000, 1001}), 1U) << "the first compiled";
    EXPECT_EQ(typical({1700}), 0U);
    EXPECT_EQ(sim::RecoveredSteps().typical(), 0U);
}

TEST(Steps, OfOneOptimizerAreOne)
{
    // Two micro-batches whose sums are alike, and the optimizer behind both.
    Recorded recorded;
    recorded.step(true);
    recorded.step(true);
    recorded.work(kOptimizer, 100);
    EXPECT_EQ(recorded.steps(), 1U);
}

} // namespace
