#include "live/stream/as_if_parallel.h"
#include "live/stream/difference.h"
#include "run_for_tests.h"
#include "sim/error.h"
#include "spans_of_simulation.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

namespace {

using live::SpanTrack;
using live::TimeUse;
using testing::HasSubstr;

std::int64_t sumOf(const TimeUse& use)
{
    return use.computeNs + use.bubbleNs + use.hostNs +
           std::accumulate(use.transferNs.begin(), use.transferNs.end(), std::int64_t{0}) +
           std::accumulate(use.waitNs.begin(), use.waitNs.end(), std::int64_t{0});
}

TEST(TimeUse, EveryInstantCountsOnce)
{
    const test::SmallKinds kinds;
    const std::vector<live::RankSpan> step = {
        {0, test::computeSpan(kinds, 0, 100)},
        {0, test::commSpan(SpanTrack::dp, kinds.allReduce, 50, 150, 200, 1)}, // hidden, then 50 of waiting, 50 of transfer
        {0, test::commSpan(SpanTrack::receive, kinds.receive, 120, 260, 280, 2)},
        {0, test::computeSpan(kinds, 300, 400)},
        {1, test::commSpan(SpanTrack::dp, kinds.allReduce, 150, 150, 200, 1)},
        {1, test::computeSpan(kinds, 460, 500)},
    };
    const std::vector<TimeUse> use = live::measuredTimeUse(step, std::vector<int>{0, 0});
    EXPECT_EQ(use[0].stepNs, 500);
    EXPECT_EQ(use[0].computeNs, 200);
    EXPECT_EQ(use[0].transferNs[4], 50);
    EXPECT_EQ(use[0].transferNs[3], 20);
    EXPECT_EQ(use[0].waitNs[4], 50) << "waiting within the stage counts before the bubble";
    EXPECT_EQ(use[0].bubbleNs, 60);
    EXPECT_EQ(use[0].hostNs, 20 + 100);
    EXPECT_EQ(use[1].computeNs, 40);
    EXPECT_EQ(sumOf(use[0]), 500);
    EXPECT_EQ(sumOf(use[1]), 500);
}

TEST(TimeUse, WaitingInACollectiveWithOtherStagesIsBubble)
{
    const test::SmallKinds kinds;
    const std::vector<live::RankSpan> step = {{0, test::computeSpan(kinds, 0, 40)},
                                              {0, test::commSpan(SpanTrack::dp, kinds.allReduce, 40, 100, 120, 1)},
                                              {1, test::computeSpan(kinds, 0, 100)},
                                              {1, test::commSpan(SpanTrack::dp, kinds.allReduce, 100, 100, 120, 1)}};
    const TimeUse apart = live::measuredTimeUse(step, std::vector<int>{0, 1})[0];
    EXPECT_EQ(apart.bubbleNs, 60);
    EXPECT_EQ(apart.waitNs[4], 0);
    const TimeUse together = live::measuredTimeUse(step, std::vector<int>{1, 1})[0];
    EXPECT_EQ(together.bubbleNs, 0);
    EXPECT_EQ(together.waitNs[4], 60);
}

/// As the runtime records: a rank posts the next receive when it has the last.
void postReceivesEarly(std::vector<live::RankSpan>& step, int worldSize)
{
    std::vector<std::int64_t> receivedUntil(static_cast<std::size_t>(worldSize), 0);
    for (live::RankSpan& span : step)
        if (span.span.track == SpanTrack::receive)
            span.span.startNs = std::exchange(receivedUntil[static_cast<std::size_t>(span.rank)], span.span.endNs);
}

/// A recording does not tell when the host launched what.
sim::Scenario withoutLaunches(sim::Scenario scenario)
{
    sim::Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = stack.stepMs = 0;
    return scenario;
}

TEST(Difference, CountsTheBubbleInOneRowOnBothSides)
{
    const auto full = sim::simulate(withoutLaunches(test::smallScenario(1, 4, 2, 8)), {.full = true});
    const sim::Trace trace = full->trace(sim::TraceDetail::kernels);
    std::vector<live::RankSpan> step = test::recordedAs(trace);
    postReceivesEarly(step, 8);
    // At the end the world agrees on the norm of the gradients: a stage that is done waits for the others.
    std::vector<std::int64_t> lastEnd(8, 0);
    for (const live::RankSpan& span : step)
        lastEnd[static_cast<std::size_t>(span.rank)] = std::max(lastEnd[static_cast<std::size_t>(span.rank)], span.span.endNs);
    const test::SmallKinds kinds;
    for (int rank = 0; rank < 8; ++rank)
        step.push_back({rank, test::commSpan(SpanTrack::dp, kinds.allReduce, lastEnd[static_cast<std::size_t>(rank)], trace.endNs,
                                             trace.endNs, std::uint64_t{1} << 50U)});
    const live::Difference difference = live::explainDifference(*full, step);
    const auto stepNs = static_cast<double>(difference.predicted.stepNs);
    const auto predicted = static_cast<double>(difference.predicted.bubbleNs);
    EXPECT_NEAR(predicted / stepNs, full->metrics().bubbleFraction, 0.01)
        << "what the details call bubble, but for sends of ranks that have nothing else to do";
    EXPECT_GT(predicted, 0.1 * stepNs);
    EXPECT_NEAR(static_cast<double>(difference.measured.bubbleNs), predicted, 1e-3 * stepNs);
    EXPECT_EQ(difference.measured.waitNs[3], 0);
    EXPECT_FALSE(difference.stragglers[live::kCommCount].empty());
    EXPECT_TRUE(difference.stragglers[3].empty());
    EXPECT_THAT(difference.text(), HasSubstr("\nbubble "));
}

TEST(Difference, OfAPredictionAndItselfIsNothing)
{
    const auto prediction = sim::simulate(test::smallScenario(2, 2, 2));
    const auto full = sim::simulate(test::smallScenario(2, 2, 2), {.full = true});
    const std::vector<live::RankSpan> step = test::recordedAs(full->trace(sim::TraceDetail::kernels));
    const live::Difference difference = live::explainDifference(*prediction, step);
    ASSERT_EQ(difference.ranks.size(), 8U);
    // What is recorded begins with the first kernel: it does not see how long that was launched.
    const auto launchNs = static_cast<std::int64_t>(prediction->scenario().training.stack.launchUs * 1000);
    ASSERT_GT(launchNs, 0);
    for (const auto& rank : difference.ranks) {
        EXPECT_EQ(rank.measured.stepNs + launchNs, rank.predicted.stepNs);
        EXPECT_EQ(rank.measured.computeNs, rank.predicted.computeNs);
        EXPECT_EQ(rank.measured.transferNs, rank.predicted.transferNs);
        EXPECT_EQ(rank.measured.waitNs, rank.predicted.waitNs);
        EXPECT_EQ(rank.measured.bubbleNs + rank.measured.hostNs + launchNs, rank.predicted.bubbleNs + rank.predicted.hostNs);
        EXPECT_EQ(sumOf(rank.predicted), rank.predicted.stepNs);
    }
    EXPECT_NEAR(static_cast<double>(difference.predicted.stepNs) * 1e-9, prediction->metrics().stepTimeSeconds, 1e-8);
    EXPECT_GT(difference.predicted.computeNs, 0);
    EXPECT_GT(difference.predicted.transferNs[0], 0);
}

TEST(Difference, SaysWhoWasWaitedFor)
{
    const test::SmallKinds kinds;
    std::vector<live::RankSpan> step;
    for (int round = 0; round < 3; ++round) {
        const std::int64_t start = 1'000'000 * round;
        // Rank 1 is slow twice, rank 0 once, by little.
        const std::int64_t arrive0 = start + (round == 2 ? 310'000 : 100'000), arrive1 = start + 300'000;
        const std::int64_t ready = std::max(arrive0, arrive1);
        step.push_back({0, test::computeSpan(kinds, start, arrive0)});
        step.push_back({0, test::commSpan(SpanTrack::tp, kinds.allReduce, arrive0, ready, ready + 50'000,
                                          static_cast<std::uint64_t>(round) + 1)});
        step.push_back({1, test::computeSpan(kinds, start, arrive1)});
        step.push_back({1, test::commSpan(SpanTrack::tp, kinds.allReduce, arrive1, ready, ready + 50'000,
                                          static_cast<std::uint64_t>(round) + 1)});
    }
    const auto prediction = sim::simulate(test::smallScenario(2));
    const live::Difference difference = live::explainDifference(*prediction, step);
    const std::vector<live::Straggler>& tp = difference.stragglers[0];
    ASSERT_EQ(tp.size(), 2U);
    EXPECT_EQ(tp[0].rank, 1);
    EXPECT_EQ(tp[0].times, 2);
    EXPECT_EQ(tp[0].othersWaitedNs, 400'000);
    EXPECT_EQ(tp[1].othersWaitedNs, 10'000);
    EXPECT_THAT(difference.text(), HasSubstr("tp: most waited for rank 1, last to arrive 2 times, 0.400 ms"));
    EXPECT_THAT(difference.text(), HasSubstr("tp alone"));
    EXPECT_THAT(difference.text(), testing::Not(HasSubstr("exposed"))) << "which is what kernels waited for: another number";
}

TEST(Difference, WantsThePredictionOfTheSameRun)
{
    const test::SmallKinds kinds;
    const auto prediction = sim::simulate(test::smallScenario(2, 2));
    EXPECT_THROW(live::explainDifference(*prediction, std::vector<live::RankSpan>{{0, test::computeSpan(kinds, 0, 1)}}),
                 sim::Error);
}

TEST(AsIfParallel, ASimulatedPipelineIsParallelAlready)
{
    // Every rank of the simulator has its device: a replay of its step may only be as fast.
    const auto full = sim::simulate(withoutLaunches(test::smallScenario(1, 4, 1, 8)), {.full = true});
    const sim::Trace trace = full->trace(sim::TraceDetail::kernels);
    std::vector<live::RankSpan> step = test::recordedAs(trace);
    postReceivesEarly(step, 4);
    const live::AsIfParallel result = live::asIfParallel(step, 4, {}, trace.kinds);
    EXPECT_NEAR(static_cast<double>(result.stepNs), static_cast<double>(trace.endNs), 0.001 * static_cast<double>(trace.endNs));
}

} // namespace
