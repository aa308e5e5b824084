#include "sim/simulate/simulation.h"

#include "sim/index.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace sim;

namespace {

void expectSameNumbers(const Metrics& a, const Metrics& b)
{
    EXPECT_EQ(a.stepTimeSeconds, b.stepTimeSeconds);
    EXPECT_EQ(a.tokensPerSecond, b.tokensPerSecond);
    EXPECT_EQ(a.mfu, b.mfu);
    EXPECT_EQ(a.hfu, b.hfu);
    EXPECT_EQ(a.bubbleFraction, b.bubbleFraction);
    EXPECT_EQ(a.exposedComm, b.exposedComm);
    EXPECT_EQ(a.peakMemoryGib, b.peakMemoryGib);
    EXPECT_EQ(a.perPipelineRank, b.perPipelineRank);
}

} // namespace

TEST(Simulation, OneRankWithAllExpertsIsNotBusierThanItself)
{
    Scenario scenario = test::smallScenario(1, 1, 2);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 256;
    const auto even = simulate(scenario);
    scenario.training.moe.imbalance = 2;
    expectSameNumbers(simulate(scenario)->metrics(), even->metrics());
}

TEST(Simulation, OfUnevenRoutingAMeanRankIsToldAndThatItWaits)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.ep = 4;
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 2048;
    scenario.training.recompute = Recompute::full;
    scenario.training.recomputeLayers = scenario.model.numHiddenLayers;
    scenario.training.stack.launchUs = scenario.training.stack.backwardLaunchUs = scenario.training.stack.collectiveLaunchUs = 0;
    const Metrics even = simulate(scenario)->metrics();
    scenario.training.moe.imbalance = 2;
    const Metrics uneven = simulate(scenario)->metrics();
    EXPECT_GT(uneven.stepTimeSeconds, 1.1 * even.stepTimeSeconds) << "the busiest rank decides";
    const auto expectNear = [](double a, double b) { EXPECT_NEAR(a, b, 1e-6 * b); };
    expectNear(uneven.computing.gemm, even.computing.gemm);
    expectNear(uneven.computing.attention, even.computing.attention);
    expectNear(uneven.computing.other, even.computing.other);
    expectNear(uneven.computing.recompute, even.computing.recompute);
    EXPECT_EQ(even.expertWait, 0);
    EXPECT_GT(uneven.expertWait, 0.05);
    EXPECT_NEAR(uneven.bubbleFraction, even.bubbleFraction + uneven.expertWait, 0.01);
    expectSameNumbers(uneven, simulate(scenario, {.full = true})->metrics());
    for (int rank = 0; rank < 4; ++rank)
        scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = rank, .factor = 3});
    const Metrics slow = simulate(scenario)->metrics();
    EXPECT_NEAR(slow.expertWait * slow.stepTimeSeconds, 3 * uneven.expertWait * uneven.stepTimeSeconds,
                1e-3 * slow.stepTimeSeconds)
        << "what slows a kernel slows a mean rank's as much";
    scenario.training.sequenceLength = scenario.training.microBatchSize = 1;
    scenario.training.moe.imbalance = 4;
    EXPECT_GT(simulate(scenario)->metrics().stepTimeSeconds, 0) << "less than a token for a mean rank";
}

TEST(Simulation, FoldedMetricsAreTheFullOnesBitForBit)
{
    std::mt19937 random(11);
    for (int i = 0; i < 50; ++i) {
        const Scenario scenario = test::randomScenario(random, i % 10 == 0 ? 512 : 96);
        SCOPED_TRACE(test::describe(scenario));
        expectSameNumbers(simulate(scenario)->metrics(), simulate(scenario, {.full = true})->metrics());
    }
}

TEST(Simulation, IsTheSameFromAnyThread)
{
    std::mt19937 random(12);
    const Scenario scenario = test::randomScenario(random, 64);
    const Metrics here = simulate(scenario)->metrics();
    std::vector<std::jthread> threads;
    std::vector<Metrics> there(4);
    for (Metrics& metrics : there)
        threads.emplace_back([&] { metrics = simulate(scenario)->metrics(); });
    threads.clear();
    for (const Metrics& metrics : there)
        expectSameNumbers(here, metrics);
}

