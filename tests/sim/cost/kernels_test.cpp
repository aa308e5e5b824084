#include "sim/cost/cost.h"
#include "sim/error.h"
#include "tests/sim/cost/costs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace sim;
using test::Costs, test::collective, test::gemm, test::insideNode, test::plain;

TEST_F(Costs, LargeGemmRunsNearItsEfficiencyAndSmallOneAtLaunchSpeed)
{
    const OpShape large = gemm(16384, 16896, 16384); // 128 x 132 tiles: whole waves on 132 multiprocessors
    const double reached = large.flops / (static_cast<double>(cost.kernelNs(large)) * 1e-9) / 989e12;
    EXPECT_NEAR(reached, scenario.cluster.efficiency.gemm, 0.02);
    EXPECT_EQ(cost.kernelNs(gemm(8, 8, 8)), static_cast<std::int64_t>(scenario.cluster.efficiency.launchUs * 1000));
}

TEST_F(Costs, ATileTooMuchCostsAWave)
{
    // 132 tiles of 256 x 128 fill the machine once; more need a second wave, or smaller tiles in another number of waves.
    const std::int64_t one = cost.kernelNs(gemm(256 * 12, 128 * 11, 8192));
    const std::int64_t two = cost.kernelNs(gemm(256 * 12, 128 * 12, 8192));
    EXPECT_GT(static_cast<double>(two), 1.25 * static_cast<double>(one)); // for 9 % more work
}

TEST_F(Costs, SkinnyGemmIsBoundByMemory)
{
    const OpShape skinny = gemm(1, 16384, 16384);
    const double bytes = 2.0 * (16384.0 + 16384.0 * 16384.0 + 16384.0);
    EXPECT_NEAR(static_cast<double>(cost.kernelNs(skinny)) * 1e-9, bytes / (3350e9 * scenario.cluster.efficiency.memory), 1e-6);
}

/// An A100's peak over the H100's of these tests.
constexpr double kOlderKernels = 312.0 / 989.4;

TEST_F(Costs, ProductsPayForRowsThatDoNotBeginOnALineOfMemory)
{
    const auto rate = [&](std::int64_t n) {
        const OpShape shape = gemm(8192, n, 8192);
        return shape.flops / static_cast<double>(cost.kernelNs(shape));
    };
    EXPECT_GT(rate(8192), 1.1 * rate(8192 - 8)); // 16 bytes off
    // A result, as of a vocabulary that is not padded: as on an A100, whose kernels these are, 0.6 or 0.4 of its peak.
    EXPECT_NEAR(rate(8192) / rate(8192 - 4), 1 / 0.6 / kOlderKernels, 0.06);
    EXPECT_NEAR(rate(8192) / rate(8192 - 3), 1 / 0.4 / kOlderKernels, 0.09);
}

TEST_F(Costs, RowsOfBothOperandsOffTheLineCostMostWhatTensorCoresGive)
{
    const auto seconds = [&](KernelPass pass, KernelFamily family, std::int64_t m, std::int64_t n, std::int64_t k) {
        OpShape shape = gemm(m, n, k);
        shape.pass = pass;
        shape.family = family;
        return static_cast<double>(cost.kernelNs(shape));
    };
    const std::int64_t whole = 8192, odd = whole - 4; // 8 bytes off
    const auto slowdown = [&](KernelPass pass, KernelFamily family, std::int64_t m, std::int64_t n, std::int64_t k) {
        return seconds(pass, family, m, n, k) / seconds(pass, family, whole, whole, whole);
    };
    const KernelFamily weights = KernelFamily::gemm, scores = KernelFamily::scores;
    EXPECT_NEAR(slowdown(KernelPass::forward, weights, whole, whole, odd), 1 / 0.16, 0.1);                  // input and weights
    EXPECT_NEAR(slowdown(KernelPass::backward, weights, whole, whole, odd), 1 / 0.6 / kOlderKernels, 0.06); // the gradient alone
    EXPECT_NEAR(slowdown(KernelPass::weightGradient, weights, odd, whole, whole), 1 / 0.6 / kOlderKernels, 0.06);
    EXPECT_NEAR(slowdown(KernelPass::backward, scores, whole, whole, odd), 1 / 0.16, 0.1);
}

