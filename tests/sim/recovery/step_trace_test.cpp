// A recorded step as a trace to draw, a grid that somebody says, and a stand-in that knows who is where.
#include "sim/recovery/run_answers.h"
#include "sim/recovery/stand_in.h"
#include "sim/recovery/step_trace.h"

#include "sim/error.h"
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>

namespace {

sim::Scenario slowFifth()
{
    sim::Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
    return scenario;
}

struct Made {
    explicit Made(const sim::Scenario& scenario)
        : simulation(sim::simulate(scenario, {.full = true})), recording(test::recordingOf(*simulation)),
          recovered(sim::recover(recording)), arrivals(sim::arrivalsOf(recovered)),
          step(sim::stepTrace(recording, recovered, arrivals, 0))
    {
    }
    std::shared_ptr<const sim::Simulation> simulation;
    sim::Recording recording;
    sim::Recovered recovered;
    sim::Arrivals arrivals;
    sim::StepTrace step;
};

/// Time of the process' spans, by class; `name`: only of kinds that begin so.
std::int64_t timeOf(const sim::Trace& trace, int process, sim::OpClass opClass, const std::string& name = {})
{
    std::int64_t sum = 0;
    for (const sim::Track& track : trace.tracks)
        for (std::size_t i = 0; track.process == process && track.role != sim::TrackRole::actions && i < track.size(); ++i)
            if (const sim::SpanKind& kind = trace.kinds[track.kind[i]]; kind.opClass == opClass && kind.name.starts_with(name))
                sum += track.durationNs[i];
    return sum;
}

TEST(StepTrace, HasARowOfActionsAndTheSameComputingAsTheSimulation)
{
    const Made made(slowFifth());
    const sim::Trace& trace = made.step.trace;
    ASSERT_EQ(trace.processes.size(), 8U);
    EXPECT_EQ(trace.processes[5].rank, 5);
    EXPECT_EQ(made.step.originNs, made.recovered.steps.steps[0].startNs);
    for (int rank = 0; rank < 8; ++rank) {
        std::int64_t computing = 0;
        for (const sim::OpClass c : {sim::OpClass::forward, sim::OpClass::backward, sim::OpClass::optimizer, sim::OpClass::other})
            for (const sim::Track& track : trace.tracks)
                for (std::size_t i = 0; track.process == rank && track.role == sim::TrackRole::compute && i < track.size(); ++i)
                    computing += trace.kinds[track.kind[i]].opClass == c ? track.durationNs[i] : 0;
        const std::int64_t simulated = made.simulation->timeOfClass(made.simulation->classOf(rank)).busyNs;
        EXPECT_NEAR(static_cast<double>(computing), static_cast<double>(simulated), 0.001 * static_cast<double>(simulated));
        EXPECT_GT(timeOf(trace, rank, sim::OpClass::forward), 0);
        EXPECT_GT(timeOf(trace, rank, sim::OpClass::backward), timeOf(trace, rank, sim::OpClass::forward));
        EXPECT_GT(timeOf(trace, rank, sim::OpClass::tpComm), 0);
    }
    std::size_t actions = 0;
    for (const sim::Track& track : trace.tracks)
        actions += track.role == sim::TrackRole::actions ? track.size() : 0;
    std::size_t scheduled = 0;
    for (int rank = 0; rank < 8; ++rank)
        scheduled +=
            made.simulation->schedule().actions[static_cast<std::size_t>(made.simulation->mesh().coordinates(rank).pp)].size();
    EXPECT_EQ(actions, scheduled);
}

TEST(StepTrace, CutsCollectivesIntoTheWaitForTheLastAndTheTransfer)
{
    const Made made(slowFifth());
    // Rank 4 shares its layers with the slow rank 5, and waits for it; rank 5 waits for nobody in their group.
    const std::int64_t four = timeOf(made.step.trace, 4, sim::OpClass::other, "wait tp");
    const std::int64_t five = timeOf(made.step.trace, 5, sim::OpClass::other, "wait tp");
    EXPECT_GT(four, 0);
    EXPECT_LT(five, four / 20);
    const auto transfers = [&](int rank) { return timeOf(made.step.trace, rank, sim::OpClass::tpComm); };
    EXPECT_NEAR(static_cast<double>(transfers(4)), static_cast<double>(transfers(5)), 0.01 * static_cast<double>(transfers(5)));
}

TEST(StepTrace, SpansOfATrackNeverBeginBeforeTheOneBeforeAndStayWithinTheStep)
{
    const Made made(slowFifth());
    for (const sim::Track& track : made.step.trace.tracks) {
        EXPECT_TRUE(std::is_sorted(track.startNs.begin(), track.startNs.end())) << track.name;
        for (std::size_t i = 0; i < track.size(); ++i) {
            EXPECT_GE(track.startNs[i], 0);
            EXPECT_LE(track.startNs[i] + track.durationNs[i], made.step.trace.endNs);
        }
    }
    ASSERT_FALSE(made.step.trace.flows.empty());
    for (const sim::Flow& flow : made.step.trace.flows) {
        EXPECT_LT(flow.fromSpan, made.step.trace.tracks[flow.fromTrack].size());
        EXPECT_LT(flow.toSpan, made.step.trace.tracks[flow.toTrack].size());
        EXPECT_EQ(made.step.trace.kinds[made.step.trace.tracks[flow.fromTrack].kind[flow.fromSpan]].opClass,
                  sim::OpClass::ppComm);
    }
}

TEST(StepTrace, TooManySpansAreRefusedWithTheirNumber)
{
    const Made made(slowFifth());
    try {
        sim::stepTrace(made.recording, made.recovered, made.arrivals, 0, {.mostSpans = 10});
        FAIL();
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("up to 10 are drawn at once"));
    }
}

