#include "sim/recovery/rank_time.h"

#include "sim/recovery/run_answers.h"
#include "sim/trace/readers/read_recording.h"
#include "tests/sim/recovery/simulated.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::simulated;

TEST(TimeOfARecordedRank, AddsUpAndIsTheSimulators)
{
    for (const int pp : {1, 4}) {
        const auto simulation = simulated(test::smallScenario(2, pp, 2, 8));
        const sim::Recovered recovered = sim::recover(test::recordingOf(*simulation));
        const sim::RunTimes times = sim::timesOf(recovered);
        ASSERT_EQ(times.ranks.size(), 4U * static_cast<std::size_t>(pp));
        for (std::size_t r = 0; r < times.ranks.size(); ++r) {
            const sim::RankTime& time = times.ranks[r];
            EXPECT_EQ(time.computingNs + time.exposedCommNs + time.copyNs + time.idleNs, time.windowNs);
            EXPECT_GE(time.idleNs, 0);
            EXPECT_GT(time.exposedByAxis.at("tp"), 0);
            EXPECT_LE(time.exposedByAxis.at("tp"), time.commByAxis.at("tp"));
            std::int64_t exposed = 0;
            for (const auto& [axis, ns] : time.exposedByAxis)
                exposed += ns;
            EXPECT_EQ(exposed, time.exposedCommNs) << "an instant counts once";
            EXPECT_EQ(time.windowNs, recovered.steps.steps[0].endNs - recovered.steps.steps[0].startNs) << "of the step shown";
            std::int64_t computed = 0;
            for (const sim::WorkSpan& span : recovered.evidence.ranks[r].work)
                computed += span.endNs - span.startNs;
            EXPECT_EQ(time.computingNs, computed); // one stream computes
        }
        EXPECT_EQ(times.stages.size(), pp == 1 ? 0U : 4U);
    }
}

TEST(TimeOfARecordedRank, WaitsForItsHostAsLongAsTheSimulatorSays)
{
    for (const double us : {0.0, 5.0, 200.0}) {
        sim::Scenario scenario = test::smallScenario(2, 1, 1, 4);
        sim::Stack& stack = scenario.training.stack;
        stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = us;
        const auto simulation = simulated(scenario);
        const sim::Recovered recovered = sim::recover(test::recordingOf(*simulation, {.launches = true}));
        for (const sim::RankTime& time : sim::timesOf(recovered).ranks) {
            const sim::TimeShares shares = simulation->timeOfClass(simulation->classOf(0));
            // The step that is recorded begins with its first kernel.
            const std::int64_t beforeFirst = simulation->times().endNs - time.windowNs;
            EXPECT_EQ(time.computingNs, shares.busyNs);
            EXPECT_EQ(time.hostBoundNs, time.idleNs) << us << " µs a launch";
            // What runs beside a launch and is not waited for counts as communication there.
            EXPECT_EQ(time.idleNs + time.exposedCommNs, shares.waitingNs() - beforeFirst) << us << " µs a launch";
            EXPECT_LE(time.idleNs, shares.exposedHostNs - beforeFirst) << us << " µs a launch";
            if (us > 100) {
                EXPECT_NEAR(static_cast<double>(time.idleNs), static_cast<double>(shares.exposedHostNs),
                            2e-2 * static_cast<double>(shares.exposedHostNs));
            }
        }
    }
}

TEST(TimeOfARecordedRank, SharesAnInstantAmongTheAxesThatAreExposedInIt)
{
    sim::RunEvidence evidence;
    evidence.names = {"all_reduce", "gemm"};
    evidence.worldSize = 4;
    evidence.axes = {{"tp", 2, 1}, {"dp", 2, 2}};
    evidence.isOneClock = true;
    for (const auto& members : std::vector<std::vector<int>>{{0, 1}, {2, 3}, {0, 2}, {1, 3}})
        evidence.groups.push_back({.name = {}, .description = {}, .ranks = members, .evidence = {}});
    const auto sum = [](std::int64_t start, std::int64_t end, int group, unsigned stream) {
        return sim::CommSpan{
            .startNs = start, .endNs = end, .exchange = sim::Exchange::allReduce, .group = group, .bytes = 64, .stream = stream};
    };
    for (int rank = 0; rank < 4; ++rank) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        of.work = {{.startNs = 0, .endNs = 100, .name = 1}};
        of.comms = {sum(50, 201, rank / 2, 1), sum(100, 301, 2 + rank % 2, 2)}; // together from 100 to 201
    }
    const sim::RunTimes times = sim::timesOf(sim::recover(std::move(evidence)));
    ASSERT_EQ(times.ranks.size(), 4U);
    for (const sim::RankTime& time : times.ranks) {
        EXPECT_EQ(time.exposedCommNs, 201);
        EXPECT_EQ(time.exposedByAxis.at("tp") + time.exposedByAxis.at("dp"), 201);
        EXPECT_NEAR(static_cast<double>(time.exposedByAxis.at("tp")), 50.5, 0.5);
        EXPECT_EQ(time.commByAxis.at("tp"), 151);
        EXPECT_EQ(time.hiddenByAxis.at("tp"), 50) << "while something computes";
        EXPECT_EQ(time.hiddenByAxis.at("dp"), 0) << "beside tp nothing hides";
    }
}

TEST(TimeOfARecordedRank, WaitsForItsHostAsLongAsThePathSays)
{
    for (const char* file : {"worker0_step_12.1694128201545.pt.trace.json.gz", "mi250_minitoy_train_ROCm6_2_kineto.json.gz"}) {
        const sim::Recovered recovered = sim::recover(sim::readRecording({std::string(RANKSCOPE_TEST_DATA) + "/kineto/" + file}));
        const sim::RunAnswers answers = sim::answersOf(recovered);
        ASSERT_EQ(answers.times.ranks.size(), 1U);
        const auto ofPath = static_cast<double>(answers.path.ns.at(sim::PathPart::launching));
        // The chain may pass a communication that goes on beside it, in which the device does not idle.
        EXPECT_NEAR(static_cast<double>(answers.times.ranks[0].hostBoundNs), ofPath, 0.05 * ofPath) << file;
    }
}

TEST(TimeOfARecordedRank, IsNoMeanOverPartsOfSteps)
{
    const sim::Recovered recovered =
        sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/kineto/mi250_minitoy_train_ROCm6_2_kineto.json.gz"}));
    ASSERT_EQ(recovered.steps.steps.size(), 2U); // the second is cut off after 49 µs
    EXPECT_FALSE(recovered.steps.steps[0].isOutlier);
    EXPECT_TRUE(recovered.steps.steps[1].isOutlier);
    EXPECT_EQ(recovered.steps.medianSeconds, recovered.steps.steps[0].seconds());
    EXPECT_NEAR(static_cast<double>(sim::timesOf(recovered).ranks[0].windowNs) * 1e-9, recovered.steps.steps[0].seconds(), 1e-9);
    EXPECT_THAT(recovered.problems, testing::Contains(testing::HasSubstr("step 2 was recorded in part only")));
}

} // namespace