TEST_F(Costs, OfAWeightGradientTokensAreTheLengthOfTheSums)
{
    OpShape shape = gemm(4096, 4096, 1229); // an odd number of tokens of an expert
    const std::int64_t forward = cost.kernelNs(shape);
    shape.pass = KernelPass::weightGradient;
    EXPECT_LT(3 * cost.kernelNs(shape), forward);
}

TEST_F(Costs, PiecesOfTheTokensAreKernelsOneAfterTheOther)
{
    OpShape shape = gemm(8192, 16384, 4096), piece = gemm(2048, 16384, 4096);
    shape.pieces = 4;
    EXPECT_EQ(cost.kernelNs(shape), 4 * cost.kernelNs(piece));
    shape.pass = piece.pass = KernelPass::weightGradient; // which sums over them
    shape.k = 8192;
    piece.m = shape.m;
    piece.k = 2048;
    piece.flops = shape.flops / 4;
    EXPECT_EQ(cost.kernelNs(shape), 4 * cost.kernelNs(piece));
    OpShape loss{.family = KernelFamily::loss, .m = 8192, .n = 50304, .bytes = 8'000'000'000}, part = loss;
    loss.pieces = 8;
    part.m /= 8;
    part.bytes /= 8;
    EXPECT_EQ(cost.kernelNs(loss), 8 * cost.kernelNs(part));
}

TEST_F(Costs, WhatAProductsWeightsAreMadeOfIsMovedBeforeIt)
{
    OpShape plain = gemm(4096, 4096, 4096), widened = plain; // QLoRA
    widened.bytes = 4096 * 4096 * 5 / 2;
    EXPECT_NEAR(static_cast<double>(cost.kernelNs(widened) - cost.kernelNs(plain)),
                static_cast<double>(widened.bytes) / (3350 * scenario.cluster.efficiency.memory), 2);
}

TEST_F(Costs, StartsOfKernelsAndCollectivesComeOnTop)
{
    const OpShape product = gemm(8192, 8192, 8192);
    const auto gather = collective(CollectiveKind::allGather, 1 << 30);
    const std::int64_t kernel = cost.kernelNs(product), gathered = cost.collectiveNs(gather, insideNode(8));
    scenario.cluster.efficiency.kernelUs = 7;
    scenario.cluster.efficiency.collectiveUs = 11;
    const CostModel slower(scenario);
    EXPECT_EQ(slower.kernelNs(product), kernel + 7000);
    EXPECT_EQ(slower.collectiveNs(gather, insideNode(8)), gathered + 11000);
}

TEST_F(Costs, SoftwareMovesMoreThanItMustInItsOwnMeasureForEachDirection)
{
    const auto own = [&](StackPart part) -> Fusion& { return scenario.training.stack.parts[static_cast<std::size_t>(part)]; };
    own(StackPart::norm) = {.traffic = 3, .backwardTraffic = 5};
    own(StackPart::product) = {.traffic = 0.5, .backwardTraffic = 2};
    own(StackPart::attention) = {.traffic = 7, .backwardTraffic = 11};
    const CostModel eager(scenario);
    const double rate = 3350e9 * scenario.cluster.efficiency.memory * 1e-9; // bytes a nanosecond
    const double bytes = 1 << 28;
    const auto more = [&](OpShape shape) { return static_cast<double>(eager.kernelNs(shape) - cost.kernelNs(shape)); };

    OpShape norm{.family = KernelFamily::norm, .bytes = 1 << 28};
    EXPECT_NEAR(static_cast<double>(eager.kernelNs(norm)), 3 * bytes / rate, 1);
    norm.pass = KernelPass::backward;
    EXPECT_NEAR(static_cast<double>(eager.kernelNs(norm)), 5 * bytes / rate, 1);

    // Of products copies of input and result come on top.
    OpShape product = gemm(8192, 4096, 2048);
    product.family = KernelFamily::gemm;
    const double copies = 2.0 * 8192 * (4096 + 2048);
    EXPECT_NEAR(more(product), 0.5 * copies / rate, 2);
    product.pass = KernelPass::backward;
    EXPECT_NEAR(more(product), 2 * copies / rate, 2);

    OpShape attention{
        .kernel = KernelKind::attentionForward, .family = KernelFamily::attention, .k = 128, .flops = 1e13, .bytes = 1 << 28};
    EXPECT_NEAR(more(attention), 7 * bytes / rate, 2);
    attention.kernel = KernelKind::attentionBackward;
    attention.pass = KernelPass::backward;
    EXPECT_NEAR(more(attention), 11 * bytes / rate, 2);
}

TEST_F(Costs, EveryKernelThatSoftwareStartsTakesItsMoment)
{
    scenario.cluster.efficiency.kernelUs = 1;
    scenario.training.precision = Precision::fp8;
    Stack& stack = scenario.training.stack;
    stack.castBytes = stack.castLaunches = 0;
    const auto own = [&](StackPart part) -> Fusion& { return stack.parts[static_cast<std::size_t>(part)]; };
    own(StackPart::norm).launches = own(StackPart::norm).backwardLaunches = 0;
    own(StackPart::product).launches = own(StackPart::product).backwardLaunches = 0;
    const CostModel none(scenario);
    own(StackPart::norm).launches = 4;
    own(StackPart::norm).backwardLaunches = 6;
    own(StackPart::product).launches = 2;
    own(StackPart::product).backwardLaunches = 6;
    stack.castLaunches = 5;
    const CostModel many(scenario);
    const auto kernels = [&](OpShape shape) { return static_cast<double>(many.kernelNs(shape) - none.kernelNs(shape)) / 1000; };
    OpShape norm{.family = KernelFamily::norm, .bytes = 1 << 28}, product = gemm(8192, 8192, 8192);
    product.family = KernelFamily::gemm;
    EXPECT_NEAR(kernels(norm), 4, 0.01);
    EXPECT_NEAR(kernels(product), 2, 0.01);
    norm.pass = product.pass = KernelPass::backward;
    EXPECT_NEAR(kernels(norm), 6, 0.01);
    EXPECT_NEAR(kernels(product), 3, 0.01) << "half of them for each of the two gradients";
    product.lowPrecision = true;
    EXPECT_NEAR(kernels(product), 3 + 5, 0.01);
    product.pass = KernelPass::forward;
    EXPECT_NEAR(kernels(product), 2 + 5, 0.01);
    product.pass = KernelPass::weightGradient;
    EXPECT_NEAR(kernels(product), 3, 0.01) << "its operands are cast already";
}

TEST_F(Costs, OneWaveOfWholeTilesIsHeldUpByItsMainLoopAlone)
{
    const Efficiency& efficiency = scenario.cluster.efficiency;
    for (const double k : {512.0, 2048.0, 16384.0}) { // twelve times eleven tiles of 256 x 128 on 132 multiprocessors
        const OpShape shape = gemm(256 * 12, 128 * 11, static_cast<std::int64_t>(k));
        const double seconds = shape.flops / (989e12 * efficiency.gemm * k / (k + efficiency.gemmHalfK));
        EXPECT_NEAR(static_cast<double>(cost.kernelNs(shape)), std::max(seconds * 1e9, efficiency.launchUs * 1e3), 1) << k;
    }
    OpShape shape = gemm(256 * 12, 128 * 11, 16384);
    const auto forward = static_cast<double>(cost.kernelNs(shape));
    shape.pass = KernelPass::weightGradient;
    EXPECT_NEAR(forward / static_cast<double>(cost.kernelNs(shape)), efficiency.weightGradient, 1e-4);
}

TEST_F(Costs, AWeightGradientIsAddedToWhatIsThere)
{
    OpShape shape = gemm(16384, 16384, 1); // of one token: bound by memory
    shape.pass = KernelPass::weightGradient;
    scenario.training.gradientBytes = 4;
    const double operands = 2.0 * (16384 + 16384), result = 2.0 * 4 * 16384 * 16384; // read and written
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).kernelNs(shape)) * 1e-9,
                (operands + result) / (3350e9 * scenario.cluster.efficiency.memory), 1e-6);
}

