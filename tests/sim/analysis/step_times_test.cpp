#include "sim/analysis/step_times.h"

#include "sim/answers/answers.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace sim;

namespace {

Scenario jittered(double sigma, std::uint64_t seed = 3)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.perturbations = {{.kind = PerturbationKind::jitter, .sigma = sigma, .seed = seed}};
    return scenario;
}

} // namespace

TEST(StepTimes, TheFirstIsTheStepItselfAndOthersDiffer)
{
    const auto simulation = simulate(jittered(0.05));
    const StepTimes times = stepTimes(*simulation, 50, 1);
    ASSERT_EQ(times.seconds.size(), 50U);
    EXPECT_EQ(times.seconds[0], simulation->metrics().stepTimeSeconds);
    EXPECT_EQ(std::set<double>(times.seconds.begin(), times.seconds.end()).size(), 50U) << "each is drawn anew";
    EXPECT_LT(times.least, times.p10);
    EXPECT_LT(times.p10, times.median);
    EXPECT_LT(times.median, times.p90);
    EXPECT_LT(times.p90, times.most);
    EXPECT_GT(times.mean, times.least);
    EXPECT_LT(times.mean, times.most);
}

TEST(StepTimes, AreTheSameWithAnyNumberOfThreads)
{
    const auto simulation = simulate(jittered(0.05));
    const StepTimes one = stepTimes(*simulation, 30, 1);
    EXPECT_EQ(stepTimes(*simulation, 30, 4).seconds, one.seconds);
    EXPECT_EQ(stepTimes(*simulation, 10, 3).seconds, std::vector(one.seconds.begin(), one.seconds.begin() + 10))
        << "fewer are the first of more";
}

TEST(StepTimes, DifferAsMuchAsStepsWithOtherSeeds)
{
    // The next step is another draw of the same jitter: what another seed would give, in the mean.
    const StepTimes times = stepTimes(*simulate(jittered(0.1)), 200, 2);
    double mean = 0;
    constexpr int kSeeds = 100;
    for (int seed = 100; seed < 100 + kSeeds; ++seed)
        mean += simulate(jittered(0.1, static_cast<std::uint64_t>(seed)))->metrics().stepTimeSeconds / kSeeds;
    EXPECT_NEAR(times.mean, mean, 0.3 * (times.p90 - times.p10));
}

TEST(StepTimes, WithoutJitterAreAllTheSame)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.perturbations = {{.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 2}};
    for (const Scenario& s : {scenario, jittered(0)}) {
        const auto simulation = simulate(s);
        EXPECT_FALSE(varies(simulation->classes()));
        const StepTimes times = stepTimes(*simulation, kMostSteps, 2);
        EXPECT_EQ(times.least, simulation->metrics().stepTimeSeconds);
        EXPECT_EQ(times.most, times.least);
    }
}

TEST(StepTimes, MoreJitterSpreadsThemMore)
{
    const StepTimes little = stepTimes(*simulate(jittered(0.01)), 60, 2), much = stepTimes(*simulate(jittered(0.1)), 60, 2);
    EXPECT_GT(much.p90 - much.p10, 3 * (little.p90 - little.p10));
    EXPECT_GT(much.median, little.median) << "whoever is late makes all wait";
}

TEST(StepTimes, TooManyOpsAreRefusedWithHowManyStepsWouldDo)
{
    Scenario scenario = test::smallScenario(2, 2, 8, 1024);
    scenario.perturbations = {{.kind = PerturbationKind::jitter, .sigma = 0.05}};
    const auto simulation = simulate(scenario);
    const std::int64_t ops = simulation->metrics().simulatedOps, most = kMostOpsOfSteps / ops;
    ASSERT_LT(most, kMostSteps) << ops;
    try {
        stepTimes(*simulation, kMostSteps, 2);
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::EndsWith("nearest: " + std::to_string(most))) << error.what();
    }
}

TEST(StepTimes, EndWhenNobodyWaitsForThem)
{
    const auto simulation = simulate(jittered(0.05));
    const std::atomic<bool> cancelled = true;
    const CancelScope scope(cancelled);
    EXPECT_THROW(stepTimes(*simulation, 30, 3), Cancelled);
}

TEST(StepTimes, StandInTheAnswer)
{
    const auto simulation = simulate(jittered(0.05));
    Answer answer = stepAnswer(*simulation);
    const StepTimes times = stepTimes(*simulation, 20, 2);
    addStepTimes(answer, times);
    const Answer& told = answer.at("step_times");
    EXPECT_EQ(told.at("steps"), 20);
    EXPECT_EQ(told.at("median_s"), times.median);
    EXPECT_EQ(told.at("p90_s"), times.p90);
    EXPECT_THAT(times.text(), testing::HasSubstr(" in the median of 20 steps, "));
}
