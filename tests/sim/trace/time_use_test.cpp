// What a rank does at each instant, where much goes on at once.
#include "sim/trace/time_use.h"

#include "sim/cancel.h"

#include <gtest/gtest.h>

#include <chrono>

namespace {

/// Kernels that each begin within the one before, and end before it.
sim::Trace nested(std::int64_t count)
{
    sim::Trace trace;
    trace.processes = {{.name = "rank 0"}};
    trace.kinds = {{.name = "outer"}, {.name = "inner"}};
    sim::Track track{.process = 0, .name = "compute", .role = sim::TrackRole::compute};
    for (std::int64_t i = 0; i < count; ++i) {
        track.startNs.push_back(i);
        track.durationNs.push_back(3 * count - 2 * i);
        track.kind.push_back(i == 0 ? 0 : 1);
        track.microbatch.push_back(-1);
    }
    trace.endNs = 3 * count;
    trace.tracks.push_back(std::move(track));
    return trace;
}

TEST(TimeUse, IsOfWhatBeganLastAndStillRuns)
{
    const sim::Track use = sim::timeUseTrack(nested(3), 0, 0);
    ASSERT_EQ(use.size(), 3U); // outer, inner, outer again
    EXPECT_EQ(use.kind, (std::vector<std::uint32_t>{0, 1, 0}));
    EXPECT_EQ(use.startNs, (std::vector<std::int64_t>{0, 1, 8}));
    EXPECT_EQ(use.durationNs, (std::vector<std::int64_t>{1, 7, 1}));
}

TEST(TimeUse, OfManyAtOnceTakesNoLongerThanOfManyInTurn)
{
    constexpr std::int64_t kMany = 300'000; // by the square of them it would take minutes
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(sim::timeUseTrack(nested(kMany), 0, 0).size(), 3U);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
    const sim::CancelScope cancelled([] { return true; });
    EXPECT_THROW(sim::timeUseTrack(nested(kMany), 0, 0), sim::Cancelled);
}

/// Two streams of 10 ns kernels, the second 5 ns behind, with 10 ns between: of 1,500 each, 15 of every 20 ns are computed in.
TEST(TimeUse, SaysHowLongSomethingComputedThoughItsLaneClosesGaps)
{
    constexpr std::int64_t kEach = 1500, kPeriod = 20;
    sim::Trace trace;
    trace.processes = {{.name = "rank 0"}};
    trace.kinds = {{.name = "kernel"}};
    for (const std::int64_t behind : {0, 5}) {
        sim::Track track{.process = 0, .name = "stream", .role = sim::TrackRole::compute};
        for (std::int64_t i = 0; i < kEach; ++i) {
            track.startNs.push_back(kPeriod * i + behind);
            track.durationNs.push_back(10);
            track.kind.push_back(0);
            track.microbatch.push_back(-1);
        }
        trace.tracks.push_back(std::move(track));
    }
    trace.endNs = kPeriod * kEach;
    EXPECT_EQ(sim::computingNs(trace, 0, trace.endNs), 15 * kEach);
    EXPECT_EQ(sim::computingNs(trace, 0, kPeriod + 7), 22) << "what runs over the end of a step is no time of it";
    EXPECT_EQ(sim::computingNs(trace, 0, 17), 15) << "nor what begins behind it";
    const sim::Trace lanes = sim::timeUseTrace(trace);
    ASSERT_EQ(lanes.tracks.size(), 1U);
    EXPECT_EQ(lanes.tracks[0].size(), 1U) << "its gaps cannot be seen beside the whole";
    EXPECT_EQ(lanes.processes[0].computingNs, 15 * kEach);
    EXPECT_EQ(sim::computingNs(lanes, 0, lanes.endNs), -1) << "no row of it computes";
}

} // namespace
