// What ranks hold over time, and what it is.
#include "sim/simulate/simulation.h"

#include "sim/index.h"
#include "sim/program/states.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace sim;

namespace {

std::int64_t activationsOf(const MemoryContents& contents)
{
    return std::accumulate(contents.microbatches.begin(), contents.microbatches.end(), std::int64_t{0},
                           [](std::int64_t sum, const HeldMicrobatches& held) { return sum + held.bytes(); });
}

std::size_t microbatchCount(const MemoryContents& contents)
{
    return std::accumulate(contents.microbatches.begin(), contents.microbatches.end(), std::size_t{0},
                           [](std::size_t sum, const HeldMicrobatches& held) { return sum + held.microbatches.size(); });
}

} // namespace

TEST(MemoryCurves, SumIsTheTracesCounterAtEveryTimeAndThePeakTheMetrics)
{
    std::mt19937 random(21);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        const Trace trace = simulation->trace(TraceDetail::kernels);
        for (int c = 0; c < simulation->classCount(); ++c) {
            const MemoryCurves curves = simulation->memoryCurves(c);
            const Counter& counter = trace.counters[static_cast<std::size_t>(c)];
            ASSERT_EQ(curves.timeNs, counter.timeNs);
            for (std::size_t p = 0; p < curves.size(); ++p) {
                ASSERT_EQ(curves.at(p).total(), counter.value[p]);
                ASSERT_GE(curves.activations[p], 0);
                ASSERT_GE(curves.buffers[p], 0);
            }
            EXPECT_EQ(curves.at(curves.peak()), simulation->memoryOfClass(c));
            EXPECT_EQ(curves.activations.back(), 0) << "everything is freed by the end of the step";
            EXPECT_EQ(curves.buffers.back(), 0);
        }
    }
}

TEST(MemoryCurves, ActionsTellTheSamePeakAsKernels)
{
    std::mt19937 random(22);
    for (int i = 0; i < 20; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        const auto simulation = simulate(scenario);
        const Trace trace = simulation->trace(TraceDetail::actions);
        for (const Counter& counter : trace.counters) {
            EXPECT_EQ(*std::max_element(counter.value.begin(), counter.value.end()),
                      simulation->memoryOfClass(counter.process).total())
                << test::describe(scenario);
        }
    }
}

TEST(MemoryCurves, OfAFoldedRankAreThoseOfAllItStandsFor)
{
    std::mt19937 random(23);
    for (int i = 0; i < 10; ++i) {
        const Scenario scenario = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(scenario));
        const auto folded = simulate(scenario);
        const auto full = simulate(scenario, {.full = true});
        for (int rank = 0; rank < scenario.layout.worldSize(); ++rank) {
            const MemoryCurves one = folded->memoryCurves(folded->classOf(rank));
            const MemoryCurves own = full->memoryCurves(full->classOf(rank));
            EXPECT_EQ(one.timeNs, own.timeNs);
            EXPECT_EQ(one.activations, own.activations);
            EXPECT_EQ(one.buffers, own.buffers);
            EXPECT_EQ(one.states, own.states);
        }
    }
}

TEST(MemoryCurves, KeepTheHighestAndTheLastOfAnInstant)
{
    MemoryCurves curves;
    curves.add(0, 0, 0);
    curves.add(5, 1, 0);
    curves.add(5, 4, 3);
    curves.add(5, 2, 4);
    curves.add(4, 1, 1);
    EXPECT_EQ(curves.timeNs, (std::vector<std::int64_t>{0, 5, 5}));
    EXPECT_EQ(curves.activations, (std::vector<std::int64_t>{0, 4, 1}));
    EXPECT_EQ(curves.buffers, (std::vector<std::int64_t>{0, 3, 1}));
    EXPECT_EQ(curves.peak(), 1U);
}

