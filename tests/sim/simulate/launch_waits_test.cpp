// What waits for the host's launches is the host's time: kernels have their own.
#include "sim/simulate/exposed_transfers.h"
#include "sim/simulate/measure.h"
#include "sim/simulate/simulation.h"

#include "tests/sim/engine/world.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace sim;

namespace {

constexpr std::int64_t kUsOfLaunches = 1000;

void launchIn(Scenario& scenario, double us)
{
    Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = us;
    stack.stepMs = us / 10;
}

/// Kernels alike, each of which the host launches in `launchUs`.
test::World ofEqualKernels(const Scenario& scenario, std::int64_t kernelUs, std::int64_t launchUs)
{
    test::World world(scenario);
    world.prices.launches.assign(world.program.passes.size(), {});
    for (std::size_t p = 0; p < world.program.passes.size(); ++p) {
        PassLaunches& of = world.prices.launches[p];
        for (const Op& op : world.program.passes[p].ops) {
            OpLaunch& launch = of.ops.emplace_back();
            if (op.kind != OpKind::compute)
                continue;
            launch.askedNs = of.ns == 0 ? 0 : launch.askedNs;
            launch.startedNs = of.ns += launchUs * kUsOfLaunches;
        }
        for (OpDurations& durations : world.prices.durations)
            for (std::int64_t& ns : durations[p])
                ns = kernelUs * kUsOfLaunches;
    }
    return world;
}

double launchesOf(const Simulation& simulation)
{
    double seconds = 0;
    for (const ExposedKind& kind : exposedKinds(simulation).ofHost)
        if (kind.op == kLaunches || kind.op == kHostStep)
            seconds += kind.seconds;
    return seconds;
}

} // namespace

TEST(LaunchWaits, OfShortKernelsAreAllOfTheStepButTheirOwnTime)
{
    // n kernels of 1 µs, launched in 10 µs each: the last of a pass ends 1 µs behind its launch.
    const test::World world = ofEqualKernels(test::smallScenario(1, 1, 1, 2), 1, 10);
    const EngineResult result = world.run();
    std::int64_t kernels = 0;
    for (const Step& step : world.program.ranks[0].steps)
        for (const Op& op : world.program.passes[step.pass].ops)
            kernels += op.kind == OpKind::compute ? 1 : 0;
    ASSERT_GT(kernels, 20);
    const auto passes = static_cast<std::int64_t>(world.program.ranks[0].steps.size());
    EXPECT_EQ(result.endNs, (10 * kernels + passes) * kUsOfLaunches);
    const TimeShares shares = measureShares(world.program, world.classes, world.prices, result, 0);
    EXPECT_EQ(shares.busyNs, kernels * kUsOfLaunches);
    EXPECT_EQ(shares.exposedHostNs, result.endNs - shares.busyNs);
    EXPECT_EQ(shares.launchNs, shares.exposedHostNs);
    EXPECT_EQ(shares.exposedNs.total(), 0);
}

TEST(LaunchWaits, AreThoseOfTheFirstKernelAloneWhereKernelsAreLong)
{
    const test::World world = ofEqualKernels(test::smallScenario(1, 1, 1, 2), 30, 10);
    const EngineResult result = world.run();
    const TimeShares shares = measureShares(world.program, world.classes, world.prices, result, 0);
    EXPECT_EQ(shares.exposedHostNs, static_cast<std::int64_t>(world.program.ranks[0].steps.size()) * 10 * kUsOfLaunches);
    EXPECT_EQ(shares.busyNs + shares.exposedHostNs, result.endNs);
}

