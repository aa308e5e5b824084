// What the papers' closed forms say of makespan, span, bubble and peak.
#include "sim/schedule/families/families.h"

#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Schedule;
using sim::ScheduleRequest;

// Closed forms, in units of one chunk's passes: F, B = I + W, T = F + B.

constexpr sim::PassTimes kUneven{10, 12, 8, 0};
constexpr double kForwardBackward = 30;

TEST(GpipeSchedule, ClosedForms)
{
    for (const int p : {1, 2, 4, 7})
        for (const int m : {1, 2, 5, 16}) {
            const auto times = sim::evaluateSchedule(sim::makeSchedule(request("gpipe", p, 1, m)), kUneven);
            EXPECT_DOUBLE_EQ(times.makespan, (m + p - 1) * kForwardBackward);
            EXPECT_DOUBLE_EQ(times.idleOverIdeal, (p - 1.0) / m);
            EXPECT_DOUBLE_EQ(times.idleOfMakespan, (p - 1.0) / (m + p - 1));
            EXPECT_THAT(times.peakActivations, testing::Each(m));
        }
}

TEST(OneFOneBSchedule, ClosedForms)
{
    for (const int p : {1, 2, 4, 7})
        for (const int m : {1, 2, 4, 8, 14, 16, 28}) {
            const Schedule schedule = sim::makeSchedule(request("1f1b", p, 1, m));
            const auto times = sim::evaluateSchedule(schedule, kUneven);
            EXPECT_DOUBLE_EQ(times.makespan, (m + p - 1) * kForwardBackward);
            EXPECT_DOUBLE_EQ(times.idleOverIdeal, (p - 1.0) / m);
            for (int rank = 0; rank < p; ++rank)
                EXPECT_EQ(times.peakActivations[static_cast<std::size_t>(rank)], std::min(m, p - rank));
            if (p > 1 && m % p == 0) { // neighbours play ping-pong: latency is paid for each micro-batch
                const auto delayed = sim::evaluateSchedule(schedule, {10, 12, 8, 1});
                const int latencies = 2 * (p - 1) * (m / p + 1) - 2;
                EXPECT_DOUBLE_EQ(delayed.makespan - times.makespan, latencies) << "p " << p << " m " << m;
            }
        }
}

TEST(InterleavedSchedule, ClosedFormsForEveryLegalGroup)
{
    int cases = 0;
    for (const int p : {2, 3, 4, 8})
        for (const int v : {2, 3, 4})
            for (int m = p; m <= 3 * p + 1; ++m)
                for (int group = p; group <= m; ++group) {
                    if (m % group != 0 && m % group < p)
                        continue;
                    ++cases;
                    ScheduleRequest asked = request("interleaved-1f1b", p, v, m, group);
                    const Schedule schedule = sim::makeSchedule(asked);
                    const auto times = sim::evaluateSchedule(schedule, kUneven);
                    EXPECT_DOUBLE_EQ(times.makespan, (m * v + p - 1) * kForwardBackward);
                    if (group == p && m % p == 0) { // latency is paid once, whatever the number of micro-batches
                        EXPECT_DOUBLE_EQ(sim::evaluateSchedule(schedule, {10, 12, 8, 1}).makespan - times.makespan,
                                         2.0 * (p * v - 1));
                    }
                    asked.overlapExpertComm = true;
                    const auto overlapped = sim::evaluateSchedule(sim::makeSchedule(asked));
                    for (int rank = 0; rank < p; ++rank) {
                        const int held = (v - 1) * group + 2 * (p - 1 - rank) + 1;
                        EXPECT_EQ(times.peakActivations[static_cast<std::size_t>(rank)], std::min(m * v, held));
                        EXPECT_EQ(overlapped.peakActivations[static_cast<std::size_t>(rank)], std::min(m * v, held + 1));
                    }
                }
    EXPECT_GT(cases, 100);
}

