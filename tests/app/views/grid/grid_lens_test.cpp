// What the lenses read: against the metrics of the step and closed forms.
#include "app/views/grid/grid_lens.h"
#include "sim/analysis/explain/explain_rank.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace app {
namespace {

struct Step {
    SimulationPtr simulation;
    StepUse use;
    Instants instants;
    explicit Step(const sim::Scenario& scenario, bool full = false)
        : simulation(sim::simulate(scenario, {.full = full})), use(simulation),
          instants(std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions)))
    {
    }
    GridReading read(GridLens lens, std::int64_t cursorNs = 0, ClassMask classes = kAllClasses)
    {
        return readLens(lens,
                        {.simulation = *simulation, .use = use, .instants = &instants, .cursorNs = cursorNs, .classes = classes});
    }
    double valueOf(const GridReading& reading, int rank) const { return reading.values[reading.unitOf(*simulation, rank)]; }
    int world() const { return simulation->mesh().worldSize(); }
};

sim::Scenario withSlowGpu(double factor)
{
    sim::Scenario scenario = test::smallScenario(2, 2, 4);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = factor});
    return scenario;
}

TEST(GridLens, OfARecordingTellsWhatWasMeasuredAndSaysWhatIsMissing)
{
    Step step(test::smallScenario(2, 2, 1));
    std::vector<MeasuredRank> ranks(4);
    for (const int rank : {0, 1, 3})
        ranks[static_cast<std::size_t>(rank)] = {
            .isRecorded = true, .busy = 0.5 + 0.1 * rank, .idle = 0.25, .againstPeers = 0.1 * rank};
    const auto read = [&](GridLens lens) {
        return readLens(lens, {.simulation = *step.simulation, .use = step.use, .instants = &step.instants, .measured = &ranks});
    };
    const GridReading busy = read(GridLens::busy);
    ASSERT_EQ(busy.values.size(), 4U);
    EXPECT_DOUBLE_EQ(busy.values[3], 0.8);
    EXPECT_DOUBLE_EQ(busy.least, 0.5);
    EXPECT_EQ(busy.sentence(1), "busy 60.0 % of the step");
    EXPECT_EQ(busy.sentence(2), "not recorded");
    EXPECT_EQ(busy.cellTexts(2).front(), "not recorded");
    EXPECT_EQ(read(GridLens::bubble).sentence(0), "idle 25.0 % of the step");
    EXPECT_EQ(read(GridLens::straggler).sentence(0), "as fast as its peers");
    const GridReading memory = read(GridLens::memory), sent = read(GridLens::sent);
    EXPECT_FALSE(memory.hasRamp());
    EXPECT_EQ(legendOf(memory).title, "this recording holds no memory");
    EXPECT_EQ(legendOf(sent).title, "a recording does not say what each rank sends");
    ranks[1].peakBytes = 3 << 20;
    EXPECT_TRUE(read(GridLens::memory).hasRamp());
    EXPECT_EQ(read(GridLens::memory).sentence(1), "3.00 MiB at peak");
}

TEST(GridLens, BusyAndBubbleAreTheMetrics)
{
    std::mt19937 random(4);
    for (int round = 0; round < 10; ++round) {
        const sim::Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        Step step(scenario);
        const GridReading busy = step.read(GridLens::busy), bubble = step.read(GridLens::bubble);
        const sim::Metrics& metrics = step.simulation->metrics();
        std::vector<double> busySum(metrics.perPipelineRank.size()), ranks(busySum.size());
        double bubbleSum = 0;
        for (int rank = 0; rank < step.world(); ++rank) {
            const auto pp = static_cast<std::size_t>(step.simulation->mesh().coordinates(rank).pp);
            busySum[pp] += step.valueOf(busy, rank);
            ranks[pp] += 1;
            bubbleSum += step.valueOf(bubble, rank);
            EXPECT_LE(step.valueOf(busy, rank) + step.valueOf(bubble, rank), 1 + 1e-9) << "the rest is exposed communication";
        }
        for (std::size_t pp = 0; pp < busySum.size(); ++pp)
            EXPECT_NEAR(busySum[pp] / ranks[pp], metrics.perPipelineRank[pp].busySeconds / metrics.stepTimeSeconds, 1e-6);
        EXPECT_NEAR(bubbleSum / step.world(), metrics.bubbleFraction, 1e-6);
    }
}

TEST(GridLens, FoldedIsFull)
{
    std::mt19937 random(6);
    for (int round = 0; round < 4; ++round) {
        const sim::Scenario scenario = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(scenario));
        Step folded(scenario), full(scenario, true);
        for (const GridLens lens : {GridLens::memory, GridLens::busy, GridLens::sent, GridLens::bubble, GridLens::straggler}) {
            const GridReading a = folded.read(lens), b = full.read(lens);
            for (int rank = 0; rank < folded.world(); ++rank)
                ASSERT_NEAR(folded.valueOf(a, rank), full.valueOf(b, rank), 1e-6 * std::max(1.0, a.most))
                    << gridLensName(lens) << " of rank " << rank;
        }
    }
}

TEST(GridLens, MemoryIsThePeakOfTheClass)
{
    Step step(test::smallScenario(2, 2, 2));
    const GridReading reading = step.read(GridLens::memory);
    for (int c = 0; c < step.simulation->classCount(); ++c)
        EXPECT_EQ(reading.values[static_cast<std::size_t>(c)], static_cast<double>(step.simulation->memoryOfClass(c).total()));
    EXPECT_EQ(reading.full, 80.0 * 1024 * 1024 * 1024);
}