TEST(LaunchWaits, LeaveKernelsTheirOwnTime)
{
    std::mt19937 random(83);
    int bound = 0;
    for (int i = 0; i < 60; ++i) {
        Scenario scenario = test::randomScenario(random, 48);
        scenario.cluster.efficiency.besideTransfers = 1; // else what runs beside them counts
        SCOPED_TRACE(test::describe(scenario));
        launchIn(scenario, 0);
        const auto ahead = simulate(scenario);
        launchIn(scenario, i % 2 == 0 ? 5 : 200);
        scenario.training.stack.blocksLaunches = i % 5 == 0;
        const auto launched = simulate(scenario), full = simulate(scenario, {.full = true});
        EXPECT_EQ(launchesOf(*ahead), 0);
        EXPECT_EQ(launched->metrics().computing, ahead->metrics().computing);
        for (int rank = 0; rank < launched->mesh().worldSize(); ++rank) {
            const TimeShares shares = launched->timeOfClass(launched->classOf(rank)),
                             before = ahead->timeOfClass(ahead->classOf(rank));
            EXPECT_EQ(shares.busyNs, before.busyNs);
            EXPECT_EQ(shares.gemmNs, before.gemmNs);
            EXPECT_EQ(shares.attentionNs, before.attentionNs);
            EXPECT_EQ(shares.recomputationNs, before.recomputationNs);
            EXPECT_EQ(shares.optimizerNs, before.optimizerNs);
            EXPECT_EQ(shares, full->timeOfClass(full->classOf(rank)));
            EXPECT_LE(shares.busyNs + shares.waitingNs(), launched->times().endNs);
        }
        EXPECT_NEAR(launchesOf(*launched), launched->metrics().exposedLaunches * launched->metrics().stepTimeSeconds, 1e-9);
        if (!scenario.training.offload.isOn()) {
            EXPECT_EQ(launched->metrics().exposedLaunches, launched->metrics().exposedHost);
        }
        bound += launched->metrics().exposedHost > 0.5 ? 1 : 0;
    }
    EXPECT_GT(bound, 10) << "steps that wait for their hosts most of all";
}

TEST(LaunchWaits, OfTheHostsWorkBeforeTheOptimizerAreToldApart)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    launchIn(scenario, 0);
    scenario.training.stack.stepMs = 60;
    const std::vector<ExposedKind> kinds = exposedKinds(*simulate(scenario)).ofHost;
    ASSERT_EQ(kinds.size(), 1U);
    EXPECT_EQ(kinds[0].op, kHostStep);
    EXPECT_NEAR(kinds[0].seconds, 0.06, 1e-6);
}

TEST(LaunchWaits, OfACollectiveAreTheHostsToo)
{
    // Collectives alone are launched late; everything else is ahead.
    Scenario scenario = test::smallScenario(2, 1, 1, 4);
    launchIn(scenario, 0);
    const Metrics ahead = simulate(scenario)->metrics();
    scenario.training.stack.collectiveLaunchUs = 10'000;
    const auto late = simulate(scenario);
    EXPECT_EQ(late->metrics().computing, ahead.computing);
    EXPECT_NEAR(late->metrics().exposedComm[Dimension::tp] * late->metrics().stepTimeSeconds,
                ahead.exposedComm[Dimension::tp] * ahead.stepTimeSeconds, 1e-9);
    EXPECT_GT(late->metrics().exposedHost, 0.9);
    EXPECT_NEAR(late->metrics().bubbleFraction, 0, 1e-3);
}

/// Two passes cut into pieces and dealt in turn are launched as they were: a host that is ahead stays so from piece to piece.
TEST(LaunchWaits, OfPiecesOfABlockAreThoseOfItsPasses)
{
    const double ofPasses = launchesOf(*test::openNumber("55").simulation);
    const double ofPieces = launchesOf(*test::openNumber("55", {"training.overlap.ep_comm=true"}).simulation);
    EXPECT_GT(ofPieces, 0);
    EXPECT_LT(ofPieces, 1.1 * ofPasses);
}

TEST(LaunchWaits, OfTheStepAreTheHosts)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    launchIn(scenario, 0);
    const Metrics without = simulate(scenario)->metrics();
    scenario.training.stack.stepMs = 30;
    const Metrics with = simulate(scenario)->metrics();
    EXPECT_EQ(with.computing, without.computing);
    EXPECT_GT(with.exposedHost * with.stepTimeSeconds, 0.02);
    EXPECT_NEAR(with.stepTimeSeconds - without.stepTimeSeconds, with.exposedHost * with.stepTimeSeconds, 1e-9);
}

TEST(LaunchWaits, AreGapsInATrace)
{
    Scenario scenario = test::smallScenario(2, 2, 1, 4);
    launchIn(scenario, 60);
    const auto simulation = simulate(scenario);
    const Trace trace = simulation->trace(TraceDetail::kernels);
    for (const Track& track : trace.tracks) {
        if (track.role != TrackRole::compute)
            continue;
        std::int64_t sum = 0;
        for (const std::int64_t ns : track.durationNs)
            sum += ns;
        EXPECT_EQ(sum, simulation->timeOfClass(track.process).busyNs);
    }
}
