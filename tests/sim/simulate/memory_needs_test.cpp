// What would take more memory than there should be is refused before it is allocated, with the numbers.
#include "sim/memory_limit.h"
#include "sim/simulate/simulation.h"
#include "tests/support/gallery.h"
#include "tests/support/refusal.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace sim;
using test::refusalOf;
using testing::AllOf;
using testing::HasSubstr;

namespace {

double peakGib()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

} // namespace

TEST(MemoryLimit, RefusesAStepThatNeedsMoreBeforeItIsAllocated)
{
    // 4,096 ranks of 8 layers and 20,000 micro-batches: few actions, and 10 billion ops.
    const Scenario scenario = test::smallScenario(8, 8, 64, 20'000);
    const double before = peakGib();
    EXPECT_THAT(refusalOf([&] { simulate(scenario, {.full = true}); }),
                AllOf(HasSubstr("/training/global_batch_size: a step of "), HasSubstr("ops on 4,096 ranks one by one needs"),
                      HasSubstr("the limit is 8.0 GiB"), HasSubstr("nearest: one of each class of ranks"),
                      HasSubstr("micro-batches")));
    Scenario jittered = scenario;
    jittered.perturbations.push_back({.kind = PerturbationKind::jitter, .sigma = 0.1, .seed = 3});
    EXPECT_THAT(refusalOf([&] { simulate(jittered); }),
                AllOf(HasSubstr("ops on 4,096 ranks that differ needs"), HasSubstr("micro-batches")));
    EXPECT_LT(peakGib() - before, 2);
}

TEST(MemoryLimit, NamesAsManyMicrobatchesAsFit)
{
    const Scenario scenario = test::smallScenario(1, 4, 1, 64);
    const auto ops = static_cast<double>(simulate(scenario)->metrics().simulatedOps);
    const SimulateOptions half{.memoryLimitBytes = ops * 16 / 2};
    const std::string why = refusalOf([&] { simulate(scenario, half); });
    const std::size_t at = why.find("nearest: ");
    ASSERT_NE(at, std::string::npos) << why;
    const int nearest = std::stoi(why.substr(at + 9));
    EXPECT_GT(nearest, 16);
    EXPECT_LT(nearest, 32);
    EXPECT_EQ(refusalOf([&] { simulate(test::smallScenario(1, 4, 1, nearest), half); }), "accepted");
}

TEST(MemoryLimit, CountsWhatIsKeptOfTransfersThatMetOthers)
{
    std::mt19937 random(6);
    int met = 0;
    for (int i = 0; i < 60; ++i) {
        const Scenario scenario = test::randomScenario(random, 32);
        const auto simulation = simulate(scenario);
        const std::size_t stretched = simulation->times().stretched.size();
        double kept = 2.0 * sizeof(EngineResult::Stretch) * static_cast<double>(stretched); // while the list moves
        for (const int pipelineRank : simulation->classes().pipelineRank) {
            const RankProgram& program = simulation->program().ranks[static_cast<std::size_t>(pipelineRank)];
            kept += 16.0 * static_cast<double>(program.opCount + program.slots);
        }
        if (stretched == 0)
            continue;
        ++met;
        SCOPED_TRACE(test::describe(scenario));
        EXPECT_THAT(refusalOf([&] { simulate(scenario, {.memoryLimitBytes = kept - 1}); }), HasSubstr("a step of "));
        EXPECT_EQ(refusalOf([&] { simulate(scenario, {.memoryLimitBytes = 3 * kept}); }), "accepted");
    }
    EXPECT_GT(met, 5);
}

TEST(MemoryLimit, RefusesATimelineOfKernelsWhereTheStepAndItsActionsStillFit)
{
    const Scenario scenario = test::smallScenario(1, 4, 1, 64);
    const auto ops = static_cast<double>(simulate(scenario)->metrics().simulatedOps);
    const auto simulation = simulate(scenario, {.memoryLimitBytes = ops * 24});
    EXPECT_EQ(refusalOf([&] { simulation->trace(TraceDetail::actions); }), "accepted");
    EXPECT_THAT(refusalOf([&] { simulation->trace(TraceDetail::kernels); }),
                AllOf(HasSubstr("a step with a timeline of "), HasSubstr("actions instead of kernels")));
}

TEST(MemoryLimit, RefusesPassesOfMoreLayersAndSlicesThanCanBeHeld)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 1);
    scenario.model.numHiddenLayers = 10'000;
    scenario.schedule.kind = "seq-1f1b";
    scenario.schedule.sequenceSlices = 1024;
    scenario.schedule.layersPerStage = {10'000};
    const double before = peakGib();
    EXPECT_THAT(refusalOf([&] { simulate(scenario); }),
                AllOf(HasSubstr("/schedule/sequence_slices: "), HasSubstr("10000 layers"), HasSubstr("the limit is 1.000 GiB")));
    EXPECT_LT(peakGib() - before, 3) << "counted as they are made";
}

TEST(MemoryLimit, OfAPlacementGrowsWithTheRanksAndNotWithEveryGpuOfTheCluster)
{
    const double before = peakGib();
    const test::Opened opened =
        test::openNumber("01", {"cluster.nodes=1048576", "cluster.gpus_per_node=1024", "layout.placement=[0,1073741823]"});
    EXPECT_EQ(opened.simulation->placement().gpu(1), 1'073'741'823);
    EXPECT_LT(peakGib() - before, 1);
}