TEST_F(Costs, GroupedProductsReachTheirOwnShare)
{
    OpShape shape = gemm(8192, 8192, 8192);
    const std::int64_t alone = cost.kernelNs(shape);
    shape.kernel = KernelKind::groupedGemm;
    scenario.cluster.efficiency.groupedGemm = 0.5;
    EXPECT_NEAR(2 * static_cast<double>(alone), static_cast<double>(CostModel(scenario).kernelNs(shape)),
                1e-3 * static_cast<double>(alone));
}

TEST_F(Costs, TilesOfAllExpertsFillWavesTogether)
{
    scenario.cluster.efficiency.groupedGemm = 1;
    Scenario fast = scenario;
    fast.cluster.gpu.memoryBandwidthGBs = 1e6;
    const CostModel grouped(fast);
    OpShape shape = gemm(256 * 12, 128 * 11, 16384); // a wave of tiles on 132 multiprocessors
    const auto wave = static_cast<double>(grouped.kernelNs(shape));
    const double flops = shape.flops;
    shape = gemm(256, 128 * 3, 16384); // three tiles of each of 44 experts
    shape.kernel = KernelKind::groupedGemm;
    shape.batch = 44;
    shape.flops = flops;
    EXPECT_NEAR(static_cast<double>(grouped.kernelNs(shape)), wave, 1);
    // Half the tokens take half as long, on tiles of 128 x 128 that reach 0.96 of the others' rate.
    shape.m = 128;
    shape.flops = flops / 2;
    EXPECT_NEAR(static_cast<double>(grouped.kernelNs(shape)), wave / 2 / 0.96, 2);
    // Of few tokens each the weights decide, which are read once.
    shape.m = 8;
    shape.n = 4096;
    shape.flops = 2.0 * 8 * 4096 * 16384 * 44;
    const double bytes = 44 * 2.0 * (8.0 * 16384 + 16384.0 * 4096 + 8.0 * 4096);
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).kernelNs(shape)) * 1e-9,
                bytes / (3350e9 * scenario.cluster.efficiency.memory), 1e-6);
}