TEST(Simulation, BusyBubbleAndCommunicationFillTheStep)
{
    std::mt19937 random(13);
    for (int i = 0; i < 30; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const Metrics metrics = simulate(scenario)->metrics();
        for (const PipelineRankMetrics& row : metrics.perPipelineRank) {
            EXPECT_NEAR(row.busySeconds + row.bubbleSeconds + row.commSeconds, metrics.stepTimeSeconds, 1e-9);
            EXPECT_GE(row.bubbleSeconds, -1e-12);
            EXPECT_GT(row.busySeconds, 0);
        }
        EXPECT_LE(metrics.exposedComm.total() + metrics.bubbleFraction, 1);
        EXPECT_GT(metrics.mfu, 0);
        EXPECT_LT(metrics.mfu, 1);
        EXPECT_LE(metrics.mfu, metrics.mfuFullAttention);
        EXPECT_LE(metrics.mfu, metrics.hfu);
    }
}

TEST(Simulation, BubbleOf1F1BApproachesTheClosedForm)
{
    // Equal stages without embedding and head would give (p-1)/(m+p-1); they and the links add a little.
    Scenario scenario = test::smallScenario(1, 4, 1, 32);
    scenario.model = test::llamaModel(32, 2048, 16, 16, 5632, 64);
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    EXPECT_NEAR(simulate(scenario)->metrics().bubbleFraction, 3.0 / 35, 0.02);
}

TEST(Simulation, MoreChunksShrinkTheBubble)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 8);
    scenario.model = test::llamaModel(16, 2048, 16, 16, 5632, 64);
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    const double plain = simulate(scenario)->metrics().bubbleFraction;
    scenario.schedule = {.kind = "interleaved-1f1b", .virtualStages = 4};
    test::resolve(scenario);
    EXPECT_LT(simulate(scenario)->metrics().bubbleFraction, plain / 2);
}

TEST(Simulation, FirstStageOf1F1BHoldsAMicrobatchForEveryRankBehindIt)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 16);
    scenario.model = test::llamaModel(16, 1024, 16, 16, 2816, 64);
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    const auto simulation = simulate(scenario);
    const auto& rows = simulation->metrics().perPipelineRank;
    const double one = static_cast<double>(rows[0].memory.activations) / 4; // p micro-batches at the first stage
    for (std::size_t rank = 1; rank < 4; ++rank)
        EXPECT_NEAR(static_cast<double>(rows[rank].memory.activations) / one, 4.0 - static_cast<double>(rank), 0.15);
}

TEST(Simulation, RecomputationTradesMemoryForTime)
{
    Scenario scenario = test::smallScenario(2, 1, 1, 4);
    const Metrics none = simulate(scenario)->metrics();
    scenario.training.recompute = Recompute::full;
    const Metrics full = simulate(scenario)->metrics();
    EXPECT_LT(full.perPipelineRank[0].memory.activations, none.perPipelineRank[0].memory.activations / 2);
    EXPECT_GT(full.stepTimeSeconds, 1.2 * none.stepTimeSeconds);
    EXPECT_LT(full.stepTimeSeconds, 1.4 * none.stepTimeSeconds);
}

TEST(Simulation, OverlapNeverHurts)
{
    for (const int zero : {0, 1, 3}) {
        Scenario scenario = test::smallScenario(2, 1, 8, 4);
        scenario.layout.zeroStage = zero;
        scenario.training.overlap = {.gradReduce = false, .paramGather = false, .tpComm = false, .p2p = false};
        const double exposed = simulate(scenario)->metrics().stepTimeSeconds;
        scenario.training.overlap.gradReduce = scenario.training.overlap.paramGather = true;
        EXPECT_LT(simulate(scenario)->metrics().stepTimeSeconds, exposed) << "zero " << zero;
    }
}

