// The host's launches: no op begins before it was started, whatever is fast or slow.
#include "sim/engine/engine.h"

#include "tests/sim/engine/world.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <random>

using namespace sim;
using test::World;

namespace {

/// What the host does for a step of the busiest pipeline rank, but behind the last op that it holds up.
std::int64_t launchedNs(const World& world)
{
    std::int64_t most = 0;
    for (const RankProgram& rank : world.program.ranks) {
        std::int64_t before = 0, last = 0;
        for (const Step& step : rank.steps) {
            for (const OpLaunch& op : world.prices.launches[step.pass].ops)
                last = std::max(last, before + op.startedNs);
            before += world.prices.launchNs(step.pass);
        }
        most = std::max(most, last);
    }
    return most;
}

void setLaunches(Scenario& scenario, double us)
{
    Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = us;
}

} // namespace

TEST(Host, NoStepIsShorterThanItsLaunches)
{
    Scenario scenario = test::smallScenario(2, 1, 1, 4);
    scenario.training.stack.collectiveLaunchUs = 10'000;
    const World bound(scenario);
    std::int64_t collectives = 0;
    for (const Step& step : bound.program.ranks[0].steps)
        for (const Op& op : bound.program.passes[step.pass].ops)
            collectives += op.stream == Stream::tp ? 1 : 0;
    ASSERT_GT(collectives, 50);
    EXPECT_GE(bound.run().endNs, collectives * 10'000'000 * 9 / 10);
    std::mt19937 random(81);
    int hosts = 0;
    for (int i = 0; i < 60; ++i) {
        scenario = test::randomScenario(random, 48);
        setLaunches(scenario, i % 2 == 0 ? 5 : 200);
        SCOPED_TRACE(test::describe(scenario));
        const World world(scenario);
        if (world.prices.launches.empty())
            continue;
        const std::int64_t step = world.run().endNs, launched = launchedNs(world);
        EXPECT_GE(step, launched);
        hosts += static_cast<double>(launched) > 0.9 * static_cast<double>(step) ? 1 : 0;
    }
    EXPECT_GT(hosts, 5) << "steps as long as their hosts need";
}

TEST(Host, IsNoSlowerOnASlowGpu)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 8);
    setLaunches(scenario, 200);
    const double once = static_cast<double>(World(scenario).run().endNs);
    Scenario half = scenario;
    for (auto& [precision, tflops] : half.cluster.gpu.peakTflops)
        tflops /= 2;
    half.cluster.gpu.memoryBandwidthGBs /= 2;
    const double slow = static_cast<double>(World(half).run().endNs);
    scenario.perturbations = {{.kind = PerturbationKind::slowGpu, .rank = 0, .factor = 2}};
    const double perturbed = static_cast<double>(World(scenario).run().endNs);
    EXPECT_LT(slow, 1.5 * once);
    EXPECT_NEAR(perturbed, slow, 0.03 * slow);
    // Transfers beside kernels likewise.
    scenario = test::smallScenario(1, 1, 2, 8);
    scenario.layout.zeroStage = 3;
    scenario.layout.dpShard = 0;
    test::resolve(scenario);
    setLaunches(scenario, 1000);
    World world(scenario);
    world.prices.besideTransfers = 1;
    const std::int64_t apart = world.run().endNs;
    world.prices.besideTransfers = 2;
    EXPECT_LT(static_cast<double>(world.run().endNs), 1.1 * static_cast<double>(apart));
}

TEST(Host, IsWaitedForAlikeInRunsOfOpsAndOpByOp)
{
    std::mt19937 random(82);
    for (int i = 0; i < 80; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        scenario.perturbations.clear();
        Stack& stack = scenario.training.stack;
        setLaunches(scenario, i % 3 == 0 ? 5 : 60);
        stack.blocksLaunches = i % 4 == 0;
        stack.expertLaunchUs = i % 5 == 0 ? 9 : 0;
        SCOPED_TRACE(test::describe(scenario));
        for (const bool full : {false, true}) {
            World world(scenario, full);
            const EngineResult inRuns = world.run();
            for (RankSlowdown& slowdown : world.classes.slowdown)
                slowdown.jitterSeed = 1; // of no jitter
            const EngineResult opByOp = world.run();
            EXPECT_EQ(inRuns.opStartNs, opByOp.opStartNs);
            EXPECT_EQ(inRuns.opEndNs, opByOp.opEndNs);
        }
    }
}