TEST_F(Costs, OnlyWhatMayBeNarrowRunsInEightBits)
{
    scenario.training.precision = Precision::fp8;
    scenario.training.stack.castBytes = 0;
    scenario.training.stack.castLaunches = 0;
    scenario.cluster.efficiency.fp8Gemm = 1;
    scenario.cluster.efficiency.gemmHalfK = 0;
    const CostModel narrow(scenario);
    OpShape shape = gemm(16384, 16384, 16384);
    const auto wide = static_cast<double>(narrow.kernelNs(shape));
    shape.lowPrecision = true;
    EXPECT_NEAR(static_cast<double>(narrow.kernelNs(shape)), wide * 989 / 1979, 1e-3 * wide);
    // Every element of the input is moved once more to be cast.
    scenario.training.stack.castBytes = 3;
    const double moved = 3.0 * 16384 * 16384 / (3350e9 * scenario.cluster.efficiency.memory);
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).kernelNs(shape) - narrow.kernelNs(shape)) * 1e-9, moved, 1e-8);
    // Of what four ranks gather each has cast its own quarter; the rest is read and written once, in 8 bits, to be transposed.
    const std::int64_t uncast = narrow.kernelNs(shape);
    shape.narrowedBy = 4;
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).kernelNs(shape) - uncast) * 1e-9, moved / 3 * (3 / 4.0 + 2 * 3 / 4.0),
                1e-8);
    shape.narrowedBy = 1;
    shape.pass = KernelPass::weightGradient; // both of its operands are narrow already
    EXPECT_EQ(CostModel(scenario).kernelNs(shape), narrow.kernelNs(shape));
}

TEST_F(Costs, OfTheHostAreSharedByTheGpusOfANodeAndNotBetweenTheDirectionsOfALink)
{
    const std::int64_t bytes = std::int64_t{1} << 32;
    const auto seconds = [&](int tp, int gpusPerNode, Stream stream) {
        Scenario job = test::smallScenario(tp);
        job.cluster = scenario.cluster;
        job.cluster.gpusPerNode = gpusPerNode;
        job.cluster.host.memoryBandwidthGBs = 600;
        return static_cast<double>(CostModel(job).hostNs(bytes, stream)) * 1e-9;
    };
    const double all = static_cast<double>(bytes) / (600e9 * scenario.cluster.efficiency.hostMemory);
    EXPECT_NEAR(seconds(8, 8, Stream::host), 8 * all, 1e-8);
    EXPECT_NEAR(seconds(8, 4, Stream::host), 4 * all, 1e-8) << "two nodes";
    EXPECT_NEAR(seconds(2, 8, Stream::host), 2 * all, 1e-8) << "the others' GPUs are idle";
    const double link = static_cast<double>(bytes) / (64e9 * scenario.cluster.efficiency.hostLink);
    EXPECT_NEAR(seconds(8, 8, Stream::toHost), link, 1e-8);
    EXPECT_NEAR(seconds(1, 8, Stream::fromHost), link, 1e-8);
}