// More and smaller products take longer, each transfer beside them has a start of its own, and that is all: a tensor goes round
// its group once, in pieces or as a whole.
TEST(Simulation, OverlappedTensorParallelismCostsAtMostThePiecesThatItMakes)
{
    struct Sums {
        double kernelsNs = 0, transfersNs = 0, startsNs = 0;
    };
    // Of one of each class, one after the other.
    const auto sumsOf = [](const Simulation& simulation) {
        const Efficiency& efficiency = simulation.scenario().cluster.efficiency;
        const RankClasses& classes = simulation.classes();
        Sums sums;
        for (int c = 0; c < simulation.classCount(); ++c) {
            const auto& durations = simulation.prices().durations[asIndex(classes.geometry[asIndex(c)])];
            for (const Step& step : simulation.program().ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps)
                for (std::size_t i = 0; i < durations[step.pass].size(); ++i) {
                    const Pass& pass = simulation.program().passes[step.pass];
                    const auto ns = static_cast<double>(durations[step.pass][i]);
                    sums.kernelsNs += pass.ops[i].kind == OpKind::compute ? ns : 0;
                    sums.transfersNs += pass.ops[i].stream == Stream::tp ? ns : 0;
                    if (pass.shapes[i].piecesOfTrip > 1)
                        sums.startsNs += std::max(efficiency.kernelUs, efficiency.collectiveUs) * 1e3 + 1; // and rounding
                }
        }
        return sums;
    };
    std::mt19937 random(8);
    int jobs = 0, faster = 0;
    for (int i = 0; i < 400; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        if (scenario.layout.tp == 1 || !scenario.layout.sequenceParallel)
            continue;
        SCOPED_TRACE(test::describe(scenario));
        scenario.perturbations.clear();
        scenario.cluster.gpu.multiprocessors = 0; // a host that starts everything in no time
        scenario.training.overlap.tpComm = false;
        const auto whole = simulate(scenario);
        scenario.training.overlap.tpComm = true;
        const auto pieces = simulate(scenario);
        const Sums before = sumsOf(*whole), after = sumsOf(*pieces);
        EXPECT_LE(after.transfersNs, before.transfersNs + after.startsNs);
        EXPECT_LE(pieces->metrics().stepTimeSeconds * 1e9,
                  whole->metrics().stepTimeSeconds * 1e9 + after.startsNs + std::max(0.0, after.kernelsNs - before.kernelsNs));
        ++jobs;
        faster += pieces->metrics().stepTimeSeconds < whole->metrics().stepTimeSeconds ? 1 : 0;
    }
    EXPECT_GT(jobs, 50);
    std::printf("%d of %d jobs are faster\n", faster, jobs);
}

TEST(Simulation, StopsWhenCancelled)
{
    const std::atomic<bool> cancel = true;
    const CancelScope scope(cancel);
    EXPECT_THROW(simulate(test::smallScenario(1, 2, 1)), Cancelled);
}

TEST(SimulatedTrace, HoldsEveryActionOnceAndFitsTheStep)
{
    std::mt19937 random(14);
    for (int i = 0; i < 20; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        for (const TraceDetail detail : {TraceDetail::actions, TraceDetail::kernels}) {
            const Trace trace = simulation->trace(detail);
            ASSERT_EQ(trace.processes.size(), static_cast<std::size_t>(simulation->classCount()));
            std::size_t actions = 0;
            for (const Track& track : trace.tracks) {
                std::int64_t end = 0;
                for (std::size_t s = 0; s < track.size(); ++s) {
                    if (track.name != "receive") {
                        ASSERT_GE(track.startNs[s], end) << track.name << " span " << s;
                    }
                    end = track.startNs[s] + track.durationNs[s];
                    ASSERT_LE(end, trace.endNs);
                    ASSERT_LT(track.kind[s], trace.kinds.size());
                }
                if (track.role == TrackRole::actions)
                    for (std::size_t s = 0; s < track.size(); ++s)
                        actions += trace.kinds[track.kind[s]].stage >= 0 ? 1 : 0;
            }
            std::size_t expected = 0;
            bool blocks = false;
            for (const Process& process : trace.processes)
                for (const Action& action :
                     simulation->schedule().actions[static_cast<std::size_t>(simulation->mesh().coordinates(process.rank).pp)]) {
                    ++expected;
                    blocks = blocks || action.overlapsNext;
                }
            if (blocks) // cut where they wait for each other
                EXPECT_GE(actions, expected);
            else
                EXPECT_EQ(actions, expected);
        }
    }
}

/// ZeRO 2 without a pipeline reduces after every backward pass: where nothing is to run beside that, each is waited for.
TEST(Simulate, ReductionsThatOverlapNothingAreAllWaitedFor)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 8);
    scenario.training.overlap.gradReduce = false;
    const auto exposedBy = [&](int zeroStage) {
        scenario.layout.zeroStage = zeroStage;
        scenario.layout.dpShard = scenario.layout.dp;
        const Metrics metrics = simulate(scenario)->metrics();
        return metrics.exposedComm[Dimension::dp] * metrics.stepTimeSeconds;
    };
    const double none = exposedBy(0), each = exposedBy(2); // an all-reduce a step; a reduce-scatter, half of it, each micro-batch
    EXPECT_GT(each, 0.9 * scenario.microbatches() * none / 2);
}

