// What is held at a moment, and the numbers of a stage: each formula gives the number that pictures and tables write.
#include "sim/analysis/compare.h"
#include "sim/analysis/explain/explain_held.h"
#include "sim/analysis/explain/explain_rank.h"
#include "tests/sim/analysis/explained.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <random>

using namespace sim;

namespace {

double formulaValue(const Explanation& why)
{
    std::vector<Quantity> terms;
    for (const Term& term : why.terms)
        terms.push_back(term.quantity);
    return why.formula ? why.formula->evaluate(terms) : why.result.value;
}

} // namespace

TEST(ExplainHeld, AddsUpToWhatIsHeldAtAnyMoment)
{
    std::mt19937 random(31);
    for (int i = 0; i < 12; ++i) {
        const auto simulation = simulate(test::randomScenario(random, 16));
        for (int c = 0; c < simulation->classCount(); ++c) {
            const MemoryCurves curves = simulation->memoryCurves(c);
            for (std::size_t k = 0; k < curves.size(); k += 1 + curves.size() / 7) {
                const MemoryContents held = simulation->memoryContents(c, curves.timeNs[k]);
                const int rank = simulation->representative(c);
                const auto expectIs = [&](MetricId id, std::int64_t bytes) {
                    const Explanation why = explainHeld(*simulation, id, rank, curves.timeNs[k]);
                    EXPECT_EQ(why.result.value, static_cast<double>(bytes)) << why.name;
                    EXPECT_NEAR(formulaValue(why), static_cast<double>(bytes), 1 + 1e-6 * static_cast<double>(bytes)) << why.name;
                };
                expectIs(MetricId::peakMemory, held.sum.total());
                expectIs(MetricId::activationMemory, held.sum.activations);
                expectIs(MetricId::bufferMemory, held.sum.buffers);
                expectIs(MetricId::parameterMemory, held.sum.parameters);
                expectIs(MetricId::optimizerMemory, held.sum.optimizer);
                const auto is = [](const Explanation& why, std::int64_t bytes) {
                    EXPECT_EQ(why.result.value, static_cast<double>(bytes)) << why.name;
                    EXPECT_NEAR(formulaValue(why), static_cast<double>(bytes), 1 + 1e-6 * static_cast<double>(bytes)) << why.name;
                };
                for (std::size_t g = 0; g < held.microbatches.size(); ++g)
                    is(explainHeldMicrobatch(*simulation, rank, curves.timeNs[k], g), held.microbatches[g].bytesEach);
                for (std::size_t t = 0; t < held.tensors.size(); ++t)
                    is(explainHeldTensors(*simulation, rank, curves.timeNs[k], t), held.tensors[t].bytes);
                is(explainHeld(*simulation, HeldBuffer::narrowWeights, rank, curves.timeNs[k]), held.narrowWeights);
                is(explainHeld(*simulation, HeldBuffer::messageBuffers, rank, curves.timeNs[k]), held.messageBuffers);
                is(explainHeld(*simulation, HeldBuffer::reductionBuffers, rank, curves.timeNs[k]), held.reductionBuffers);
                is(explainHeld(*simulation, HeldBuffer::gatheredParameters, rank, curves.timeNs[k]), held.gatheredParameters);
                is(explainHeld(*simulation, HeldBuffer::wholeGradients, rank, curves.timeNs[k]), held.wholeGradients);
            }
        }
    }
}

TEST(ExplainHeld, SaysWhereGradientsAreReducedAndWhatTheHostHasStartedAhead)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 2);
    scenario.layout.zeroStage = 3;
    scenario.training.stack.reduceBucket = 1000;
    scenario.training.stack.reductionsAhead = 2;
    const auto simulation = simulate(scenario);
    const MemoryCurves curves = simulation->memoryCurves(0);
    bool isAhead = false;
    for (const std::int64_t time : curves.timeNs) {
        const Explanation bucket = explainHeld(*simulation, HeldBuffer::reductionBuffers, 0, time);
        EXPECT_EQ(bucket.result.value, 8000);
        EXPECT_EQ(formulaValue(bucket), 8000);
        const Explanation ahead = explainHeld(*simulation, HeldBuffer::startedAhead, 0, time);
        isAhead = isAhead || ahead.result.value == 12000;
        const Explanation all = explainHeld(*simulation, MetricId::bufferMemory, 0, time);
        EXPECT_NEAR(formulaValue(all), all.result.value, 1);
    }
    EXPECT_TRUE(isAhead);
}

TEST(ExplainStage, GivesTheNumbersOfTheComparedStages)
{
    const auto a = simulate(test::smallScenario(2, 4, 2, 8)), b = simulate(test::smallScenario(1, 4, 2, 4));
    const Comparison comparison = compare(*a, *b);
    ASSERT_EQ(comparison.stages.size(), 4U);
    for (int pp = 0; pp < 4; ++pp) {
        const StageComparison& stage = comparison.stages[static_cast<std::size_t>(pp)];
        const auto expectIs = [&](StageNumber number, double difference) {
            const Explanation why = explainDifference(explain(*a, number, pp), explain(*b, number, pp));
            EXPECT_NEAR(why.result.value, difference, 1e-12 + 1e-9 * std::abs(difference));
            for (const auto& side : {a, b}) {
                const Explanation of = explain(*side, number, pp);
                EXPECT_NEAR(formulaValue(of), of.result.value, 2e-9 + 1e-6 * of.result.value) << of.name;
            }
        };
        expectIs(StageNumber::busy, static_cast<double>(stage.use.b.busy() - stage.use.a.busy()) * 1e-9);
        expectIs(StageNumber::exposed, static_cast<double>(stage.use.b.exposed() - stage.use.a.exposed()) * 1e-9);
        expectIs(StageNumber::bubble, static_cast<double>(stage.deltaNs(StepPart::bubble)) * 1e-9);
        expectIs(StageNumber::memory, static_cast<double>(stage.memory.b.total() - stage.memory.a.total()));
    }
}

TEST(ExplainSum, IsTheSumOfItsParts)
{
    const auto simulation = simulate(test::smallScenario(2, 2, 2));
    const Explanation sum =
        explainSum("both", {explain(*simulation, StepPart::bubble), explain(*simulation, StepPart::optimizer)});
    EXPECT_NEAR(formulaValue(sum), sum.result.value, 1e-12);
    EXPECT_GT(sum.result.value, 0);
}