TEST_F(Costs, OfTheHostAreSharedByTheRanksThatThePlacementPutsOnOneNode)
{
    Scenario job = test::smallScenario(4);
    job.cluster = scenario.cluster;
    job.cluster.gpusPerNode = 8;
    job.cluster.nodes = 4;
    const double all = job.cluster.host.memoryBandwidthGBs * job.cluster.efficiency.hostMemory;
    const auto shareOf = [&](PlacementRule rule, std::vector<int> gpus = {}) {
        job.layout.placement = rule;
        job.layout.explicitPlacement = std::move(gpus);
        return CostModel(job).hostGBs(Stream::host);
    };
    EXPECT_DOUBLE_EQ(shareOf(PlacementRule::packed), all / 4);
    EXPECT_DOUBLE_EQ(shareOf(PlacementRule::roundRobin), all) << "a node each";
    EXPECT_DOUBLE_EQ(shareOf(PlacementRule::explicitList, {0, 8, 9, 16}), all / 2);
    job.cluster.nodes = 3;
    EXPECT_DOUBLE_EQ(shareOf(PlacementRule::roundRobin), all / 2) << "one node has two of them";
}

TEST_F(Costs, CastsWithAScaleForEveryBlockWriteTheScalesToo)
{
    scenario.cluster.gpu.peakTflops[Precision::mxfp8] = scenario.cluster.gpu.peakTflops.at(Precision::fp8);
    scenario.training.stack.castLaunches = 0;
    OpShape shape = gemm(16384, 16384, 16384);
    shape.lowPrecision = true;
    const auto castNs = [&](Precision precision) {
        scenario.training.precision = precision;
        scenario.training.stack.castBytes = 3;
        const std::int64_t with = CostModel(scenario).kernelNs(shape);
        scenario.training.stack.castBytes = 0;
        return static_cast<double>(with - CostModel(scenario).kernelNs(shape));
    };
    EXPECT_NEAR(castNs(Precision::mxfp8), 1.35 * castNs(Precision::fp8), 2);
}

// Largest elements, rows and transformed columns: three readings of 2 bytes, two writings of half a byte and a scale for
// every 16.
TEST_F(Costs, CastsToFourBitsReadTheTensorThreeTimes)
{
    scenario.cluster.gpu.peakTflops[Precision::nvfp4] = scenario.cluster.gpu.peakTflops.at(Precision::fp8);
    scenario.cluster.efficiency.kernelUs = 1;
    OpShape shape = gemm(16384, 16384, 16384);
    shape.lowPrecision = true;
    shape.family = KernelFamily::gemm;
    const auto castNs = [&](Precision precision, double bytes, double launches) {
        scenario.training.precision = precision;
        scenario.training.stack.castBytes = bytes;
        scenario.training.stack.castLaunches = launches;
        const std::int64_t with = CostModel(scenario).kernelNs(shape);
        scenario.training.stack.castBytes = scenario.training.stack.castLaunches = 0;
        return static_cast<double>(with - CostModel(scenario).kernelNs(shape));
    };
    EXPECT_NEAR(castNs(Precision::nvfp4, 4, 0) / castNs(Precision::fp8, 4, 0), (3 * 2 + 2 * (0.5 + 1.0 / 16)) / 4, 1e-4);
    EXPECT_NEAR(castNs(Precision::fp8, 0, 1), 1e3, 1);
    EXPECT_NEAR(castNs(Precision::nvfp4, 0, 1), 3e3, 1);
}

TEST_F(Costs, MissingPrecisionIsAnError)
{
    scenario.training.precision = Precision::fp16;
    EXPECT_THROW(CostModel{scenario}, Error);
}