TEST(InterleavedSchedule, BubbleShrinksByTheNumberOfChunks)
{
    // A stage of one unit, cut into v chunks.
    const auto plain = sim::evaluateSchedule(sim::makeSchedule(request("1f1b", 4, 1, 8)), {1, 1, 1, 0});
    for (const int v : {2, 4, 8}) {
        const double chunk = 1.0 / v;
        const auto interleaved =
            sim::evaluateSchedule(sim::makeSchedule(request("interleaved-1f1b", 4, v, 8)), {chunk, chunk, chunk, 0});
        EXPECT_NEAR(interleaved.idleOverIdeal, plain.idleOverIdeal / v, 1e-12);
    }
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("interleaved-1f1b", 4, 2, 8))).makespan, 57);
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("interleaved-1f1b", 8, 4, 32))).makespan, 405);
}

TEST(LoopedBfsSchedule, ClosedForms)
{
    for (const int p : {1, 2, 4, 5})
        for (const int v : {1, 2, 4})
            for (const int m : {p, p + 1, 3 * p}) {
                const auto times = sim::evaluateSchedule(sim::makeSchedule(request("looped-bfs", p, v, m)), kUneven);
                EXPECT_DOUBLE_EQ(times.makespan, (m * v + p - 1) * kForwardBackward);
                EXPECT_THAT(times.peakActivations, testing::Each(m * v));
            }
}

double span(const ScheduleRequest& asked, const sim::PassTimes& times)
{
    return sim::evaluateSchedule(sim::makeSchedule(asked), times).span;
}

TEST(ZeroBubbleSchedules, ClosedForms)
{
    for (const sim::PassTimes times : {sim::PassTimes{1, 1, 1, 0}, {10, 12, 8, 0}, {10, 7, 10, 0}, {12, 9, 4, 0}})
        for (const int p : {2, 3, 4, 8})
            for (const int m : {2 * p, 3 * p + 1, 5 * p}) {
                const double work = m * times.total();
                const double f = times.forward, i = times.backwardInput, w = times.backwardWeight;
                EXPECT_DOUBLE_EQ(span(request("zb-h1", p, 1, m), times), work + (p - 1) * (i + std::max(0.0, f - w)));
                EXPECT_DOUBLE_EQ(span(request("zb-h2", p, 1, m), times), work + (p - 1) * std::max(0.0, f + i - 2 * w));
                const auto h1 = sim::evaluateSchedule(sim::makeSchedule(request("zb-h1", p, 1, m)), times);
                const auto h2 = sim::evaluateSchedule(sim::makeSchedule(request("zb-h2", p, 1, m)), times);
                EXPECT_THAT(h1.peakActivations, testing::Each(p));
                EXPECT_THAT(h2.peakActivations, testing::Each(2 * p - 1));
                // Table 2 of the paper: with part of the activations freed by I.
                const auto freed = sim::evaluateSchedule(sim::makeSchedule(request("zb-h2", p, 1, m)), times, {3, 1});
                for (int rank = 0; rank < p; ++rank)
                    EXPECT_DOUBLE_EQ(freed.peakActivations[static_cast<std::size_t>(rank)],
                                     (2 * p - 2 * (rank + 1) + 1) * 3.0 + (2 * (rank + 1) - 2) * 1.0);
                const double latencies = 4.0 * (p - 1);
                EXPECT_NEAR(span(request("zb-h1", p, 1, m), {f, i, w, 0.01}), h1.span + latencies * 0.01, 1e-9);
            }
}

TEST(InterleavedZeroBubble, ClosedForms)
{
    for (const int p : {2, 4, 8})
        for (const int v : {1, 2, 3})
            for (const int m : {p, 2 * p, 4 * p}) {
                const auto times = sim::evaluateSchedule(sim::makeSchedule(request("interleaved-zb", p, v, m)), kUneven);
                EXPECT_DOUBLE_EQ(times.makespan, m * v * 30.0 + (p - 1) * (10.0 + 12.0 - 8.0)) << p << " " << v << " " << m;
                EXPECT_THAT(times.peakActivations, testing::Each(std::min(p * v, m * v)));
            }
}

