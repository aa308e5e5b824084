#include "sim/analysis/compare.h"

#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

namespace {

/// Synthesis does not know yet of recomputation that keeps more than it frees.
Scenario anyScenario(std::mt19937& random)
{
    Scenario scenario = test::randomScenario(random, 64);
    while (scenario.schedule.kind == "auto" && scenario.training.recompute != Recompute::none)
        scenario = test::randomScenario(random, 64);
    return scenario;
}

std::int64_t sumOfDeltas(const auto& comparison)
{
    std::int64_t sum = 0;
    for (const StepPart part : kStepParts)
        sum += comparison.deltaNs(part);
    return sum;
}

} // namespace

TEST(PartsOfAStep, PartsFillTheStepToTheNanosecond)
{
    std::mt19937 random(71);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = anyScenario(random);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        const Metrics& metrics = simulation->metrics();
        const std::int64_t stepNs = simulation->trace(TraceDetail::actions).endNs;
        EXPECT_EQ(metrics.use.total(), stepNs);
        for (const PipelineRankMetrics& row : metrics.perPipelineRank) {
            EXPECT_EQ(row.use.total(), stepNs);
            for (const std::int64_t part : row.use)
                EXPECT_GE(part, 0);
            const std::int64_t busyNs = row.use.busy();
            EXPECT_NEAR(static_cast<double>(busyNs), row.busySeconds * 1e9, 3);
            EXPECT_NEAR(static_cast<double>(row.use[StepPart::bubble]), row.bubbleSeconds * 1e9, 3);
        }
        EXPECT_NEAR(static_cast<double>(metrics.use[StepPart::tp]),
                    metrics.exposedComm[Dimension::tp] * static_cast<double>(stepNs), 3);
        EXPECT_EQ(metrics.use[StepPart::recomputation] > 0, scenario.training.recompute != Recompute::none);
        EXPECT_GT(metrics.use[StepPart::optimizer], 0);
    }
}

TEST(PartsOfAStep, FoldedIsTheFullOne)
{
    std::mt19937 random(72);
    for (int i = 0; i < 20; ++i) {
        const Scenario scenario = anyScenario(random);
        SCOPED_TRACE(test::describe(scenario));
        EXPECT_EQ(simulate(scenario)->metrics().use, simulate(scenario, {.full = true})->metrics().use);
    }
}

TEST(Comparison, PartsOfTheDifferenceAddUpExactly)
{
    std::mt19937 random(73);
    auto before = simulate(anyScenario(random));
    for (int i = 0; i < 40; ++i) {
        const auto after = simulate(anyScenario(random));
        const Comparison comparison = compare(*before, *after);
        EXPECT_EQ(sumOfDeltas(comparison), comparison.deltaNs());
        EXPECT_NEAR(static_cast<double>(comparison.deltaNs()),
                    (after->metrics().stepTimeSeconds - before->metrics().stepTimeSeconds) * 1e9, 1);
        for (const StageComparison& stage : comparison.stages)
            EXPECT_EQ(sumOfDeltas(stage), comparison.deltaNs());
        EXPECT_EQ(comparison.stages.empty(), before->scenario().layout.pp != after->scenario().layout.pp);
        before = after;
    }
}

TEST(Comparison, TurnedRoundEverythingChangesItsSign)
{
    std::mt19937 random(74);
    for (int i = 0; i < 10; ++i) {
        const auto a = simulate(anyScenario(random)), b = simulate(anyScenario(random));
        const Comparison forth = compare(*a, *b), back = compare(*b, *a);
        EXPECT_EQ(forth.deltaNs(), -back.deltaNs());
        for (const StepPart part : kStepParts)
            EXPECT_EQ(forth.deltaNs(part), -back.deltaNs(part)) << factsOf(part).name;
        EXPECT_EQ(forth.memory.a, back.memory.b);
        EXPECT_EQ(forth.mfu.b, back.mfu.a);
        EXPECT_EQ(forth.stages.size(), back.stages.size());
    }
}

TEST(Comparison, OfAStepWithItselfIsNothing)
{
    std::mt19937 random(75);
    const auto step = simulate(anyScenario(random));
    const Comparison comparison = compare(*step, *step);
    for (const StepPart part : kStepParts)
        EXPECT_EQ(comparison.deltaNs(part), 0);
    EXPECT_EQ(comparison.memory.a, comparison.memory.b);
    EXPECT_EQ(comparison.stages.size(), static_cast<std::size_t>(step->scenario().layout.pp));
}