TEST(MemoryContents, PartsSumUpToTheCurvesAtAnyTime)
{
    std::mt19937 random(24);
    for (int i = 0; i < 30; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        if (scenario.schedule.kind == "auto") // plans for what is kept between passes; here it is about what happens in them
            scenario.training.recompute = Recompute::none;
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        const int c = static_cast<int>(random() % static_cast<unsigned>(simulation->classCount()));
        const MemoryCurves curves = simulation->memoryCurves(c);
        const std::int64_t lengthNs = curves.timeNs.back();
        std::vector<std::int64_t> times = {-1, 0, curves.timeNs[curves.peak()], lengthNs, lengthNs + 1};
        for (int k = 0; k < 6; ++k)
            times.push_back(static_cast<std::int64_t>(random()) % (lengthNs + 1));
        for (const std::int64_t time : times) {
            const MemoryContents contents = simulation->memoryContents(c, time);
            EXPECT_EQ(activationsOf(contents), contents.sum.activations);
            EXPECT_EQ(std::accumulate(contents.tensors.begin(), contents.tensors.end(), std::int64_t{0},
                                      [](std::int64_t sum, const HeldTensors& t) { return sum + t.bytes; }),
                      contents.sum.activations);
            EXPECT_EQ(contents.narrowWeights + contents.messageBuffers + contents.reductionBuffers + contents.gatheredParameters +
                          contents.wholeGradients + contents.startedAhead,
                      contents.sum.buffers);
            EXPECT_GE(contents.gatheredParameters, 0);
            EXPECT_GE(contents.wholeGradients, 0);
            for (const HeldMicrobatches& held : contents.microbatches) {
                EXPECT_GT(held.bytesEach, 0);
                EXPECT_TRUE(std::is_sorted(held.microbatches.begin(), held.microbatches.end()));
            }
            for (const HeldTensors& held : contents.tensors)
                EXPECT_GT(held.bytes, 0) << held.name << ": what is freed was taken under the same name";
        }
        EXPECT_EQ(simulation->memoryContents(c, times[2]).sum, simulation->memoryOfClass(c));
        EXPECT_EQ(simulation->memoryContents(c, -1).sum, curves.states);
        EXPECT_EQ(simulation->memoryContents(c, lengthNs + 1).sum.activations, 0);
    }
}

TEST(MemoryContents, RankPOf1F1BHoldsAsManyMicrobatchesAsRanksFromItOn)
{
    for (const auto& [stages, microbatches] : {std::pair{4, 16}, {4, 2}, {8, 8}, {1, 3}}) {
        const auto simulation = simulate(test::smallScenario(1, stages, 1, microbatches));
        for (int p = 0; p < stages; ++p) {
            const int c = simulation->classOf(simulation->mesh().rank(0, 0, 0, p));
            const MemoryCurves curves = simulation->memoryCurves(c);
            const MemoryContents peak = simulation->memoryContents(c, curves.timeNs[curves.peak()]);
            EXPECT_EQ(microbatchCount(peak), static_cast<std::size_t>(std::min(microbatches, stages - p)))
                << "rank " << p << " of " << stages << " with " << microbatches << " micro-batches";
            for (const HeldMicrobatches& held : peak.microbatches)
                EXPECT_EQ(held.stage, p);
        }
    }
}

TEST(MemoryContents, OfZero3NamesGatheredParametersAndWholeGradients)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 2);
    scenario.layout.zeroStage = 3;
    const auto simulation = simulate(scenario);
    const MemoryCurves curves = simulation->memoryCurves(0);
    std::int64_t gathered = 0, gradients = 0;
    for (const std::int64_t time : curves.timeNs) {
        const MemoryContents contents = simulation->memoryContents(0, time);
        gathered = std::max(gathered, contents.gatheredParameters);
        gradients = std::max(gradients, contents.wholeGradients);
    }
    EXPECT_GT(gathered, 0);
    EXPECT_GT(gradients, 0);
    EXPECT_EQ(curves.states.buffers, 0);
}

