// The bounds' values where they are known in closed form; that nothing found is shorter is synthesis_test.cpp's.
#include "sim/schedule/search/bounds.h"

#include <gtest/gtest.h>

namespace {

using sim::PassMemory;
using sim::PassTimes;
using sim::PipelineProblem;

PipelineProblem line(int ranks, int microbatches, std::vector<PassTimes> times, double cap,
                     std::vector<PassMemory> memory = std::vector<PassMemory>(1))
{
    sim::Schedule frame;
    frame.ranks = ranks;
    frame.microbatches = microbatches;
    for (int rank = 0; rank < ranks; ++rank)
        frame.stageToRank.push_back(rank);
    return sim::pipelineProblem("line", frame, times, memory, cap);
}

TEST(SpanBounds, AreTheClosedFormsOfALineOfEqualStages)
{
    constexpr double forward = 10, input = 12, weight = 8, comm = 1;
    constexpr int ranks = 8, microbatches = 24;
    for (const int cap : {2, 5, 8, 12}) {
        const PipelineProblem problem = line(ranks, microbatches, {{forward, input, weight, comm}}, cap);
        const double work = microbatches * (forward + input + weight);
        EXPECT_DOUBLE_EQ(sim::workBound(problem).span, work);
        EXPECT_DOUBLE_EQ(sim::firstGradientBound(problem).span,
                         work + (ranks - 1) * (input + 2 * comm) + (ranks - cap) * forward);
        const double turns = (microbatches + cap - 1) / cap; // NOLINT(bugprone-integer-division): rounded up
        EXPECT_DOUBLE_EQ(sim::memoryBound(problem).span, turns * (ranks * (forward + input) + 2 * (ranks - 1) * comm + weight));
    }
    // With memory for everything, the path through the last stage.
    const PipelineProblem roomy = line(ranks, microbatches, {{forward, input, weight, comm}}, 100);
    EXPECT_DOUBLE_EQ(sim::longestPathBound(roomy).span,
                     (microbatches + ranks - 1) * (forward + input) + 2 * (ranks - 1) * comm + weight);
    EXPECT_DOUBLE_EQ(sim::spanBound(roomy).span, microbatches * (forward + input + weight));
}

TEST(SpanBounds, SeeTheSlowestStage)
{
    const PipelineProblem problem = line(3, 10, {{1, 1, 1, 0.5}, {1, 1, 1, 0.25}, {4, 5, 0, 9}}, 100);
    EXPECT_EQ(sim::workBound(problem).span, 90);
    // Down two stages, all passes of the last, and back; its own latency leads nowhere.
    EXPECT_EQ(sim::longestPathBound(problem).span, 2.75 + 90 + 2.75 + 1);
    EXPECT_EQ(sim::spanBound(problem).name, sim::longestPathBound(problem).name);
}

TEST(SpanBounds, CountWhatIsReleasedBeforeTheWeightGradient)
{
    const PipelineProblem problem = line(2, 100, {{1, 1, 10, 0}}, 2, {{1, 0.25}});
    // Rank 0 holds all of an activation for F, F, I, I and a quarter for W, of 2 at a time.
    EXPECT_NEAR(sim::memoryBound(problem).span, 100 * (1 * 4 + 0.25 * 10) / 2, 1e-5);
}

} // namespace
