// What slower hardware does to a step, on random jobs. Where transfers share ports or slow kernels down, one that ends later may
// miss others that it met before, so that something else ends earlier (as jobs on several machines do: Graham 1969, Bounds on
// Multiprocessing Timing Anomalies); a step may then be shorter by a little of what was shared, never by more.
#include "sim/engine/engine.h"

#include "tests/sim/engine/world.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace sim;
using test::apart;
using test::World;

namespace {

std::int64_t endNs(const Scenario& scenario, bool isApart)
{
    World world(scenario);
    if (isApart)
        world.prices = apart(world.prices);
    return world.run().endNs;
}

} // namespace

TEST(SlowerHardware, NeverMakesAStepShorter)
{
    std::mt19937 random(72);
    int slowed = 0;
    for (int i = 0; i < 60; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        scenario.perturbations.clear();
        SCOPED_TRACE(test::describe(scenario));
        const std::int64_t alone = endNs(scenario, true), shared = endNs(scenario, false);
        const int rank = static_cast<int>(random() % static_cast<unsigned>(scenario.layout.worldSize()));
        std::int64_t before = alone;
        for (const double factor : {1.2, 2.0}) {
            scenario.perturbations = {
                {.kind = i % 3 == 0 ? PerturbationKind::slowLink : PerturbationKind::slowGpu, .rank = rank, .factor = factor}};
            const std::int64_t slower = endNs(scenario, true);
            EXPECT_GE(slower, before) << factor;
            EXPECT_GE(static_cast<double>(endNs(scenario, false)), 0.99 * static_cast<double>(shared)) << factor;
            before = slower;
        }
        slowed += before > alone ? 1 : 0;
    }
    EXPECT_GT(slowed, 30);
}

TEST(SlowerHardware, ScalesAllTimesWithTheUnitOfTime)
{
    constexpr std::int64_t kTimes = 1000; // a microsecond for each nanosecond
    std::mt19937 random(73);
    for (int i = 0; i < 60; ++i) {
        const Scenario scenario = test::randomScenario(random, 48);
        if (!scenario.perturbations.empty() || scenario.training.documents.areGiven())
            continue; // their times are rounded one by one
        SCOPED_TRACE(test::describe(scenario));
        for (const bool isApart : {true, false}) {
            World world(scenario);
            if (isApart)
                world.prices = apart(world.prices);
            const EngineResult once = world.run();
            test::stretch(world.prices, kTimes);
            const EngineResult scaled = world.run();
            if (!isApart) { // shares end at whole nanoseconds
                EXPECT_NEAR(static_cast<double>(scaled.endNs), static_cast<double>(kTimes * once.endNs),
                            1e-3 * static_cast<double>(scaled.endNs));
                continue;
            }
            ASSERT_EQ(scaled.opEndNs.size(), once.opEndNs.size());
            for (std::size_t op = 0; op < once.opEndNs.size(); ++op) {
                ASSERT_EQ(scaled.opStartNs[op], kTimes * once.opStartNs[op]);
                ASSERT_EQ(scaled.opEndNs[op], kTimes * once.opEndNs[op]);
            }
        }
    }
}
