// What documents of uneven lengths do to a step.
#include "sim/engine/documents.h"
#include "sim/model/flops.h"
#include "sim/simulate/simulation.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace sim;

TEST(DocumentTimes, OfWholeSequencesAreAsWithout)
{
    EXPECT_EQ(simulate(test::packedScenario({1024, 5000}, {1, 1}, 2))->times().endNs,
              simulate(test::smallScenario(1, 2, 2, 8))->times().endNs);
}

TEST(DocumentTimes, ShortenAttentionAndNothingElse)
{
    Scenario scenario = test::packedScenario({256}, {1});
    scenario.cluster.efficiency.attentionHalfLength = 0;
    const auto whole = simulate(test::smallScenario(1, 2, 1, 8)), cut = simulate(scenario);
    Scenario before = test::smallScenario(1, 2, 1, 8);
    before.cluster.efficiency.attentionHalfLength = 0;
    const Metrics full = simulate(before)->metrics(), of = cut->metrics();
    EXPECT_NEAR(of.computing.attention, full.computing.attention / 4, 1e-6 * full.computing.attention + 1e-7);
    EXPECT_EQ(of.computing.gemm, full.computing.gemm);
    EXPECT_EQ(of.computing.other, full.computing.other);
    EXPECT_LT(of.stepTimeSeconds, full.stepTimeSeconds);
}

TEST(DocumentTimes, LeaveAttentionInFullTwiceWhatACausalModelNeeds)
{
    Scenario scenario = test::packedScenario({256}, {1});
    const double share = attentionFlopsShare(scenario);
    ASSERT_LT(share, 0.5);
    const StepFlops none = stepFlops(scenario, 0), packed = stepFlops(scenario, share);
    EXPECT_EQ(none.modelFull, none.modelCausal);
    EXPECT_NEAR((packed.modelFull - none.modelFull) / (packed.modelCausal - none.modelCausal), 2, 1e-9);
    scenario.training.causal = false;
    const StepFlops both = stepFlops(scenario, share);
    EXPECT_EQ(both.modelFull, packed.modelFull);
    EXPECT_EQ(both.modelCausal, packed.modelFull);
}

TEST(DocumentTimes, MakeReplicasWaitForEachOther)
{
    Scenario scenario = test::packedScenario({128, 4096}, {1, 1}, 4);
    scenario.training.sequenceLength = 4096;
    const auto simulation = simulate(scenario);
    const auto shares = attentionShares(scenario);
    EXPECT_EQ(simulation->classCount(), 8) << "four replicas of two stages";
    double least = 1e9, most = 0;
    for (const auto& replica : shares) {
        const double sum = std::accumulate(replica.begin(), replica.end(), 0.0);
        least = std::min(least, sum);
        most = std::max(most, sum);
    }
    ASSERT_GT(most, 1.01 * least);
    Scenario even = scenario;
    even.training.documents = {.lengths = {4096}, .weights = {1}};
    EXPECT_LT(simulation->metrics().stepTimeSeconds, simulate(even)->metrics().stepTimeSeconds);
}
