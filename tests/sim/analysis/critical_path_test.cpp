#include "sim/analysis/critical_path.h"

#include "sim/index.h"
#include "sim/simulate/simulation.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace sim;

namespace {

/// Without gaps but for the waits it tells of; as long as the trace.
void expectWhole(const CriticalPath& path, const Trace& trace)
{
    std::int64_t now = 0, work = 0, waits = 0;
    for (const CriticalStep& step : path.steps) {
        EXPECT_EQ(step.beginNs, now + step.waitNs);
        EXPECT_GE(step.waitNs, 0);
        EXPECT_GE(step.endNs, step.beginNs);
        EXPECT_GE(step.beginNs, trace.tracks[step.track].startNs[step.span]);
        now = step.endNs;
        work += step.endNs - step.beginNs;
        waits += step.waitNs;
    }
    EXPECT_EQ(path.lengthNs, trace.endNs);
    EXPECT_EQ(std::accumulate(path.byClass.begin(), path.byClass.end(), std::int64_t{0}), work);
    EXPECT_EQ(path.transferNs + path.launchNs + path.unexplainedNs, waits + trace.endNs - now);
    EXPECT_EQ(work + path.transferNs + path.launchNs + path.unexplainedNs, path.lengthNs);
}

/// p stages that forward and then turn back m micro-batches in the order given by `order(stage)`, as soon as they can, with a
/// transfer of `sendNs` between stages.
Trace pipeline(int p, int m, std::int64_t forwardNs, std::int64_t backwardNs, std::int64_t sendNs, bool oneForwardOneBackward)
{
    Trace trace;
    trace.kinds = {{.name = "F", .opClass = OpClass::forward}, {.name = "B", .opClass = OpClass::backward}};
    std::vector<std::vector<int>> order; // [stage]: micro-batch, or −1 − micro-batch of a backward
    for (int stage = 0; stage < p; ++stage) {
        const int warmUp = oneForwardOneBackward ? std::min(m, p - stage) : m;
        std::vector<int> actions;
        for (int i = 0; i < warmUp; ++i)
            actions.push_back(i);
        for (int i = 0; i < m; ++i) {
            actions.push_back(-1 - i);
            if (warmUp + i < m)
                actions.push_back(warmUp + i);
        }
        order.push_back(actions);
        trace.processes.push_back({.rank = stage});
        trace.tracks.push_back({.process = stage, .name = "actions", .role = TrackRole::actions});
    }
    const auto index = [&](int stage, int action) {
        const Track& track = trace.tracks[static_cast<std::size_t>(stage)];
        for (std::size_t i = 0; i < track.size(); ++i)
            if (track.microbatch[i] == (action < 0 ? -1 - action : action) && track.kind[i] == (action < 0 ? 1U : 0U))
                return static_cast<int>(i);
        return -1;
    };
    std::vector<std::size_t> next(static_cast<std::size_t>(p), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (int stage = 0; stage < p; ++stage) {
            const auto s = static_cast<std::size_t>(stage);
            if (next[s] == order[s].size())
                continue;
            const int action = order[s][next[s]], from = action < 0 ? stage + 1 : stage - 1;
            Track& track = trace.tracks[s];
            std::int64_t start = track.size() == 0 ? 0 : track.startNs.back() + track.durationNs.back();
            if (from >= 0 && from < p) {
                const int input = index(from, action);
                if (input < 0)
                    continue;
                const Track& other = trace.tracks[static_cast<std::size_t>(from)];
                const auto i = static_cast<std::size_t>(input);
                start = std::max(start, other.startNs[i] + other.durationNs[i] + sendNs);
                trace.flows.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(input),
                                       static_cast<std::uint32_t>(stage), static_cast<std::uint32_t>(track.size())});
            }
            track.startNs.push_back(start);
            track.durationNs.push_back(action < 0 ? backwardNs : forwardNs);
            track.kind.push_back(action < 0 ? 1 : 0);
            track.microbatch.push_back(action < 0 ? -1 - action : action);
            trace.endNs = std::max(trace.endNs, start + track.durationNs.back());
            ++next[s];
            moved = true;
        }
    }
    return trace;
}

std::int64_t computeOf(const CriticalPath& path)
{
    return std::accumulate(path.computeByProcess.begin(), path.computeByProcess.end(), std::int64_t{0});
}

} // namespace

TEST(CriticalPath, OfAPipelineIsAllMicroBatchesAndTheWayThereAndBack)
{
    for (const bool oneForwardOneBackward : {false, true})
        for (int p = 1; p <= 6; ++p)
            for (const int m : {p, p + 3, 4 * p}) {
                const Trace trace = pipeline(p, m, 100, 200, 0, oneForwardOneBackward);
                const CriticalPath path = criticalPath(trace);
                SCOPED_TRACE(std::to_string(p) + " stages, " + std::to_string(m) + " micro-batches");
                expectWhole(path, trace);
                // GPipe and 1F1B alike: (m + p − 1) forwards and as many backwards, and never a pause.
                EXPECT_EQ(computeOf(path), (m + p - 1) * 300);
                EXPECT_EQ(path.lengthNs, (m + p - 1) * 300);
                EXPECT_EQ(path.transferNs + path.unexplainedNs, 0);
            }
}