TEST(ZbVSchedule, HasNoBubbleAtOneFOneBsMemory)
{
    for (const int p : {2, 3, 4, 8})
        for (const int m : {2 * p - 1, 2 * p, 4 * p}) {
            const auto times = sim::evaluateSchedule(sim::makeSchedule(request("zb-v", p, 2, m)));
            EXPECT_DOUBLE_EQ(times.span, 6.0 * m);
            EXPECT_DOUBLE_EQ(times.makespan, 6.0 * m + p - 1);
            EXPECT_THAT(times.peakActivations, testing::Each(2 * p));
        }
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("zb-v", 4, 2, 3))).span, 26) << "too few micro-batches";
}

TEST(ControllableMemorySchedules, HoldWhatTheySay)
{
    // Peaks in chunks; bubbles of unit passes, whatever the number of micro-batches.
    const std::vector<int> ranks = {2, 3, 4, 5, 6, 7, 8, 12, 16};
    const std::vector<double> half = {1, 5, 5, 11, 11, 17, 17, 29, 41}, least = {3, 5, 11, 15, 17, 23, 27, 41, 59};
    for (std::size_t i = 0; i < ranks.size(); ++i)
        for (const int factor : {2, 4}) {
            const int p = ranks[i];
            const int m = factor * p;
            const auto vHalf = sim::evaluateSchedule(sim::makeSchedule(request("v-half", p, 2, m)));
            const auto vMin = sim::evaluateSchedule(sim::makeSchedule(request("v-min", p, 2, m)));
            const auto most = [](const auto& times) { return *std::max_element(times.begin(), times.end()); };
            EXPECT_EQ(most(vHalf.peakActivations), 2 * ((p + 2) / 2)) << p;
            EXPECT_EQ(most(vMin.peakActivations), 2 * ((p + 4) / 3)) << p;
            EXPECT_DOUBLE_EQ(vHalf.span - 6 * m, half[i]) << p;
            EXPECT_DOUBLE_EQ(vMin.span - 6 * m, least[i]) << p;
        }
}

TEST(DualPipe, HoldsOneMoreThanItsRanks)
{
    for (const int p : {2, 4, 8, 16})
        for (const int m : {2 * p, 2 * p + 2, 4 * p}) {
            EXPECT_THAT(sim::evaluateSchedule(sim::makeSchedule(request("dualpipe", p, 2, m))).peakActivations,
                        testing::Each(p + 1));
            EXPECT_THAT(sim::evaluateSchedule(sim::makeSchedule(request("dualpipe-v", p, 2, m))).peakActivations,
                        testing::Each(2 * p + 1));
        }
    // The published figures: 66 units, 6 of them idle (p = 8, m = 20; V: p = 4, m = 10).
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("dualpipe", 8, 2, 20))).makespan, 66);
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("dualpipe-v", 4, 2, 10))).makespan, 66);
}

TEST(Seq1F1BSchedule, DividesBubbleAndMemoryByItsSlices)
{
    for (const int p : {2, 4, 8})
        for (const int k : {1, 2, 4})
            for (const int m : {p, 3 * p}) {
                ScheduleRequest asked = request("seq-1f1b", p, 1, m);
                asked.slices = k;
                const auto times = sim::evaluateSchedule(sim::makeSchedule(asked)); // in units of a slice
                EXPECT_DOUBLE_EQ(times.makespan, 3.0 * m * k + 3.0 * (p - 1));
                for (int rank = 0; rank < p; ++rank)
                    EXPECT_EQ(times.peakActivations[static_cast<std::size_t>(rank)], std::min(m * k, p + k - 1 - rank));
            }
}

} // namespace
