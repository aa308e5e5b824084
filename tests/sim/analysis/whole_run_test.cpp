#include "sim/analysis/whole_run.h"

#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

TEST(WholeRun, IsNothingUnlessTheTokensAreSaid)
{
    EXPECT_FALSE(wholeRun(*simulate(test::smallScenario())));
}

TEST(WholeRun, IsItsStepsOneAfterTheOther)
{
    Scenario scenario = test::smallScenario(1, 2, 2);
    const double tokensAStep = 1.0 * scenario.training.globalBatchSize * scenario.training.sequenceLength;
    scenario.training.tokens = 1e6 * tokensAStep;
    const auto simulation = simulate(scenario);
    const std::optional<WholeRun> run = wholeRun(*simulation);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->steps, 1e6);
    EXPECT_DOUBLE_EQ(run->days, 1e6 * simulation->metrics().stepTimeSeconds / 86400);
    EXPECT_DOUBLE_EQ(run->gpuHours, run->days * 24 * 4);
    scenario.training.tokens += 1;
    EXPECT_EQ(wholeRun(*simulate(scenario))->steps, 1e6 + 1) << "the rest is a step, too";
}
