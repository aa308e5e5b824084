// Why a rank or a span has the numbers that pictures write at it: each formula gives the number, and the number is the engine's.
#include "sim/analysis/explain/explain_holdings.h"
#include "sim/analysis/explain/explain_rank.h"
#include "sim/analysis/traffic/traffic.h"

#include "tests/sim/analysis/explained.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <random>

using namespace sim;

namespace {

void expectBecauseOfRanks(const Simulation& simulation, bool sent)
{
    const double step = simulation.metrics().stepTimeSeconds;
    for (int c = 0; c < simulation.classCount(); c += 1 + simulation.classCount() / 4) {
        const int rank = simulation.representative(c);
        SCOPED_TRACE(rank);
        const TimeShares times = simulation.timeOfClass(c);
        const Explanation busy = explain(simulation, RankNumber::busy, rank),
                          exposed = explain(simulation, RankNumber::exposed, rank),
                          bubble = explain(simulation, RankNumber::bubble, rank);
        EXPECT_DOUBLE_EQ(busy.result.value, 1e-9 * static_cast<double>(times.busyNs) / step);
        EXPECT_DOUBLE_EQ(exposed.result.value, 1e-9 * static_cast<double>(times.waitingNs()) / step);
        EXPECT_NEAR(busy.result.value + exposed.result.value + bubble.result.value, 1, 1e-9);
        for (const Explanation& of : {busy, exposed, bubble, explain(simulation, RankNumber::againstPeers, rank)})
            test::expectSound(of);
        if (!sent)
            continue;
        const Explanation bytes = explain(simulation, RankNumber::sent, rank);
        EXPECT_EQ(bytes.result.value, static_cast<double>(Traffic(simulation).sentBy(rank).total()));
        test::expectSound(bytes);
    }
}

/// Some spans of every track.
void expectBecauseOfSpans(const Simulation& simulation, TraceDetail detail, std::size_t ofTrack)
{
    const Trace trace = simulation.trace(detail);
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
        const Track& track = trace.tracks[t];
        for (std::size_t i = 0; i < track.size(); i += 1 + track.size() / ofTrack) {
            const Explanation of = explainSpan(simulation, trace, t, static_cast<std::uint32_t>(i));
            SCOPED_TRACE(of.name);
            EXPECT_DOUBLE_EQ(of.result.value, 1e-9 * static_cast<double>(track.durationNs[i]));
            ASSERT_TRUE(of.formula);
            test::expectSound(of);
        }
    }
}

} // namespace

TEST(ExplainRank, EveryShareOfTheGalleryIsWhatTheEngineCounted)
{
    for (const auto& file : test::galleryFiles()) {
        SCOPED_TRACE(file.filename().string());
        const test::Opened opened = test::open(file);
        expectBecauseOfRanks(*opened.simulation, opened.simulation->metrics().worldSize <= 1024);
        expectBecauseOfSpans(*opened.simulation, TraceDetail::actions, 3);
    }
}

TEST(ExplainRank, AndOfRandomJobsWithPerturbations)
{
    std::mt19937 random(83);
    for (int i = 0; i < 60; ++i) {
        const Scenario scenario = test::randomScenario(random, 48);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        expectBecauseOfRanks(*simulation, true);
        expectBecauseOfSpans(*simulation, TraceDetail::kernels, 5);
    }
}

TEST(ExplainRank, ASlowRankIsAsMuchSlowerThanItsPeersAsItIs)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    Stack& stack = scenario.training.stack; // the host is as fast for it as for its peers
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = stack.stepMs = 0;
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 1.3});
    const auto simulation = simulate(scenario);
    const Explanation of = explain(*simulation, RankNumber::againstPeers, 1);
    EXPECT_NEAR(of.result.value, 0.3, 1e-3) << "it is not one of its own peers";
    test::expectSound(of);
    EXPECT_LT(explain(*simulation, RankNumber::againstPeers, 0).result.value, 0);
    const auto alone = simulate(test::smallScenario(1, 2, 1));
    const Explanation none = explain(*alone, RankNumber::againstPeers, 1);
    EXPECT_EQ(none.result.value, 0);
    EXPECT_EQ(none.convention, "No other rank has the same work.");
}