TEST(CriticalPath, TellsTransfersApartFromWork)
{
    const int p = 4, m = 8;
    const Trace trace = pipeline(p, m, 100, 200, 30, false);
    const CriticalPath path = criticalPath(trace);
    expectWhole(path, trace);
    EXPECT_EQ(path.transferNs, 2 * (p - 1) * 30) << "there and back";
    for (const OpClass c : {OpClass::tpComm, OpClass::cpComm, OpClass::epComm, OpClass::ppComm, OpClass::dpComm})
        EXPECT_EQ(path.byClass[static_cast<std::size_t>(c)], 0);
    EXPECT_EQ(computeOf(path), (m + p - 1) * 300);
    EXPECT_EQ(path.unexplainedNs, 0);
    EXPECT_EQ(std::count_if(path.steps.begin(), path.steps.end(),
                            [](const CriticalStep& step) { return step.cause == CriticalCause::transfer; }),
              2 * (p - 1));
}

TEST(CriticalPath, GoesToTheLastMemberOfACollective)
{
    // Rank 1 computes longer; both then reduce together.
    Trace trace;
    trace.kinds = {{.name = "gemm", .opClass = OpClass::forward}, {.name = "all-reduce", .opClass = OpClass::tpComm}};
    for (int rank = 0; rank < 2; ++rank) {
        const std::int64_t ready = rank == 0 ? 40 : 100;
        trace.processes.push_back({.rank = rank});
        trace.tracks.push_back({.process = rank,
                                .name = "compute",
                                .role = TrackRole::compute,
                                .startNs = {0},
                                .durationNs = {ready},
                                .kind = {0},
                                .microbatch = {0}});
        trace.tracks.push_back({.process = rank,
                                .name = "tp comm",
                                .role = TrackRole::communication,
                                .startNs = {ready},
                                .durationNs = {120 - ready},
                                .kind = {1},
                                .microbatch = {0},
                                .correlation = {7}});
    }
    trace.endNs = 120;
    const CriticalPath path = criticalPath(trace);
    expectWhole(path, trace);
    EXPECT_EQ(path.computeByProcess, (std::vector<std::int64_t>{0, 100}));
    EXPECT_EQ(path.byClass[static_cast<std::size_t>(OpClass::tpComm)], 20);
    EXPECT_EQ(path.steps.size(), 2U);
}

TEST(CriticalPath, WaitsAreNoWork)
{
    Trace trace = pipeline(2, 2, 100, 200, 0, false);
    // What a live run records while stage 1 has nothing to do.
    trace.kinds.push_back({.name = "wait pp", .opClass = OpClass::other});
    Track& late = trace.tracks[1];
    late.startNs.insert(late.startNs.begin(), 0);
    late.durationNs.insert(late.durationNs.begin(), 100);
    late.kind.insert(late.kind.begin(), 2);
    late.microbatch.insert(late.microbatch.begin(), -1);
    for (Flow& flow : trace.flows) {
        flow.fromSpan += flow.fromTrack == 1 ? 1 : 0;
        flow.toSpan += flow.toTrack == 1 ? 1 : 0;
    }
    const CriticalPath path = criticalPath(trace);
    expectWhole(path, trace);
    EXPECT_EQ(path.byClass[static_cast<std::size_t>(OpClass::other)], 0);
    EXPECT_EQ(computeOf(path), 3 * 300);
}

TEST(CriticalPath, OfAnySimulatedStepIsWhole)
{
    std::mt19937 random(21);
    for (int i = 0; i < 40; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        const bool isAhead = i % 2 == 0;
        if (isAhead) {
            Stack& stack = scenario.training.stack;
            stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = stack.expertLaunchUs = stack.stepMs = 0;
        }
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        for (const TraceDetail detail : {TraceDetail::actions, TraceDetail::kernels}) {
            const Trace trace = simulation->trace(detail);
            const CriticalPath path = criticalPath(trace);
            expectWhole(path, trace);
            const CriticalPath own = criticalPath(trace, *simulation);
            expectWhole(own, trace);
            // The engine starts an op the moment something it waits for has ended, or its host has launched it.
            if (detail == TraceDetail::kernels) {
                EXPECT_EQ(own.unexplainedNs, 0);
                if (isAhead) {
                    EXPECT_EQ(path.unexplainedNs, 0);
                }
                EXPECT_EQ(own.launchNs > 0, std::any_of(own.steps.begin(), own.steps.end(), [](const CriticalStep& step) {
                              return step.cause == CriticalCause::launch;
                          }));
                EXPECT_EQ(own.launchNs > 0, !isAhead);
            }
            for (const Track& track : trace.tracks)
                EXPECT_TRUE(std::is_sorted(track.startNs.begin(), track.startNs.end())) << track.name;
        }
    }
}