TEST(SaidGrid, TakesThePlaceOfTheRecoveredOne)
{
    const Made made(slowFifth());
    const sim::Recovered again =
        sim::recover(made.recording, {.corrections = {}, .grid = sim::namedGrid({{"tp", 4}, {"cp", 1}, {"dp", 1}, {"pp", 2}})});
    EXPECT_EQ(again.axes.sizeOf("tp"), 4);
    EXPECT_EQ(again.axes.sizeOf("dp"), 1);
    EXPECT_EQ(again.axes.sizeOf("pp"), 2);
    ASSERT_NE(again.axes.find("tp"), nullptr);
    EXPECT_EQ(again.axes.find("tp")->evidence, "as somebody said");
    EXPECT_EQ(again.axes.find("tp")->sure, 1);
}

TEST(SaidGrid, OfAnotherWorldIsRefusedWithBothNumbers)
{
    const Made made(slowFifth());
    try {
        sim::recover(made.recording, {.corrections = {}, .grid = sim::namedGrid({{"tp", 3}, {"pp", 2}})});
        FAIL();
    } catch (const sim::Error& error) {
        EXPECT_STREQ(error.what(), "tp 3 · pp 2 are 6 ranks, and the recording is of 8");
    }
}

TEST(StandIn, IsLegalAndHasTheSameGroupsForAnyLayout)
{
    std::mt19937 random(7);
    const auto pick = [&](std::vector<int> of) { return of[random() % of.size()]; };
    for (int i = 0; i < 24; ++i) {
        const int tp = pick({1, 2, 4}), cp = pick({1, 2}), pp = pick({1, 2, 4, 3}), dp = pick({1, 2, 3, 4});
        sim::Recovered recovered;
        recovered.axes.worldSize = tp * cp * pp * dp;
        for (const sim::NamedAxis& axis : sim::namedGrid({{"tp", tp}, {"cp", cp}, {"dp", dp}, {"pp", pp}}, pick({1, dp})))
            recovered.axes.axes.push_back({.name = axis.name,
                                           .size = axis.size,
                                           .stride = axis.stride,
                                           .parts = {{axis.stride, axis.size}},
                                           .evidence = {},
                                           .sure = 1,
                                           .partNames = {}});
        const std::string text = sim::standInScenario(recovered).dump();
        const auto resolved = sim::ScenarioDocument::parse(text).resolve(test::catalogue());
        ASSERT_TRUE(resolved.scenario) << text << "\n" << (resolved.problems.empty() ? "" : resolved.problems.front().text());
        const auto simulation = sim::simulate(*resolved.scenario);
        ASSERT_EQ(simulation->mesh().worldSize(), recovered.axes.worldSize);
        for (int rank = 0; rank < recovered.axes.worldSize; ++rank) {
            const sim::Coordinates where = simulation->mesh().coordinates(rank);
            const auto coordinate = [&](const char* name) {
                const sim::RecoveredAxis* axis = recovered.axes.find(name);
                return axis == nullptr ? 0 : sim::RecoveredAxes::coordinate(*axis, rank);
            };
            EXPECT_EQ(where.tp, coordinate("tp"));
            EXPECT_EQ(where.pp, coordinate("pp"));
            EXPECT_EQ(where.dp, coordinate("dp"));
        }
    }
}

} // namespace