TEST(ExplainRank, AnActionIsTheSumOfItsKernelsAndWaits)
{
    const auto simulation = simulate(test::smallScenario(2, 2, 1));
    const Trace trace = simulation->trace(TraceDetail::actions);
    const Explanation of = explainSpan(*simulation, trace, 0, 0);
    double sum = 0;
    bool waits = false;
    for (const Term& term : of.terms) {
        sum += term.quantity.value;
        waits = waits || term.quantity.symbol == "t_wait";
    }
    EXPECT_NEAR(sum, of.result.value, 1e-12);
    EXPECT_TRUE(waits) << "all-gathers of tensor parallelism stand between its kernels";
}

TEST(ExplainRank, WaitingForTheHostIsNoBubble)
{
    for (const int pp : {1, 2}) {
        Scenario scenario = test::offloadedScenario(0.5, 3, pp);
        scenario.cluster.gpu.hostBandwidthGBs = 2;
        const auto simulation = simulate(scenario);
        ASSERT_GT(simulation->metrics().exposedHost, 0.1);
        expectBecauseOfRanks(*simulation, true);
        double bubble = 0;
        for (int rank = 0; rank < pp; ++rank) {
            bubble += explain(*simulation, RankNumber::bubble, rank).result.value / pp;
            bool told = false;
            test::forAll(explain(*simulation, RankNumber::exposed, rank), [&](const Explanation& e) {
                for (const Term& term : e.terms)
                    told = told || term.quantity.symbol == "t_host";
            });
            EXPECT_TRUE(told) << rank;
        }
        EXPECT_NEAR(bubble, simulation->metrics().bubbleFraction, 1e-9);
    }
}

TEST(ExplainRank, AttentionThatIsNotFusedIsAttentionInActionsToo)
{
    Scenario scenario = test::smallScenario(1, 1, 1);
    scenario.training.flashAttention = false;
    test::resolve(scenario);
    const auto simulation = simulate(scenario);
    const Trace trace = simulation->trace(TraceDetail::actions);
    double attention = 0, products = 0;
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t)
        for (std::uint32_t i = 0; trace.tracks[t].role == TrackRole::actions && i < trace.tracks[t].size(); ++i)
            for (const Term& term : explainSpan(*simulation, trace, t, i).terms) {
                attention += term.quantity.symbol == "t_attn" ? term.quantity.value : 0;
                products += term.quantity.symbol == "t_gemm" ? term.quantity.value : 0;
            }
    EXPECT_GT(attention, 0);
    EXPECT_NEAR(attention, 1e-9 * static_cast<double>(simulation->timeOfClass(0).attentionNs), 1e-12);
    EXPECT_NEAR(products, 1e-9 * static_cast<double>(simulation->timeOfClass(0).gemmNs), 1e-12);
}

TEST(ExplainStored, TensorsLayersAndAllOfThemAddUpToWhatTheSimulationHolds)
{
    for (const auto& file : test::galleryFiles()) {
        SCOPED_TRACE(file.filename().string());
        const test::Opened opened = test::open(file);
        const Simulation& simulation = *opened.simulation;
        const int rank = fullestRank(simulation);
        const Holdings holdings = holdingsOf(simulation, rank);
        const Explanation all = explainStored(holdings);
        const MemoryBreakdown held = simulation.memoryOfClass(simulation.classOf(rank));
        EXPECT_EQ(all.result.value, static_cast<double>(holdings.bytes.total()));
        EXPECT_EQ(holdings.bytes.parameters, held.parameters);
        test::expectSound(all);
        for (const HoldingGroup& group : holdings.groups)
            for (const TensorHolding& tensor : group.tensors) {
                const Explanation of = explainStored(holdings, tensor, &MemoryBreakdown::optimizer);
                EXPECT_EQ(of.result.value, static_cast<double>(tensor.bytes.optimizer));
                test::expectSound(of);
            }
    }
}
