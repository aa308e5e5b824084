// What documents of uneven lengths leave of attention, against closed forms.
#include "sim/engine/documents.h"
#include "tests/support/scenarios.h"

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
    scenario.cluster.efficiency.attentionHalfLength = 64; // of keys seen; causal queries see half
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
