#include "sim/cost/cost.h"
#include "sim/error.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

namespace {

GroupShape insideNode(int size)
{
    return {.size = size, .domains = {1, 1}};
}
GroupShape acrossNodes(int size, int nodes)
{
    return {.size = size, .domains = {nodes, 1}};
}
OpShape collective(CollectiveKind kind, std::int64_t bytes)
{
    return {.collective = kind, .bytes = bytes};
}
OpShape gemm(std::int64_t m, std::int64_t n, std::int64_t k)
{
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return {.kernel = KernelKind::gemm, .m = m, .n = n, .k = k, .flops = flops};
}

class Costs : public testing::Test {
protected:
    Scenario scenario = test::smallScenario(8, 1, 2);
    CostModel cost{scenario};
    double nvlink = 450e9 * scenario.cluster.efficiency.network;
    double network = 50e9 * scenario.cluster.efficiency.network;
};

} // namespace

TEST_F(Costs, RingInsideANodeIsTheClosedForm)
{
    const std::int64_t bytes = 1 << 30;
    const double once = 7.0 / 8 * static_cast<double>(bytes) / nvlink + 7 * 3e-6;
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(collective(CollectiveKind::allGather, bytes), insideNode(8))), once * 1e9,
                1);
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(collective(CollectiveKind::reduceScatter, bytes), insideNode(8))),
                once * 1e9, 1);
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(collective(CollectiveKind::allReduce, bytes), insideNode(8))),
                2 * once * 1e9, 1);
}

TEST_F(Costs, GroupWithManyMembersANodeUsesAllTheirPorts)
{
    const std::int64_t bytes = 1 << 30;
    const auto gather = collective(CollectiveKind::allGather, bytes);
    const double onePort = 15.0 / 16 * static_cast<double>(bytes) / network;
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(gather, acrossNodes(16, 16))) * 1e-9, onePort + 15 * 10e-6, 1e-6);
    // Eight members in each of two nodes leave over eight ports: 400 GB/s, still under NVLink's 450.
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(gather, acrossNodes(16, 2))) * 1e-9, onePort / 8 + 14 * 3e-6 + 10e-6, 1e-6);
}

TEST_F(Costs, CollectivesGrowWithBytesAndWithDistance)
{
    for (const auto kind :
         {CollectiveKind::allReduce, CollectiveKind::allGather, CollectiveKind::allToAll, CollectiveKind::ringShift}) {
        std::int64_t before = 0;
        for (std::int64_t bytes = 1024; bytes < (std::int64_t{1} << 34); bytes *= 4) {
            const std::int64_t now = cost.collectiveNs(collective(kind, bytes), insideNode(8));
            EXPECT_GE(now, before);
            EXPECT_LT(now, cost.collectiveNs(collective(kind, bytes), acrossNodes(8, 8)));
            before = now;
        }
    }
}

TEST_F(Costs, OneMemberCommunicatesNothing)
{
    EXPECT_EQ(cost.collectiveNs(collective(CollectiveKind::allReduce, 1 << 30), GroupShape{.size = 1, .domains = {1, 1}}), 0);
}

TEST_F(Costs, LargeGemmRunsNearItsEfficiencyAndSmallOneAtLaunchSpeed)
{
    const OpShape large = gemm(16384, 16896, 16384); // 128 x 132 tiles: whole waves on 132 multiprocessors
    const double reached = large.flops / (static_cast<double>(cost.kernelNs(large)) * 1e-9) / 989e12;
    EXPECT_NEAR(reached, scenario.cluster.efficiency.gemm, 0.02);
    EXPECT_EQ(cost.kernelNs(gemm(8, 8, 8)), static_cast<std::int64_t>(scenario.cluster.efficiency.launchUs * 1000));
}

TEST_F(Costs, ATileTooMuchCostsAWave)
{
    // 132 tiles fill the machine once; 144 need a second wave.
    const std::int64_t one = cost.kernelNs(gemm(128 * 12, 128 * 11, 8192));
    const std::int64_t two = cost.kernelNs(gemm(128 * 12, 128 * 12, 8192));
    EXPECT_GT(static_cast<double>(two), 1.9 * static_cast<double>(one));
}

TEST_F(Costs, SkinnyGemmIsBoundByMemory)
{
    const OpShape skinny = gemm(1, 16384, 16384);
    const double bytes = 2.0 * (16384.0 + 16384.0 * 16384.0 + 16384.0);
    EXPECT_NEAR(static_cast<double>(cost.kernelNs(skinny)) * 1e-9, bytes / (3350e9 * scenario.cluster.efficiency.memory), 1e-6);
}

TEST_F(Costs, AllToAllSendsOnlyItsOwnShareOverTheNetwork)
{
    const std::int64_t bytes = 1 << 28;
    // 16 members on 2 nodes: half of what a member has goes to the other node over its own port.
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(collective(CollectiveKind::allToAll, bytes), acrossNodes(16, 2))) * 1e-9,
                static_cast<double>(bytes) / 2 / network + 4 * 10e-6, 1e-6);
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
    Scenario scenario = test::smallScenario();
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