TEST(GridLens, OnlyTheSlowGpuIsAStraggler)
{
    Step step(withSlowGpu(1.5));
    const GridReading reading = step.read(GridLens::straggler);
    // One takes 1.5; it has seven peers, and so has each of the others, of whom one takes 1.5.
    constexpr double kPeers = 7, kMean = (kPeers + 0.5) / kPeers;
    for (int rank = 0; rank < step.world(); ++rank) {
        const bool peer = step.simulation->mesh().coordinates(rank).pp == step.simulation->mesh().coordinates(5).pp;
        const double expected = rank == 5 ? 0.5 : peer ? 1 / kMean - 1 : 0;
        EXPECT_NEAR(step.valueOf(reading, rank), expected, 1e-3) << rank;
        const double because = sim::explain(*step.simulation, sim::RankNumber::againstPeers, rank).result.value;
        EXPECT_DOUBLE_EQ(step.valueOf(reading, rank), because) << "the lens and its explanation are one number";
    }
    EXPECT_EQ(reading.full, reading.most) << "the scale is as long on both sides";
    EXPECT_EQ(reading.tones[reading.unitOf(*step.simulation, 5)], GridReading::kFull);
    EXPECT_NE(reading.sentence(reading.unitOf(*step.simulation, 5)).find("slower"), std::string::npos);
}

TEST(GridLens, AloneNobodyIsAStragglerAndNobodySends)
{
    Step even(test::smallScenario(2, 2, 2));
    const GridReading reading = even.read(GridLens::straggler);
    EXPECT_EQ(reading.least, 0);
    EXPECT_EQ(reading.most, 0);
    EXPECT_EQ(legendOf(reading).title, "all alike");
    Step alone(test::smallScenario());
    EXPECT_EQ(alone.read(GridLens::sent).most, 0);
    EXPECT_EQ(alone.read(GridLens::sent).tones.front(), GridReading::kLeast);
}

TEST(GridLens, PipelineEndsSendHalfOfWhatTheMiddleSends)
{
    // Without any other parallelism: the first stage sends activations, the last gradients, those between both.
    Step step(test::smallScenario(1, 4, 1));
    const GridReading reading = step.read(GridLens::sent);
    EXPECT_GT(step.valueOf(reading, 0), 0);
    EXPECT_EQ(step.valueOf(reading, 3), step.valueOf(reading, 0));
    EXPECT_EQ(step.valueOf(reading, 1), 2 * step.valueOf(reading, 0));
    const sim::Scenario& s = step.simulation->scenario();
    const double activations = 2.0 * s.training.sequenceLength * s.model.hiddenSize; // bf16
    EXPECT_EQ(step.valueOf(reading, 0), activations * s.microbatches());
}

TEST(GridLens, NowIsTheInstant)
{
    Step step(test::smallScenario(1, 4, 2));
    for (int i = 0; i <= 20; ++i) {
        const std::int64_t time = step.instants.trace().endNs * i / 20;
        const GridReading reading = step.read(GridLens::now, time);
        for (int c = 0; c < step.simulation->classCount(); ++c) {
            const auto unit = static_cast<std::size_t>(c);
            const auto doing = step.instants.action(c, time);
            ASSERT_EQ(reading.doing[unit].has_value(), doing.has_value());
            EXPECT_EQ(reading.tones[unit], doing ? 1 + static_cast<int>(doing->opClass) : GridReading::kWaits);
            EXPECT_EQ(reading.cellTexts(unit).front(), doing ? step.instants.label(doing->span) : i == 20 ? "done" : "waits");
        }
    }
}

TEST(GridLens, ClassesThatDoNotCountStepAside)
{
    Step step(test::smallScenario(1, 2, 1));
    const std::int64_t inFirst = step.instants.messages().front().sentNs - 1; // the forward that sends it is launched and runs
    const auto tone = [&](ClassMask classes) { return step.read(GridLens::now, inFirst, classes).tones.front(); };
    EXPECT_EQ(tone(kAllClasses), 1 + static_cast<int>(sim::OpClass::forward));
    EXPECT_EQ(tone(static_cast<ClassMask>(kAllClasses & ~maskOf(sim::OpClass::forward))), GridReading::kAside);
}

TEST(GridLens, EveryLensSpeaks)
{
    Step step(withSlowGpu(1.2));
    for (int i = 0; i < kGridLensCount; ++i) {
        const auto lens = static_cast<GridLens>(i);
        const GridReading reading = step.read(lens, step.instants.trace().endNs / 3);
        ASSERT_EQ(reading.tones.size(), static_cast<std::size_t>(step.simulation->classCount()));
        for (std::size_t unit = 0; unit < reading.tones.size(); ++unit) {
            EXPECT_NE(reading.tones[unit], GridReading::kNothing);
            EXPECT_EQ(reading.sentence(unit).empty(), lens == GridLens::groups) << gridLensName(lens);
        }
        const LensLegend legend = legendOf(reading);
        EXPECT_TRUE(!legend.title.empty() || legend.swatches.size() > 2) << gridLensName(lens);
        for (const double mark : legend.marks)
            EXPECT_GE(mark, 0);
    }
}

} // namespace
} // namespace app
