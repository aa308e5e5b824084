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
        efficiency.attention.fill({});
        efficiency.narrowAttention.fill({});
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

/// A kernel's own, each way, before what the GPU says of all.
TEST_F(AttentionCosts, HaveTheLengthsAndHeadsOfTheirKernel)
{
    Efficiency& efficiency = scenario.cluster.efficiency;
    efficiency.attentionHalfLength = 4096;
    AttentionRate& own = efficiency.attention[static_cast<std::size_t>(AttentionKernel::flash3)];
    own.forwardHalfLength = 2048;
    EXPECT_NEAR(reached(forward), 0.8 / 1.5, 1e-4);
    EXPECT_NEAR(reached(backward), 0.4 / (1 + kBackwardHalfLength), 1e-4) << "what the kernel does not say";
    own.backwardHalfLength = 1024;
    EXPECT_NEAR(reached(backward), 0.4 / 1.25, 1e-4);
    EXPECT_NEAR(reached(forward, AttentionKernel::flash2), efficiency.attentionForward / 2, 1e-4);
    scenario.training.attention = AttentionKernel::flash3;
    EXPECT_DOUBLE_EQ(meanAttentionHalfLength(scenario), (2048 + 2.5 * 1024) / 3.5);

    own.forwardHalfHead = 320;
    own.backwardHalfHead = 64;
    OpShape smallForward = forward, smallBackward = backward;
    smallForward.k = smallBackward.k = 64;
    EXPECT_NEAR(reached(smallForward), 0.8 / 1.5 * 64 / (64 + 320) * (128 + 320) / 128, 1e-4);
    EXPECT_NEAR(reached(smallBackward), 0.4 / 1.25 * 64 / (64 + 64) * (128 + 64) / 128, 1e-4);
}

/// Where software asks for it and the GPU says how fast it is; of the peak in 8 bits, behind a cast of what it reads.
TEST_F(AttentionCosts, InEightBitsAreThoseOfTheKernelThereAndOfItsCasts)
{
    Efficiency& efficiency = scenario.cluster.efficiency;
    AttentionRate& wide = efficiency.attention[static_cast<std::size_t>(AttentionKernel::cudnn)];
    wide = {.forward = 0.6, .backward = 0.5};
    efficiency.narrowAttention = {{{.forward = 0.3, .backward = 0.2}, {.forward = 0.25, .backward = 0.15}}};
    const double widePeak = scenario.cluster.gpu.peakTflops.at(Precision::bf16) * 1e12,
                 narrowPeak = scenario.cluster.gpu.peakTflops.at(Precision::fp8) * 1e12;
    ASSERT_GT(narrowPeak, 1.9 * widePeak);
    scenario.cluster.gpu.peakTflops[Precision::mxfp8] = narrowPeak / 1e12;
    scenario.training.stack.castBytes = 0;
    const auto rate = [&](const OpShape& shape) { return reached(shape, AttentionKernel::cudnn) * widePeak; };
    scenario.training.precision = Precision::fp8;
    EXPECT_NEAR(rate(forward) / widePeak, 0.6, 1e-4) << "nobody asked for it";
    scenario.training.stack.narrowAttention = true;
    EXPECT_NEAR(rate(forward) / narrowPeak, 0.3, 1e-4);
    EXPECT_NEAR(rate(backward) / narrowPeak, 0.2, 1e-4);
    scenario.training.precision = Precision::mxfp8;
    EXPECT_NEAR(rate(forward) / narrowPeak, 0.25, 1e-4);
    EXPECT_NEAR(reached(forward), 0.8, 1e-4) << "FlashAttention-3 has none";
    scenario.training.precision = Precision::bf16;
    EXPECT_NEAR(rate(forward) / widePeak, 0.6, 1e-4);

    // A window's backward pass meets all keys of a causal sequence; forward they are left out.
    scenario.training.precision = Precision::fp8;
    OpShape window = forward, windowBackward = backward;
    window.n = windowBackward.n = 2 * 512;
    EXPECT_NEAR(rate(windowBackward) / narrowPeak, 0.2, 1e-4) << "a chunk's: measured are windows alone";
    window.windowed = windowBackward.windowed = true;
    EXPECT_NEAR(rate(window) / narrowPeak, 0.3, 1e-4);
    EXPECT_NEAR(rate(windowBackward) / narrowPeak, 0.2 / 8, 1e-4);
    // Of the same sequence ranks and slices have fewer queries, whose keys are as many; all together take as long.
    for (const int parts : {2, 8, 16}) {
        OpShape part = windowBackward;
        part.m /= parts;
        part.flops /= parts;
        scenario.layout.cp = parts;
        EXPECT_NEAR(rate(part) / narrowPeak, 0.2 / 8, 1e-4) << parts << " ranks";
        scenario.layout.cp = 1;
        scenario.schedule.sequenceSlices = parts;
        EXPECT_NEAR(rate(part) / narrowPeak, 0.2 / 8, 1e-4) << parts << " slices";
        scenario.schedule.sequenceSlices = 1;
    }
    scenario.training.stack.narrowAttention = false;
    EXPECT_NEAR(rate(windowBackward) / widePeak, 0.5, 1e-4);

    scenario.training.stack.narrowAttention = true;
    scenario.training.stack.castBytes = 3;
    const double bandwidth = scenario.cluster.gpu.memoryBandwidthGBs * 1e9 * efficiency.memory;
    OpShape one = forward;
    one.batch = 64;
    one.flops = 1;
    const double output = 64.0 * 8192 * 128; // and queries; keys and values of 16 heads
    one.bytes = static_cast<std::int64_t>(2 * (2 * output + 2 * output / 4));
    efficiency.launchUs = 0;
    const auto ns = [&](const OpShape& shape) {
        scenario.training.attention = AttentionKernel::cudnn;
        return static_cast<double>(CostModel(scenario).kernelNs(shape));
    };
    scenario.training.stack.parts[static_cast<std::size_t>(StackPart::attention)] = {.traffic = 0, .backwardTraffic = 0};
    const double operands = static_cast<double>(one.bytes) / bandwidth * 1e9, cast = 3 * output / bandwidth * 1e9;
    EXPECT_NEAR(ns(one), std::max(operands, 1.5 * cast), 2);
    OpShape oneBackward = one;
    oneBackward.kernel = KernelKind::attentionBackward;
    oneBackward.pass = KernelPass::backward;
    EXPECT_NEAR(ns(oneBackward), std::max(operands, cast), 2);
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
