// Hosts that ask late for a collective, and collectives that begin while their rank computes.
#include "sim/recovery/rank_path.h"
#include "sim/recovery/run_answers.h"

#include "tests/support/kineto_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

/// Steps of 10 ms: 5 of a kernel, then a sum from 9 to 10 ms that the host asks for `askedUs` into the step.
sim::Recording sumAskedAt(double askedUs)
{
    test::KinetoJob job(2);
    job.group("0", "default_pg", {0, 1});
    for (test::KinetoRank& rank : job.ranks())
        for (int step = 0; step < 4; ++step) {
            const double begin = 1000 + step * 10000;
            rank.kernel("gemm", begin - 5, begin, 5000);
            rank.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", begin + askedUs, begin + 9000, 1000, 20,
                        test::KinetoJob::args("allreduce", "0", {0, 1}, 1 << 20));
            rank.step(step + 1, begin - 10, 10000, begin, 10000);
        }
    return job.read();
}

TEST(LateLaunches, OfACollectiveAreWaitsForTheHost)
{
    const sim::Recovered run = sim::recover(sumAskedAt(8990));
    const sim::RunAnswers answers = sim::answersOf(run);
    for (const sim::RankTime& time : answers.times.ranks) {
        EXPECT_NEAR(static_cast<double>(time.idleNs), 4e6, 2e4);
        EXPECT_NEAR(static_cast<double>(time.hostBoundNs), 4e6, 2e4);
    }
    EXPECT_TRUE(std::any_of(answers.findings.begin(), answers.findings.end(),
                            [](const sim::RunFinding& finding) { return finding.kind == "host-bound"; }));
    EXPECT_NEAR(static_cast<double>(answers.path.ns.at(sim::PathPart::launching)), 4e6, 2e4);

    const sim::RunAnswers early = sim::answersOf(sim::recover(sumAskedAt(-4))); // it waits for something else
    EXPECT_LT(early.times.ranks.at(0).hostBoundNs, 20'000);
    EXPECT_FALSE(early.path.ns.contains(sim::PathPart::launching));
}

TEST(LateLaunches, OfTheLastMemberAreItsHostsOnTheCriticalPath)
{
    // Rank 1 computes for 3 ms, and its host asks for the sum after 8; rank 0 waits for it.
    test::KinetoJob job(2);
    job.group("0", "default_pg", {0, 1});
    for (test::KinetoRank& rank : job.ranks())
        for (int step = 0; step < 4; ++step) {
            const double begin = 1000 + step * 10000, start = rank.rank() == 0 ? 6000 : 8010;
            rank.kernel("gemm", begin - 5, begin, rank.rank() == 0 ? 6000 : 3000);
            rank.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", begin + (rank.rank() == 0 ? -4 : 8000), begin + start,
                        10000 - start, 20, test::KinetoJob::args("allreduce", "0", {0, 1}, 1 << 20));
            rank.step(step + 1, begin - 10, 10000, begin, 10000);
        }
    const sim::RankPath path = sim::criticalPathOver(sim::recover(job.read()));
    EXPECT_NEAR(static_cast<double>(path.ns.at(sim::PathPart::launching)), 5.01e6, 2e4);
    EXPECT_NEAR(static_cast<double>(path.ns.at(sim::PathPart::computing)), 3e6, 2e4);
}

TEST(CriticalPath, ComputesWhereACollectiveBeginsInTheMiddleOfAKernel)
{
    // 7 ms of one kernel, in the middle of which a sum begins that lasts until 10.
    test::KinetoJob job(2);
    job.group("0", "default_pg", {0, 1});
    for (test::KinetoRank& rank : job.ranks())
        for (int step = 0; step < 4; ++step) {
            const double begin = 1000 + step * 10000;
            rank.kernel("gemm", begin - 5, begin, 7000);
            rank.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", begin - 4, begin + 4000, 6000, 20,
                        test::KinetoJob::args("allreduce", "0", {0, 1}, 1 << 20));
            rank.step(step + 1, begin - 10, 10000, begin, 10000);
        }
    const sim::RankPath path = sim::criticalPathOver(sim::recover(job.read()));
    EXPECT_NEAR(static_cast<double>(path.ns.at(sim::PathPart::communicating)), 6e6, 2e4);
    EXPECT_NEAR(static_cast<double>(path.ns.at(sim::PathPart::computing)), 4e6, 2e4);
}

} // namespace
