// What documents of uneven lengths leave of attention, against closed forms.
#include "sim/cost/cost.h"
#include "sim/engine/documents.h"
#include "sim/engine/slowdown.h"
#include "tests/support/scenarios.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace sim;

namespace {

double onlyShare(const Scenario& scenario)
{
    const auto shares = attentionShares(scenario);
    for (const auto& replica : shares)
        for (const double share : replica)
            EXPECT_EQ(share, shares[0][0]);
    return shares[0][0];
}

} // namespace

TEST(Documents, AsLongAsTheSequenceAreTheSequence)
{
    EXPECT_EQ(onlyShare(test::packedScenario({1024, 5000}, {1, 1}, 2)), 1);
    EXPECT_TRUE(attentionShares(test::smallScenario()).empty());
}

TEST(Documents, OfEqualLengthsTakeTheTimeOfTheirPairs)
{
    Scenario scenario = test::packedScenario({256}, {1});
    scenario.cluster.efficiency.attentionHalfLength = 0;
    EXPECT_DOUBLE_EQ(onlyShare(scenario), 0.25);
    scenario.training.documents.lengths = {768}; // and a rest of 256
    EXPECT_DOUBLE_EQ(onlyShare(scenario), (9 + 1) / 16.0);
    AttentionRate& kernel = scenario.cluster.efficiency.attention[static_cast<std::size_t>(scenario.training.attention)];
    kernel.forwardHalfLength = 29; // of keys seen; causal queries see half
    kernel.backwardHalfLength = (3.5 * 64 - 29) / 2.5;
    EXPECT_DOUBLE_EQ(onlyShare(scenario), (768.0 * 896 + 256.0 * 384) / (1024.0 * 1152));
    scenario.training.causal = false;
    EXPECT_DOUBLE_EQ(onlyShare(scenario), (768.0 * 832 + 256.0 * 320) / (1024.0 * 1088));
}

TEST(Documents, NeedFewerFlops)
{
    Scenario scenario = test::packedScenario({768}, {1});
    EXPECT_DOUBLE_EQ(attentionFlopsShare(scenario), (9 + 1) / 16.0);
    EXPECT_EQ(attentionFlopsShare(test::smallScenario()), 1);
}

TEST(Documents, LeaveKernelsThatComputeAllScoresAsTheyAre)
{
    RankClasses classes;
    classes.slowdown = {{.replica = 0}};
    classes.attentionShares = {{0.25}};
    EXPECT_EQ(attentionShareOf(classes, 0, 0, {.family = KernelFamily::attention}), 0.25);
    EXPECT_EQ(attentionShareOf(classes, 0, 0, {.family = KernelFamily::scores}), 1);
    EXPECT_EQ(attentionShareOf(classes, 0, 0, {.family = KernelFamily::softmax}), 1);
    EXPECT_EQ(attentionShareOf(classes, 0, 0, {.family = KernelFamily::gemm}), 1);
}

TEST(Documents, OfAMicroBatchsSequencesAreAMean)
{
    Scenario scenario = test::packedScenario({256}, {1});
    scenario.training.microBatchSize = 4;
    scenario.training.globalBatchSize *= 4;
    scenario.cluster.efficiency.attentionHalfLength = 0;
    EXPECT_DOUBLE_EQ(onlyShare(scenario), 0.25);
}

TEST(Documents, OfMicroBatchesAndReplicasAreDrawnByThemselves)
{
    const auto shares = attentionShares(test::packedScenario({100, 300, 700}, {1, 1, 1}, 3));
    ASSERT_EQ(shares.size(), 3U);
    for (std::size_t replica = 0; replica < 3; ++replica) {
        EXPECT_NE(shares[replica], shares[(replica + 1) % 3]);
        const auto [least, most] = std::minmax_element(shares[replica].begin(), shares[replica].end());
        EXPECT_LT(*least, *most) << "eight micro-batches";
    }
}

TEST(Documents, ShortenWhatThePeakAllowsAsWell)
{
    // A kernel at its GPU's peak that computes a quarter takes a quarter; no jitter takes it below that.
    const RankSlowdown none{.replica = 0};
    EXPECT_EQ(slowedKernelNs(4000, 4000, none, 0, 0.25), 1000);
    EXPECT_EQ(slowedKernelNs(4000, 4000, {.compute = 0.5, .replica = 0}, 0, 0.25), 1000);
    EXPECT_EQ(slowedKernelNs(4000, 1000, {.compute = 0.5, .replica = 0}, 0, 0.25), 500);
}

TEST(Documents, AreDrawnByTheirWeights)
{
    // Of documents of one and of four quarters: the share is a mean of what sequences can be.
    const auto shares = attentionShares(test::packedScenario({256, 1024}, {3, 1}, 4000));
    double quarters = 0, sum = 0, count = 0;
    for (const auto& replica : shares)
        for (const double share : replica) {
            sum += share;
            quarters += share < 1 ? 1 : 0;
            ++count;
        }
    EXPECT_NEAR(quarters / count, 0.75, 0.01) << "a sequence that begins with a short document is no whole one";
    EXPECT_GT(sum / count, 0.25);
    EXPECT_EQ(shares, attentionShares(test::packedScenario({256, 1024}, {3, 1}, 4000)));
    EXPECT_NE(shares, attentionShares(test::packedScenario({256, 1024}, {3, 1}, 4000, 1)));
    EXPECT_NE(shares, attentionShares(test::packedScenario({256, 1024}, {3, 1}, 4000), 1)) << "another step, other documents";
    const auto shortOnes = attentionShares(test::packedScenario({256, 1024}, {1, 0}, 2));
    EXPECT_EQ(shortOnes, attentionShares(test::packedScenario({256}, {1}, 2)));
}
