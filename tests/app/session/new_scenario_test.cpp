#include "app/session/new_scenario.h"

#include "sim/simulate/simulation.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(NewScenario, FillsTheGpusAndFitsThem)
{
    for (std::size_t goal = 0; goal < goals().size(); ++goal) {
        const auto document = makeNewScenario({"llama3-8b", "h100-sxm-ib400", 4, goal}, test::catalogue());
        const sim::Scenario scenario = test::scenario(document);
        EXPECT_EQ(scenario.layout.worldSize(), 32) << goals()[goal].name;
        EXPECT_EQ(scenario.training.sequenceLength, goals()[goal].sequenceLength);
        EXPECT_LE(sim::simulate(scenario)->metrics().peakMemoryGib, scenario.cluster.gpu.memoryGib) << goals()[goal].name;
    }
}

/// What the goal's words promise.
TEST(NewScenario, HasTheBatchOfTheGoalWhereALayoutOfTheGpusTakesIt)
{
    const auto document = makeNewScenario({"llama3-8b", "h100-sxm-ib400", 16, 3}, test::catalogue());
    EXPECT_EQ(test::scenario(document).training.globalBatchSize, goals()[3].globalBatchSize);
}

TEST(NewScenario, OfAModelTooLargeIsTheOneThatNeedsLeast)
{
    const auto document = makeNewScenario({"llama3-405b", "h100-sxm-ib400", 1, 0}, test::catalogue());
    EXPECT_EQ(test::scenario(document).layout.worldSize(), 8);
}

} // namespace
} // namespace app
