// The annealing's incremental times against a fresh evaluation, at temperatures that accept nearly everything and hardly
// anything.
#include "sim/schedule/search/word_search.h"

#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/search/constructions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::PassTimes;
using sim::PipelineProblem;
using sim::Schedule;

/// A V of unequal stages; some passes take no time.
PipelineProblem unequalV(int ranks, int microbatches, double cap)
{
    Schedule frame;
    frame.ranks = ranks;
    frame.virtualStages = 2;
    frame.microbatches = microbatches;
    std::vector<PassTimes> times;
    for (int stage = 0; stage < 2 * ranks; ++stage) {
        frame.stageToRank.push_back(stage < ranks ? stage : 2 * ranks - 1 - stage);
        times.push_back({1 + stage % 3 * 0.3, 1.1, stage == 2 ? 0.0 : 0.7, 0.1 * (stage % 2)});
    }
    return sim::pipelineProblem("V", frame, times, std::vector<sim::PassMemory>{{1, 0.6}}, cap);
}

TEST(WordSearch, KnowsTheExactSpanOfWhateverItTried)
{
    const PipelineProblem problem = unequalV(3, 7, 5);
    const sim::Candidate start = sim::construct(problem, sim::constructionsFor(problem).front());
    ASSERT_TRUE(start.fits);
    for (const double temperature : {0.0, 0.01, 0.3, 100.0}) {
        sim::WordSearch search(problem, *start.schedule, 3);
        EXPECT_EQ(search.span(), start.span);
        double shortest = search.span();
        for (int round = 0; round < 300; ++round) {
            search.run(20, temperature);
            shortest = std::min(shortest, search.span());
            EXPECT_LE(search.bestSpan(), shortest);
            const Schedule best = search.best();
            ASSERT_THAT(sim::checkSchedule(best), testing::IsEmpty());
            const sim::ScheduleTimes times = sim::evaluateSchedule(best, problem.times, problem.memory);
            ASSERT_EQ(times.span, search.bestSpan());
            ASSERT_TRUE(problem.fits(*std::max_element(times.peakActivations.begin(), times.peakActivations.end())));
            // Its own view of where it is now, computed anew.
            sim::WordSearch again = search;
            const double span = again.span();
            again.recompute();
            ASSERT_EQ(again.span(), span);
        }
        EXPECT_GT(search.accepted(), 0);
    }
}

TEST(WordSearch, CoolsToAShorterSchedule)
{
    const PipelineProblem problem = unequalV(4, 12, 8);
    const sim::Candidate start = sim::construct(problem, sim::constructionsFor(problem).front());
    sim::WordSearch search(problem, *start.schedule, 1);
    for (const double temperature : {0.3, 0.1, 0.03, 0.01})
        search.run(20'000, temperature);
    EXPECT_LT(search.bestSpan(), 0.5 * start.span);
}

TEST(RandomStream, DrawsEvenlyAndExponentially)
{
    sim::RandomStream random(1);
    double sum = 0;
    int below = 0;
    constexpr int draws = 100'000;
    for (int i = 0; i < draws; ++i) {
        sum += random.exponential();
        below += random.below(10) < 3 ? 1 : 0;
    }
    EXPECT_NEAR(sum / draws, 1, 0.05);
    EXPECT_NEAR(static_cast<double>(below) / draws, 0.3, 0.01);
}

} // namespace