TEST(MemoryContents, NamesWhereGradientsAreReducedAndWhatTheHostHasStartedAhead)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 2);
    scenario.layout.zeroStage = 3;
    scenario.training.stack.reduceBucket = 1000;
    scenario.training.stack.reductionsAhead = 2;
    const auto simulation = simulate(scenario);
    const MemoryCurves curves = simulation->memoryCurves(0);
    EXPECT_EQ(curves.states.buffers, 8000);
    std::int64_t ahead = 0;
    for (const std::int64_t time : curves.timeNs) {
        const MemoryContents contents = simulation->memoryContents(0, time);
        EXPECT_EQ(contents.reductionBuffers, 8000);
        EXPECT_GE(contents.gatheredParameters, 0);
        EXPECT_EQ(contents.reductionBuffers + contents.gatheredParameters + contents.wholeGradients + contents.startedAhead,
                  contents.sum.buffers);
        ahead = std::max(ahead, contents.startedAhead);
    }
    EXPECT_EQ(ahead, 2000 * (4 + 2));
}

// A rank of ZeRO 3 whose update holds 6 bytes for each of its parameters: neither gathered parameters nor gradients of layers.
TEST(MemoryContents, WhatTheOptimizerWorksWithIsBuffersOfItsOwn)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = 3;
    const std::int64_t before = simulate(scenario)->memoryOfClass(0).buffers;
    scenario.training.stack.updateMoments = 150; // of 4 bytes: more than any layer holds
    const auto simulation = simulate(scenario);
    const MemoryCurves curves = simulation->memoryCurves(0);
    const MemoryContents contents = simulation->memoryContents(0, curves.timeNs[curves.peak()]);
    const double parameters = static_cast<double>(contents.sum.optimizer) / 12;
    EXPECT_GT(contents.sum.buffers, before);
    EXPECT_NEAR(static_cast<double>(contents.sum.buffers), 600 * parameters, 1200);
    EXPECT_EQ(contents.gatheredParameters, 0);
    EXPECT_EQ(contents.wholeGradients, 0);
}

// While they add up, gradients of ZeRO 2 are whole, as those of ZeRO 1 are; and when all are reduced a rank has its shard.
TEST(MemoryContents, GradientsThatAddUpTakeWhatWholeOnesTakeAndNoMore)
{
    for (const int pp : {1, 2}) {
        Scenario scenario = test::smallScenario(1, pp, 4, 6);
        scenario.layout.reduceEachMicrobatch = false;
        scenario.training.overlap.gradReduce = false; // so that all are there to the end of the passes
        scenario.layout.zeroStage = 1;
        const auto whole = simulate(scenario);
        scenario.layout.zeroStage = 2;
        const auto cut = simulate(scenario);
        for (int c = 0; c < cut->classCount(); ++c) {
            const MemoryBreakdown of = cut->memoryOfClass(c), before = whole->memoryOfClass(c);
            const std::int64_t all = before.gradients;
            EXPECT_EQ(all, 4 * cut->metrics().perPipelineRank[asIndex(cut->classes().pipelineRank[asIndex(c)])].parameters);
            EXPECT_EQ(of.gradients, all / 4);
            EXPECT_EQ(of.buffers, all - all / 4);
            EXPECT_EQ(of.total(), before.total());
            const MemoryCurves curves = cut->memoryCurves(c);
            EXPECT_EQ(curves.at(curves.size() - 1).total(), of.parameters + of.gradients + of.optimizer);
        }
    }
}

TEST(MemoryContents, ZeRO2HoldsNoMoreThanZeRO1ThatReducesAsOften)
{
    std::mt19937 random(29);
    int fewer = 0;
    for (int i = 0; i < 120; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        scenario.layout.reduceEachMicrobatch = false;
        scenario.layout.zeroStage = 2;
        if (scenario.layout.dpShard == 1 || !addsUpWhole(scenario))
            continue;
        SCOPED_TRACE(test::describe(scenario));
        scenario.layout.zeroStage = 1;
        const auto one = simulate(scenario);
        scenario.layout.zeroStage = 2;
        const auto two = simulate(scenario);
        if (two->classCount() != one->classCount())
            continue;
        for (int c = 0; c < two->classCount(); ++c) {
            EXPECT_LE(two->memoryOfClass(c).total(), one->memoryOfClass(c).total());
            fewer += two->memoryOfClass(c).total() < one->memoryOfClass(c).total() ? 1 : 0;
        }
    }
    EXPECT_GT(fewer, 0);
}
