#include "live/stream/as_if_parallel.h"
#include "run_for_tests.h"
#include "sim/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace {

using live::RankSpan;
using live::SpanTrack;
using testing::HasSubstr;

const test::SmallKinds kKinds;

live::AsIfParallel replay(const std::vector<RankSpan>& spans, int worldSize)
{
    return live::asIfParallel(spans, worldSize, {{"tp", 2}}, kKinds.all.from());
}

std::string errorOf(const std::vector<RankSpan>& spans, int worldSize)
{
    try {
        replay(spans, worldSize);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "";
}

live::SpanRecord compute(std::int64_t start, std::int64_t end, std::int64_t cpu = 0)
{
    live::SpanRecord span = test::computeSpan(kKinds, start, end);
    span.cpuNs = cpu;
    return span;
}
live::SpanRecord allReduce(std::int64_t arrived, std::int64_t ready, std::int64_t end, std::uint64_t correlation)
{
    return test::commSpan(SpanTrack::tp, kKinds.allReduce, arrived, ready, end, correlation);
}

/// Two ranks that compute, meet and compute again, on one core: rank 1 has its turn while rank 0 waits.
std::vector<RankSpan> takingTurns()
{
    return {{0, compute(100, 200)},           {1, compute(250, 400)},           {1, allReduce(400, 400, 410, 1)},
            {1, compute(410, 510)},           {0, allReduce(200, 400, 410, 1)}, {0, compute(600, 680)},
            {1, allReduce(510, 700, 705, 2)}, {0, allReduce(690, 700, 705, 2)}};
}

TEST(AsIfParallel, TurnsBecomeSideBySide)
{
    const live::AsIfParallel result = replay(takingTurns(), 2);
    // Rank 0 computes 100, rank 1 150; the all-reduce takes 10 from there; 80 and 100 more; 5 at the end.
    EXPECT_EQ(result.spans[0].span.startNs, 0);
    EXPECT_EQ(result.spans[1].span.startNs, 0);
    EXPECT_EQ(result.spans[4].span.startNs, 100);
    EXPECT_EQ(result.spans[4].span.readyNs, 150);
    EXPECT_EQ(result.spans[4].span.endNs, 160);
    EXPECT_EQ(result.spans[2].span.startNs, 150);
    EXPECT_EQ(result.spans[5].span.startNs, 160);
    EXPECT_EQ(result.spans[5].span.endNs, 240);
    EXPECT_EQ(result.spans[3].span.endNs, 260);
    EXPECT_EQ(result.stepNs, 265);
    EXPECT_EQ(result.trace.endNs, 265);
    EXPECT_EQ(result.trace.processes.size(), 2U);
}

TEST(AsIfParallel, WhatWasParallelStaysAsItWas)
{
    const std::vector<RankSpan> parallel = replay(takingTurns(), 2).spans;
    const live::AsIfParallel again = replay(parallel, 2);
    EXPECT_EQ(again.stepNs, 265);
    for (std::size_t i = 0; i < parallel.size(); ++i) {
        EXPECT_EQ(again.spans[i].span.startNs, parallel[i].span.startNs) << i;
        EXPECT_EQ(again.spans[i].span.readyNs, parallel[i].span.readyNs) << i;
        EXPECT_EQ(again.spans[i].span.endNs, parallel[i].span.endNs) << i;
    }
}

TEST(AsIfParallel, KernelsCountTheirProcessorTime)
{
    // Both were on one core at once: the wall clock saw 200 each, the processor 100 each.
    EXPECT_EQ(replay({{0, compute(0, 200, 100)}, {1, compute(0, 200, 100)}}, 2).stepNs, 100);
}

TEST(AsIfParallel, KernelsTimedByThemselvesAreNotReplayed)
{
    live::SpanRecord kernel = compute(20, 80);
    kernel.track = SpanTrack::gpuKernels;
    const live::AsIfParallel result = replay({{0, compute(0, 100)}, {0, kernel}}, 1);
    EXPECT_EQ(result.stepNs, 100);
    EXPECT_EQ(result.spans.size(), 1U);
}

TEST(AsIfParallel, WhatIsNotWaitedForIsOverlapped)
{
    // Rank 0 sends and goes on computing; the record of the send comes when it looks for it at the end.
    const std::vector<RankSpan> spans = {
        {0, compute(0, 100)},
        {0, compute(110, 210)},
        {0, test::commSpan(SpanTrack::sendForward, kKinds.send, 100, 300, 350, 9)},
        {1, test::commSpan(SpanTrack::receive, kKinds.receive, 300, 300, 350, 9)},
        {1, compute(350, 400)},
    };
    const live::AsIfParallel result = replay(spans, 2);
    EXPECT_EQ(result.spans[1].span.startNs, 100) << "the kernel waits for the send";
    EXPECT_EQ(result.spans[3].span.startNs, 0);
    EXPECT_EQ(result.spans[3].span.readyNs, 100);
    EXPECT_EQ(result.spans[4].span.startNs, 150);
    EXPECT_EQ(result.stepNs, 200);
    ASSERT_EQ(result.trace.flows.size(), 1U);
}

/// On one core both were under way at once, as a gathering ahead and a reduction are; on GPUs a communicator does one at a time.
TEST(AsIfParallel, TransfersOfTheSameRanksTakeTurns)
{
    const auto gather = [](std::int64_t arrived, std::int64_t ready, std::int64_t end, std::uint64_t correlation) {
        return test::commSpan(SpanTrack::cp, kKinds.allReduce, arrived, ready, end, correlation);
    };
    const std::vector<RankSpan> spans = {
        {0, compute(0, 10)}, {0, allReduce(10, 20, 50, 1)}, {0, allReduce(10, 20, 45, 2)}, {0, gather(10, 20, 60, 3)},
        {1, compute(0, 20)}, {1, allReduce(20, 20, 50, 1)}, {1, allReduce(20, 20, 45, 2)}, {1, gather(20, 20, 60, 3)}};
    const live::AsIfParallel result = replay(spans, 2);
    EXPECT_EQ(result.spans[1].span.endNs, 50);
    EXPECT_EQ(result.spans[2].span.readyNs, 50) << "behind the first";
    EXPECT_EQ(result.spans[6].span.endNs, 75);
    EXPECT_EQ(result.spans[3].span.endNs, 60) << "another communicator";
    EXPECT_EQ(result.stepNs, 75);
}

TEST(AsIfParallel, CommunicationWithoutLengthIsStillAMeeting)
{
    const live::AsIfParallel result = replay({{0, compute(0, 10)},
                                              {0, allReduce(10, 10, 10, 1)},
                                              {1, allReduce(10, 10, 10, 1)},
                                              {1, compute(10, 30)},
                                              {0, compute(10, 20)}},
                                             2);
    EXPECT_EQ(result.spans[3].span.startNs, 10);
    EXPECT_EQ(result.stepNs, 30);
}

TEST(AsIfParallel, ActionsLastFromTheirFirstKernelToTheirLast)
{
    std::vector<RankSpan> spans = takingTurns();
    live::SpanRecord action = compute(90, 215), second = compute(590, 690);
    action.track = second.track = SpanTrack::actions;
    action.kind = second.kind = kKinds.forwardAction;
    spans.push_back({0, action});
    spans.push_back({0, second});
    const live::AsIfParallel result = replay(spans, 2);
    EXPECT_EQ(result.spans[8].span.startNs, 0);
    EXPECT_EQ(result.spans[8].span.endNs, 100);
    EXPECT_EQ(result.spans[9].span.startNs, 160);
    EXPECT_EQ(result.spans[9].span.endNs, 240);
}

TEST(AsIfParallel, MissingPartnersAreNamed)
{
    std::vector<RankSpan> spans = takingTurns();
    spans.erase(spans.begin() + 6);
    EXPECT_THAT(errorOf(spans, 2), HasSubstr("tp comm \"tp all-reduce\" (request 2) has 1 of 2 members (rank 0)"));
    const std::vector<RankSpan> lonely = {{0, test::commSpan(SpanTrack::sendForward, kKinds.send, 0, 1, 2, 5)}};
    EXPECT_THAT(errorOf(lonely, 2), HasSubstr("send activations \"send\" (request 5) has 1 of 2 members"));
    const std::vector<RankSpan> twoSends = {{0, test::commSpan(SpanTrack::sendForward, kKinds.send, 0, 1, 2, 5)},
                                            {1, test::commSpan(SpanTrack::sendForward, kKinds.send, 0, 1, 2, 5)}};
    EXPECT_THAT(errorOf(twoSends, 2), HasSubstr("two sends"));
    EXPECT_THAT(errorOf({{7, compute(0, 1)}}, 2), HasSubstr("rank 7"));
}

TEST(AsIfParallel, CirclesAreNamed)
{
    // Each rank says that it was through with one before it came to the other.
    const std::vector<RankSpan> spans = {
        {0, allReduce(0, 5, 10, 1)}, {0, allReduce(20, 25, 30, 2)}, {1, allReduce(0, 5, 10, 2)}, {1, allReduce(20, 25, 30, 1)}};
    const std::string error = errorOf(spans, 2);
    EXPECT_THAT(error, HasSubstr("circle"));
    EXPECT_THAT(error, HasSubstr("rank 0 waits for rank 1 at tp comm \"tp all-reduce\" (request 1)"));
    EXPECT_THAT(error, HasSubstr("rank 1 waits for rank 0 at tp comm \"tp all-reduce\" (request 2)"));
}

TEST(AsIfParallel, AHistorysStepHasTheRunsNames)
{
    test::Run run;
    run.train(0, 3);
    const live::AsIfParallel result = live::asIfParallel(run.collector->history(), 1);
    EXPECT_EQ(result.stepNs, 500);
    EXPECT_EQ(result.trace.processes[2].name, "rank 2 (dp0 pp1 cp0 tp0)");
    EXPECT_THAT(result.trace.title, HasSubstr("step 1"));
    EXPECT_THROW(live::asIfParallel(run.collector->history(), 5), sim::Error);
}

} // namespace
