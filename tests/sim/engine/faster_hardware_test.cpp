// What faster and slower hardware does to a step, on random jobs. Where transfers share ports or slow kernels down, one that ends
// earlier may meet others that it did not meet before, so that something else ends later (as jobs on several machines do: Graham
// 1969, Bounds on Multiprocessing Timing Anomalies); a step may then be longer by a little of what was shared, never by more.
#include "sim/engine/engine.h"

#include "tests/sim/engine/world.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace sim;
using test::apart;
using test::World;

namespace {

std::int64_t endOfStep(const Scenario& scenario, bool isApart)
{
    World world(scenario);
    if (isApart)
        world.prices = apart(world.prices);
    return world.run().endNs;
}

struct Change {
    std::string name;
    std::function<void(Cluster&)> makes;
};

const std::vector<Change> kFaster{
    {"links of more bandwidth",
     [](Cluster& cluster) {
         for (Tier& tier : cluster.tiers)
             tier.bandwidthGBs *= 1.5;
     }},
    {"the outermost links of more bandwidth", [](Cluster& cluster) { cluster.tiers.back().bandwidthGBs *= 3; }},
    {"links of less latency",
     [](Cluster& cluster) {
         for (Tier& tier : cluster.tiers)
             tier.latencyUs /= 2;
     }},
    {"GPUs of more FLOP/s",
     [](Cluster& cluster) {
         for (auto& [precision, tflops] : cluster.gpu.peakTflops)
             tflops *= 1.5;
     }},
    {"memory of more bandwidth", [](Cluster& cluster) { cluster.gpu.memoryBandwidthGBs *= 1.5; }}};

} // namespace

TEST(FasterHardware, NeverMakesAStepLonger)
{
    std::mt19937 random(71);
    std::vector<int> helped(kFaster.size());
    for (int i = 0; i < test::tries(60); ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        if (i % 3 == 0) // steps as long as their hosts need
            scenario.training.stack.launchUs = scenario.training.stack.backwardLaunchUs =
                scenario.training.stack.collectiveLaunchUs = 100;
        const Cluster cluster = scenario.cluster;
        const std::int64_t alone = endOfStep(scenario, true), shared = endOfStep(scenario, false);
        for (std::size_t c = 0; c < kFaster.size(); ++c) {
            SCOPED_TRACE(kFaster[c].name);
            scenario.cluster = cluster;
            kFaster[c].makes(scenario.cluster);
            const std::int64_t faster = endOfStep(scenario, true);
            EXPECT_LE(faster, alone);
            EXPECT_LE(static_cast<double>(endOfStep(scenario, false)), 1.01 * static_cast<double>(shared));
            helped[c] += faster < alone ? 1 : 0;
        }
    }
    for (std::size_t c = 0; c < kFaster.size(); ++c)
        EXPECT_GE(helped[c], test::tries(10)) << kFaster[c].name;
}

TEST(FasterHardware, IsWhatASlowGpuOrLinkIsNot)
{
    std::mt19937 random(72);
    int slowed = 0;
    for (int i = 0; i < 60; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        scenario.perturbations.clear();
        SCOPED_TRACE(test::describe(scenario));
        const std::int64_t alone = endOfStep(scenario, true), shared = endOfStep(scenario, false);
        const int rank = static_cast<int>(random() % static_cast<unsigned>(scenario.layout.worldSize()));
        std::int64_t before = alone;
        for (const double factor : {1.2, 2.0}) {
            scenario.perturbations = {
                {.kind = i % 3 == 0 ? PerturbationKind::slowLink : PerturbationKind::slowGpu, .rank = rank, .factor = factor}};
            const std::int64_t slower = endOfStep(scenario, true);
            EXPECT_GE(slower, before) << factor;
            EXPECT_GE(static_cast<double>(endOfStep(scenario, false)), 0.99 * static_cast<double>(shared)) << factor;
            before = slower;
        }
        slowed += before > alone ? 1 : 0;
    }
    EXPECT_GT(slowed, 30);
}

TEST(FasterHardware, ScalesAllTimesWithTheUnitOfTime)
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