TEST(CriticalPath, WhatEndsWhileAKernelWaitsForItsLaunchKeptNobody)
{
    // Every kernel is launched late. Layer by layer the backward pass reduces gradients, for which the optimizer alone waits.
    Scenario scenario = test::smallScenario(1, 1, 2, 4);
    scenario.layout.zeroStage = 0;
    Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = 3000;
    stack.collectiveLaunchUs = stack.stepMs = 0;
    const auto simulation = simulate(scenario);
    const Trace trace = simulation->trace(TraceDetail::kernels);
    const auto classOfStep = [&](const CriticalStep& step) {
        return trace.kinds[trace.tracks[step.track].kind[step.span]].opClass;
    };
    const auto overlapped = [&](const CriticalPath& path) { // told to keep kernels of a pass
        std::int64_t count = 0;
        for (std::size_t i = 0; i + 1 < path.steps.size(); ++i) {
            const OpClass next = classOfStep(path.steps[i + 1]);
            count += classOfStep(path.steps[i]) == OpClass::dpComm && (next == OpClass::forward || next == OpClass::backward);
        }
        return count;
    };
    const CriticalPath path = criticalPath(trace, *simulation);
    expectWhole(path, trace);
    EXPECT_EQ(overlapped(path), 0);
    EXPECT_GT(overlapped(criticalPath(trace)), 0) << "a trace alone does not tell";
    EXPECT_GT(path.launchNs, trace.endNs / 2);
}

TEST(CriticalPath, CountsTheHostsWorkApartFromKernels)
{
    const auto simulation = simulate(test::offloadedScenario(1, 0));
    const Trace trace = simulation->trace(TraceDetail::kernels);
    const CriticalPath path = criticalPath(trace, *simulation);
    expectWhole(path, trace);
    const std::int64_t ofHost = path.byClass[asIndex(OpClass::hostTransfer)];
    EXPECT_GT(ofHost, 0);
    std::int64_t ofKernels = -ofHost;
    for (int c = 0; c < kOpClassCount; ++c)
        ofKernels += isCommunication(static_cast<OpClass>(c)) ? 0 : path.byClass[asIndex(c)];
    EXPECT_EQ(computeOf(path), ofKernels);
    EXPECT_LE(computeOf(path), simulation->timeOfClass(0).busyNs) << "one rank: its kernels are all there is to compute";
}

TEST(CriticalPath, GoesOverTheSlowRankAtEitherDetail)
{
    // Inside their passes its seven tensor-parallel mates wait for it at every sum: each pass of theirs lasts as long as its own.
    const auto opened = test::openNumber("21");
    const Simulation& simulation = *opened.simulation;
    const auto slow = static_cast<std::size_t>(simulation.classOf(21)),
               healthy = static_cast<std::size_t>(simulation.classOf(16));
    ASSERT_NE(slow, healthy);
    std::vector<double> shareOfStage;
    for (const TraceDetail detail : {TraceDetail::actions, TraceDetail::kernels}) {
        const Trace trace = simulation.trace(detail);
        const CriticalPath path = criticalPath(trace, simulation);
        expectWhole(path, trace);
        EXPECT_GT(path.computeByProcess[slow], 20 * path.computeByProcess[healthy]);
        std::int64_t over = 0;
        for (const CriticalStep& step : path.steps)
            if (simulation.classes().pipelineRank[asIndex(trace.tracks[step.track].process)] == 1)
                over += step.endNs - step.beginNs;
        shareOfStage.push_back(static_cast<double>(over) / static_cast<double>(path.lengthNs));
    }
    EXPECT_NEAR(shareOfStage[0], shareOfStage[1], 0.05);
}

TEST(CriticalPath, TakesAnything)
{
    EXPECT_TRUE(criticalPath({}).steps.empty());
    Trace empty;
    empty.processes = {{.rank = 0}};
    empty.tracks = {{.process = 0, .role = TrackRole::actions}};
    empty.endNs = 50;
    EXPECT_EQ(criticalPath(empty).unexplainedNs, 50);
    // Flows that lead in a circle between spans that take no time.
    Trace circle;
    circle.kinds = {{.name = "F"}};
    for (int rank = 0; rank < 2; ++rank) {
        circle.processes.push_back({.rank = rank});
        circle.tracks.push_back(
            {.process = rank, .role = TrackRole::actions, .startNs = {5}, .durationNs = {0}, .kind = {0}, .microbatch = {0}});
    }
    circle.flows = {{0, 0, 1, 0}, {1, 0, 0, 0}};
    circle.endNs = 5;
    expectWhole(criticalPath(circle), circle);
}