TEST(SimulatedTrace, EveryTransferBetweenStagesIsAFlowForwardInTime)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 8);
    const Trace trace = simulate(scenario)->trace(TraceDetail::kernels);
    EXPECT_EQ(trace.flows.size(), static_cast<std::size_t>(2 * 3 * 8));
    for (const Flow& flow : trace.flows) {
        const Track& from = trace.tracks[flow.fromTrack];
        const Track& to = trace.tracks[flow.toTrack];
        EXPECT_LE(from.startNs[flow.fromSpan], to.startNs[flow.toSpan]);
        EXPECT_EQ(from.microbatch[flow.fromSpan], to.microbatch[flow.toSpan]);
    }
}

/// Also through stages without layers, which hand on what they get: over ranks, and to another stage of the same.
TEST(SimulatedTrace, NoPassBeginsBeforeWhatItNeedsIsThere)
{
    int looked = 0;
    for (const char* kind : {"1f1b", "zb-v", "v-half", "v-min", "dualpipe-v", "interleaved-1f1b"})
        for (const std::vector<int>& layers : {std::vector{1, 2, 0, 1}, {2, 0, 1, 1}, {1, 0, 0, 3}, {1, 2, 1, 1, 0, 0, 3, 0}}) {
            Scenario scenario = test::smallScenario(1, kind == std::string("1f1b") ? static_cast<int>(layers.size())
                                                                                   : static_cast<int>(layers.size()) / 2);
            scenario.schedule.kind = kind;
            scenario.schedule.virtualStages = static_cast<int>(layers.size()) / scenario.layout.pp;
            scenario.schedule.layersPerStage = layers;
            scenario.training.globalBatchSize = 8;
            scenario.model.numHiddenLayers = std::accumulate(layers.begin(), layers.end(), 0);
            SCOPED_TRACE(test::describe(scenario));
            const Trace trace = simulate(scenario)->trace(TraceDetail::actions);
            struct Times {
                std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
            };
            std::map<std::tuple<int, int, bool>, Times> passes; // micro-batch, stage, backward
            for (const Track& track : trace.tracks)
                for (std::size_t s = 0; track.role == TrackRole::actions && s < track.size(); ++s) {
                    const SpanKind& of = trace.kinds[track.kind[s]];
                    const char last = of.name.back(); // "0F", "0I", "0W", "0B"
                    if (of.stage < 0 || last == 'W' || track.durationNs[s] == 0)
                        continue;
                    Times& times = passes[{track.microbatch[s], of.stage, last != 'F'}];
                    times.begin = std::min(times.begin, track.startNs[s]);
                    times.end = std::max(times.end, track.startNs[s] + track.durationNs[s]);
                }
            const int stages = static_cast<int>(layers.size());
            for (int microbatch = 0; microbatch < 8; ++microbatch) {
                std::int64_t end = 0;
                for (int turn = 0; turn < 2 * stages; ++turn) {
                    const bool isBackward = turn >= stages;
                    const auto found = passes.find({microbatch, isBackward ? 2 * stages - 1 - turn : turn, isBackward});
                    if (found == passes.end())
                        continue; // of a stage without layers
                    EXPECT_GE(found->second.begin, end) << "micro-batch " << microbatch << " turn " << turn;
                    end = found->second.end;
                    ++looked;
                }
            }
        }
    EXPECT_GT(looked, 1000);
}

TEST(SimulatedTrace, MemoryCounterReachesThePeakOfTheMetrics)
{
    for (const TraceDetail detail : {TraceDetail::actions, TraceDetail::kernels}) {
        const Scenario scenario = test::smallScenario(1, 2, 1, 4);
        const auto simulation = simulate(scenario);
        const Trace trace = simulation->trace(detail);
        for (int c = 0; c < simulation->classCount(); ++c) {
            const auto& values = trace.counters[static_cast<std::size_t>(c)].value;
            EXPECT_EQ(*std::max_element(values.begin(), values.end()), simulation->memoryOfClass(c).total());
            EXPECT_EQ(values.back(), values.front()) << "everything is freed by the end of the step";
        }
    }
}
