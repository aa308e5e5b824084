// Offloading waits only where the link to the host is too slow, and gives back what it should.
#include "sim/simulate/simulation.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;

namespace {

const Metrics& metricsOf(const Scenario& scenario)
{
    static std::shared_ptr<const Simulation> simulation;
    simulation = simulate(scenario);
    return simulation->metrics();
}

} // namespace

TEST(Offload, KeepsTwoLayersAtATime)
{
    const Scenario plain = test::smallScenario();
    const std::int64_t kept = operatorsOf(plain.model, Sharding::of(plain), LayerKind{}).savedBytes();
    const auto peak = [](int layers) {
        return simulate(test::offloadedScenario(0, layers))->metrics().perPipelineRank[0].memory.activations;
    };
    // At the head the last layer is there, and the one before it until it has left.
    EXPECT_EQ(peak(0) - peak(7), 7 * kept);
    EXPECT_EQ(peak(0) - peak(6), 6 * kept);
}

TEST(Offload, CostsNothingOverAFastLinkAndNeverLessOverASlowerOne)
{
    for (const int pp : {1, 2}) {
        const double without = metricsOf(test::offloadedScenario(0, 0, pp)).stepTimeSeconds;
        double before = 0;
        for (const double link : {1e6, 100.0, 30.0, 10.0, 1.0}) {
            Scenario scenario = test::offloadedScenario(0, 3, pp);
            scenario.cluster.gpu.hostBandwidthGBs = link;
            const Metrics& metrics = metricsOf(scenario);
            EXPECT_GE(metrics.stepTimeSeconds, before);
            EXPECT_GE(metrics.stepTimeSeconds, without);
            if (link == 1e6) {
                EXPECT_NEAR(metrics.stepTimeSeconds, without, 1e-3 * without);
            }
            before = metrics.stepTimeSeconds;
        }
        EXPECT_GT(metricsOf([&] {
                      Scenario slow = test::offloadedScenario(0, 3, pp);
                      slow.cluster.gpu.hostBandwidthGBs = 1;
                      return slow;
                  }())
                      .exposedHost,
                  0.5);
    }
}

TEST(Offload, OfTheOptimizerTakesAsLongAsItsSlowestPart)
{
    // Eight pieces: the first goes out alone, the last comes back alone, and between them the slowest of three works on all.
    const auto exposed = [](double link, double memory) {
        Scenario scenario = test::offloadedScenario(1, 0);
        scenario.cluster.gpu.hostBandwidthGBs = link / scenario.cluster.efficiency.hostLink;
        scenario.cluster.host.memoryBandwidthGBs = memory / scenario.cluster.efficiency.hostMemory;
        const Metrics& metrics = metricsOf(scenario);
        return metrics.exposedHost * metrics.stepTimeSeconds + metrics.computing.optimizer; // runs beside it
    };
    const auto elements = static_cast<double>(test::programOf(test::offloadedScenario(1, 0)).ranks[0].states.parameterElements);
    const double out = elements * 4 / 1e9, work = elements * 52 / 1e9, back = elements * 2 / 1e9; // seconds at 1 GB/s
    EXPECT_NEAR(exposed(10, 10), (out / 8 + work + back / 8) / 10, 1e-3 * work);
    EXPECT_NEAR(exposed(10, 1000), (out + back / 8) / 10 + work / 8 / 1000, 1e-3 * out);
}

TEST(Offload, CountsWhatTheHostHolds)
{
    Scenario scenario = test::offloadedScenario(0.5, 2, 2);
    const auto simulation = simulate(scenario);
    const Program program = test::programOf(scenario);
    const std::int64_t kept = operatorsOf(scenario.model, Sharding::of(scenario), LayerKind{}).savedBytes();
    // The first of two stages has two micro-batches under way, the second one: the node's host holds both stages' share.
    const std::int64_t first = program.ranks[0].states.hostOptimizer + 2 * 2 * kept,
                       second = program.ranks[1].states.hostOptimizer + 2 * kept;
    ASSERT_NE(first, second);
    const double gib = static_cast<double>(first + second) / 1073741824.0;
    EXPECT_NEAR(simulation->metrics().hostMemoryGib, gib, 1e-9);
    EXPECT_EQ(simulate(scenario, {.full = true})->metrics().hostMemoryGib, simulation->metrics().hostMemoryGib);
    EXPECT_TRUE(simulation->metrics().hostFits);
    scenario.cluster.host.memoryGib = gib * 1.001;
    EXPECT_TRUE(simulate(scenario)->metrics().hostFits);
    scenario.cluster.host.memoryGib = gib * 0.99;
    EXPECT_FALSE(simulate(scenario)->metrics().hostFits);
    // A node each: the fuller host counts.
    scenario.cluster.nodes = 2;
    scenario.layout.placement = PlacementRule::roundRobin;
    EXPECT_NEAR(simulate(scenario)->metrics().hostMemoryGib, static_cast<double>(std::max(first, second)) / 1073741824.0, 1e-9);
}
