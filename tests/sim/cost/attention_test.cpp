// Attention's time: the kernel's own rate, and what short sequences, small heads and few of them take away from it.
#include "sim/cost/cost.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

namespace {

class AttentionCosts : public testing::Test {
protected:
    AttentionCosts()
    {
        Efficiency& efficiency = scenario.cluster.efficiency;
        efficiency.kernelUs = efficiency.attentionHalfLength = 0;
        efficiency.attention[static_cast<std::size_t>(AttentionKernel::flash3)] = {.forward = 0.8, .backward = 0.4};
    }
    double reached(const OpShape& shape, AttentionKernel kernel = AttentionKernel::flash3)
    {
        scenario.training.attention = kernel;
        const double peak = scenario.cluster.gpu.peakTflops.at(Precision::bf16) * 1e12;
        return shape.flops / (static_cast<double>(CostModel(scenario).kernelNs(shape)) * 1e-9) / peak;
    }

    Scenario scenario = test::smallScenario(8, 1, 2);
    /// So many heads that their last blocks are nothing.
    OpShape forward{.kernel = KernelKind::attentionForward,
                    .family = KernelFamily::attention,
                    .m = 8192,
                    .n = 8192,
                    .k = 128,
                    .batch = 1 << 20,
                    .flops = 1e16};
    OpShape backward = [this] {
        OpShape shape = forward;
        shape.kernel = KernelKind::attentionBackward;
        shape.pass = KernelPass::backward;
        return shape;
    }();
};

TEST_F(AttentionCosts, AreThoseOfTheKernel)
{
    EXPECT_NEAR(reached(forward, AttentionKernel::flash2), scenario.cluster.efficiency.attentionForward, 1e-4);
    EXPECT_NEAR(reached(forward), 0.8, 1e-4);
    EXPECT_NEAR(reached(backward), 0.4, 1e-4);
}

TEST_F(AttentionCosts, AreHigherForShortSequencesMostOfAllBackward)
{
    scenario.cluster.efficiency.attentionHalfLength = 4096; // a query of a causal sequence sees half of it
    EXPECT_NEAR(reached(forward), 0.4, 1e-4);
    EXPECT_NEAR(reached(backward), 0.4 / (1 + kBackwardHalfLength), 1e-4);
}

TEST_F(AttentionCosts, AreHigherForSmallHeads)
{
    OpShape small = forward;
    small.k = 64;
    EXPECT_NEAR(reached(small), 0.8 * 64 / (64 + 48) * (128 + 48) / 128, 1e-4);
    small.k = 256;
    EXPECT_NEAR(reached(small), 0.8, 1e-4);
}

/// Of two heads of 8,192 queries there are 128 blocks for 132 multiprocessors, and the last has the work of two.
TEST_F(AttentionCosts, AreHigherWhereFewHeadsLeaveMultiprocessorsIdle)
{
    const int processors = scenario.cluster.gpu.multiprocessors;
    ASSERT_EQ(processors, 132);
    OpShape few = forward;
    for (const std::int64_t heads : {64, 8, 2}) {
        few.batch = heads;
        EXPECT_NEAR(reached(few), 0.8 / (1 + 0.67 * 256 * processors / (8192.0 * static_cast<double>(heads))), 1e-3) << heads;
    }
    const auto tail = [&](double lastOverMean) { return 0.8 / (1 + 0.67 * 128 * lastOverMean * processors / (8192.0 * 2)); };
    few.n = 3 * 8192; // the second of several slices: queries see 1 to 2 times 8,192 keys
    EXPECT_NEAR(reached(few), tail(4.0 / 3), 1e-3);
    few.n = 2 * 1024; // a window
    EXPECT_NEAR(reached(few), tail(1), 1e-3);
    scenario.training.causal = false;
    few.n = 2 * 8192;
    EXPECT_NEAR(reached(few), tail(1), 1e-3);
    scenario.cluster.gpu.multiprocessors = 0; // a processor whose parts nobody counts
    EXPECT_NEAR(reached(few), 0.8, 1e-4);
}

} // namespace