TEST(Comparison, ASlowerLinkIsExposedCommunicationAndNothingElse)
{
    Scenario scenario = test::smallScenario(8, 1, 2);
    const auto fast = simulate(scenario);
    for (Tier& tier : scenario.cluster.tiers)
        tier.bandwidthGBs /= 4;
    const Comparison comparison = compare(*fast, *simulate(scenario));
    EXPECT_GT(comparison.deltaNs(StepPart::tp), 0);
    for (const StepPart part : {StepPart::computing, StepPart::recomputation, StepPart::optimizer, StepPart::cp, StepPart::ep,
                                StepPart::pp, StepPart::bubble})
        EXPECT_EQ(comparison.deltaNs(part), 0) << factsOf(part).name;
    EXPECT_LE(comparison.deltaNs(StepPart::host), 0) << "its launches come earlier beside what waits longer";
    EXPECT_EQ(comparison.deltaNs(),
              comparison.deltaNs(StepPart::tp) + comparison.deltaNs(StepPart::dp) + comparison.deltaNs(StepPart::host));
    EXPECT_EQ(comparison.memory.a, comparison.memory.b);
}

TEST(Comparison, RecomputationIsToldApartFromComputing)
{
    Scenario scenario = test::smallScenario(2, 1, 1, 4);
    const auto without = simulate(scenario);
    scenario.training.recompute = Recompute::full;
    const Comparison comparison = compare(*without, *simulate(scenario));
    EXPECT_GT(comparison.deltaNs(StepPart::recomputation), 0);
    EXPECT_EQ(comparison.deltaNs(StepPart::computing), 0);
    EXPECT_EQ(comparison.deltaNs(StepPart::optimizer), 0);
    EXPECT_LT(comparison.memory.b.activations, comparison.memory.a.activations);
    EXPECT_EQ(comparison.memory.b.parameters, comparison.memory.a.parameters);
}

TEST(Comparison, MemoryIsOfTheFullestRank)
{
    std::mt19937 random(76);
    for (int i = 0; i < 10; ++i) {
        const auto step = simulate(anyScenario(random));
        const Comparison comparison = compare(*step, *step);
        EXPECT_NEAR(static_cast<double>(comparison.memory.b.total()), step->metrics().peakMemoryGib * 1024 * 1024 * 1024, 1);
    }
}

/// A GPU that holds all has no say in what its file's cap and its host do.
TEST(Comparison, WhatFitsItsGpusMayMissItsCapOrOverfillItsHost)
{
    Scenario capped = test::smallScenario(1, 2), offloaded = test::offloadedScenario(1, 0);
    capped.schedule.kind = "auto";
    const auto roomy = simulate(capped);
    const Comparison fitting = compare(*roomy, *simulate(offloaded));
    EXPECT_TRUE(fitting.fits.a && fitting.fits.b);
    capped.schedule.memoryCapGib = 0.1 * roomy->metrics().peakMemoryGib;
    offloaded.cluster.host.memoryGib = 1e-3;
    const auto a = simulate(capped), b = simulate(offloaded);
    ASSERT_TRUE(a->metrics().fits && b->metrics().fits);
    const Comparison comparison = compare(*a, *b);
    EXPECT_FALSE(comparison.fits.a);
    EXPECT_FALSE(comparison.fits.b);
    capped.schedule.kind = "1f1b";
    EXPECT_TRUE(compare(*simulate(capped), *b).fits.a) << "no order is searched under the cap";
}

TEST(Comparison, WholeRunsOfSeveralAreOfOneNumberOfTokens)
{
    Scenario scenario = test::smallScenario(2, 1, 1, 4);
    const auto open = simulate(scenario);
    scenario.training.tokens = 15.6e12;
    const auto said = simulate(scenario);
    scenario.training.tokens = 3e12;
    const auto other = simulate(scenario);
    EXPECT_EQ(comparedTokens({open.get(), open.get()}), kTokensUnlessSaid);
    EXPECT_EQ(comparedTokens({open.get(), said.get(), open.get()}), 15.6e12);
    EXPECT_EQ(comparedTokens({said.get(), open.get(), other.get()}), kTokensUnlessSaid);
    const Both<WholeRun> runs = comparedRuns(*open, *said, 15.6e12);
    EXPECT_EQ(runs.a.tokens, runs.b.tokens);
    EXPECT_DOUBLE_EQ(runs.a.days, runs.b.days);
}