TEST(KernelCosts, AreNeverLessThanThePeaksAllowHoweverShortTheKernel)
{
    Scenario scenario = test::smallScenario();
    Efficiency& efficiency = scenario.cluster.efficiency;
    efficiency.gemm = efficiency.attentionForward = efficiency.attentionBackward = efficiency.memory = 1;
    efficiency.gemmHalfK = efficiency.launchUs = 0;
    const CostModel cost(scenario);
    for (std::int64_t size = 1; size <= 8192; size = size * 3 / 2 + 1) {
        OpShape product = gemm(size, size, size);
        OpShape memory;
        memory.bytes = size * size;
        for (const OpShape& shape : {product, memory}) {
            const double seconds = std::max(shape.flops / 989e12, static_cast<double>(shape.bytes) / 3350e9);
            EXPECT_GE(cost.kernelNs(shape), 1);
            EXPECT_GE(static_cast<double>(cost.kernelNs(shape)) * (1 + 1e-12), seconds * 1e9) << size;
            EXPECT_GE(static_cast<double>(cost.fastestNs(shape)) * (1 + 1e-12), seconds * 1e9) << size;
            EXPECT_LE(cost.fastestNs(shape), cost.kernelNs(shape)) << size;
        }
    }
}

TEST(KernelCosts, OfAttentionUnderFp8AreThoseOf16BitUnlessFp8IsSlower)
{
    Scenario scenario = plain();
    scenario.training.precision = Precision::fp8;
    OpShape attention;
    attention.kernel = KernelKind::attentionForward;
    attention.flops = 1e15;
    const auto seconds = [&](double fp8) {
        scenario.cluster.gpu.peakTflops[Precision::fp8] = fp8;
        return static_cast<double>(CostModel(scenario).kernelNs(attention)) * 1e-9;
    };
    EXPECT_NEAR(seconds(1979), 1e15 / (989e12 * scenario.cluster.efficiency.attentionForward), 1e-6);
    EXPECT_NEAR(seconds(100), 1e15 / (100e12 * scenario.cluster.efficiency.attentionForward), 1e-6);
}

TEST(KernelCosts, BeyondTheTimesThatAreCountedAreAnErrorWithTheNumbers)
{
    Scenario scenario = test::smallScenario();
    scenario.cluster.gpu.memoryBandwidthGBs = 1e-15;
    OpShape shape;
    shape.bytes = 1'000'000'000'000;
    try {
        CostModel(scenario).kernelNs(shape);
        FAIL() << "priced";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "a kernel with 1e+12 bytes of memory traffic on H100 takes 1.25e+18 s; times are counted up to 2^62 "
                     "ns (146 years)");
    }
    scenario.cluster.tiers[1].bandwidthGBs = 1e-3;
    EXPECT_THROW(CostModel(scenario).sendNs(std::int64_t{1} << 62, 1), Error);
}

TEST(SoftmaxCosts, OfHeadsThatAFusedKernelDoesNotTakeAreInSteps)
{
    Scenario scenario = plain();
    scenario.model.numAttentionHeads = 16;
    scenario.training.stack = {};
    scenario.training.stack.parts[static_cast<std::size_t>(StackPart::softmax)] = {.traffic = 0.9, .backwardTraffic = 0.8};
    scenario.cluster.efficiency.kernelUs = 3;
    const OpShape forward{.family = KernelFamily::softmax, .bytes = 1 << 30};
    OpShape backward = forward;
    backward.pass = KernelPass::backward;
    const double once = (1 << 30) / (3350 * scenario.cluster.efficiency.memory); // nanoseconds
    const auto expect = [&](int tp, int microBatch, double forwardNs, double backwardNs) {
        scenario.layout.tp = tp;
        scenario.training.microBatchSize = microBatch;
        const CostModel cost(scenario);
        EXPECT_NEAR(static_cast<double>(cost.kernelNs(forward)), forwardNs, 2) << tp << " " << microBatch;
        EXPECT_NEAR(static_cast<double>(cost.kernelNs(backward)), backwardNs, 2) << tp << " " << microBatch;
    };
    const double fusedForward = 0.9 * once + 3000, fusedBackward = 0.8 * once + 2 * 3000;
    const double stepsForward = 7 * once + 5 * 3000, stepsBackward = 5.3 * once + 4 * 3000;
    expect(8, 1, fusedForward, fusedBackward); // any number of heads
    scenario.training.stack.softmaxMultiple = 4;
    expect(4, 1, fusedForward, fusedBackward); // four heads
    expect(8, 1, stepsForward, stepsBackward); // two
    expect(8, 2, fusedForward, fusedBackward); // two of each of two sequences
    expect(8, 3, stepsForward, stepsBackward);
}
