#include "sim/cost/cost.h"
#include "sim/error.h"
#include "tests/sim/cost/kernels.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

using namespace sim;
using test::gemm, test::plain;

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
class Costs : public testing::Test {
protected:
    Scenario scenario = plain();
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

TEST_F(Costs, TheNodeWithTheFewestMembersDecidesHowFastAGroupLeavesItsNodes)
{
    // Eight on one node and one on another: all that goes round passes that one's card.
    const std::int64_t bytes = std::int64_t{1} << 34; // so many that latency is nothing
    const GroupShape uneven{.size = 9, .domains = {2, 1}, .fewest = {1, 9}, .most = {8, 9}};
    const auto seconds = [&](CollectiveKind kind, const GroupShape& group) {
        return static_cast<double>(cost.collectiveNs(collective(kind, bytes), group)) * 1e-9;
    };
    const double whole = static_cast<double>(bytes);
    EXPECT_NEAR(seconds(CollectiveKind::allGather, uneven), 8.0 / 9 * whole / network, 1e-3);
    EXPECT_GT(seconds(CollectiveKind::allReduce, uneven), seconds(CollectiveKind::allReduce, acrossNodes(2, 2)));
    // It sends to eight others over its card; each of the eight sends it one part.
    EXPECT_NEAR(seconds(CollectiveKind::allToAll, uneven), 8.0 / 9 * whole / network / scenario.cluster.efficiency.allToAll,
                1e-3);
    const OpShape tokens = collective(CollectiveKind::allToAll, bytes);
    const PortUse use = cost.collectiveUse(tokens, uneven, cost.collectiveNs(tokens, uneven));
    EXPECT_GT(use[static_cast<std::size_t>(Port::network)], kWholePort / 100 * 99);
    // Who has seven neighbours sends seven parts inside.
    EXPECT_NEAR(static_cast<double>(use[static_cast<std::size_t>(Port::inner)]) / kWholePort, 7.0 / 8 * network / nvlink, 1e-3);

    const GroupShape even{.size = 8, .domains = {2, 1}, .fewest = {4, 8}, .most = {4, 8}};
    for (const CollectiveKind kind : {CollectiveKind::allGather, CollectiveKind::allReduce, CollectiveKind::allToAll})
        EXPECT_EQ(seconds(kind, even), seconds(kind, acrossNodes(8, 2)));
}

TEST_F(Costs, AllReduceSendsTheTensorAndItsPartOfTheSumWhereSwitchesAdd)
{
    const std::int64_t bytes = std::int64_t{1} << 34; // so many that latency is nothing
    const auto seconds = [&](const GroupShape& group) {
        return static_cast<double>(CostModel(scenario).collectiveNs(collective(CollectiveKind::allReduce, bytes), group)) * 1e-9;
    };
    const double inside = seconds(insideNode(8)), across = seconds(acrossNodes(16, 16));
    const double pair = seconds(insideNode(2));
    scenario.cluster.tiers.front().inNetworkReduction = true;
    scenario.cluster.efficiency.inNetwork = 0.8;
    EXPECT_NEAR(seconds(insideNode(8)), inside * (9.0 / 14) / 0.8, 1e-3 * inside);
    EXPECT_EQ(seconds(insideNode(2)), pair) << "a ring of two sends the tensor once";
    EXPECT_EQ(seconds(acrossNodes(16, 16)), across) << "NVLink's switches do not add up for the network";
    scenario.cluster.tiers.back().inNetworkReduction = true;
    EXPECT_NEAR(seconds(acrossNodes(16, 16)), across * (17.0 / 30) / 0.8, 1e-3 * across);
}

TEST_F(Costs, SwitchesThatAddMakeNoSmallAllReduceFaster)
{
    const auto ns = [&] { return CostModel(scenario).collectiveNs(collective(CollectiveKind::allReduce, 8), insideNode(8)); };
    const std::int64_t tree = ns();
    scenario.cluster.tiers.front().inNetworkReduction = true;
    EXPECT_EQ(ns(), tree);
}

TEST_F(Costs, SmallAllReducesOfManyNodesTakeTheTreesLogarithm)
{
    // Up and down ten levels of a tree over 1,024 nodes, instead of 2 * 1,023 hops of a ring.
    const auto small = collective(CollectiveKind::allReduce, 8);
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(small, acrossNodes(1024, 1024))) * 1e-9, 2 * 10 * 10e-6, 1e-7);
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(small, acrossNodes(4, 4))) * 1e-9, 2 * 2 * 10e-6, 1e-7);
}

TEST_F(Costs, TreesGoThroughTheRanksOfANodeOnce)
{
    // Eight nodes of eight: three levels of a tree between them, and what a ring has inside of all nodes, of one.
    const auto small = collective(CollectiveKind::allReduce, 8);
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(small, acrossNodes(64, 8))) * 1e-9, 2 * 3 * 10e-6 + 2 * 7 * 3e-6, 1e-7);
}

TEST_F(Costs, ShardsThatAreSentOneByOnePassAllRanksEach)
{
    // Two nodes of four: a round of one hop between them and six inside, three times the latency of an empty message each.
    const double round = 10e-6 + 6 * 3e-6;
    OpShape shards = collective(CollectiveKind::allGather, 8);
    for (const int messages : {8, 1000}) {
        shards.batch = messages;
        EXPECT_NEAR(static_cast<double>(cost.collectiveNs(shards, acrossNodes(8, 2))) * 1e-9, messages * 3 * round, 1e-8);
    }
}

TEST_F(Costs, NoTransferTakesMoreOfAPortThanThereIs)
{
    const std::int64_t bytes = 1 << 30;
    const std::int64_t tooShort = cost.collectiveNs(collective(CollectiveKind::allGather, bytes), insideNode(8)) / 2;
    const PortUse use = cost.collectiveUse(collective(CollectiveKind::allGather, bytes), insideNode(8), tooShort);
    EXPECT_EQ(use[static_cast<std::size_t>(Port::inner)], kWholePort);
    EXPECT_EQ(cost.sendUse(bytes, 1, 1000)[static_cast<std::size_t>(Port::network)], kWholePort);
}

TEST_F(Costs, TransfersTakeTheShareOfAPortThatTheirBytesNeed)
{
    const std::int64_t bytes = 1 << 30;
    const auto share = [](const PortUse& use, Port port) {
        return static_cast<double>(use[static_cast<std::size_t>(port)]) / kWholePort;
    };
    // Of a second: the bytes over the port's rate.
    const std::int64_t second = 1'000'000'000;
    const auto inNode = [&](CollectiveKind kind) { return cost.collectiveUse(collective(kind, bytes), insideNode(8), second); };
    const double once = 7.0 / 8 * static_cast<double>(bytes) / nvlink;
    EXPECT_NEAR(share(inNode(CollectiveKind::allGather), Port::inner), once, 1e-5);
    EXPECT_NEAR(share(inNode(CollectiveKind::allReduce), Port::inner), 2 * once, 1e-5);
    EXPECT_NEAR(share(inNode(CollectiveKind::ringShift), Port::inner), static_cast<double>(bytes) / nvlink, 1e-5);
    EXPECT_EQ(share(inNode(CollectiveKind::allGather), Port::network), 0);
    // Eight members a node share eight cards; inside, all bytes pass each of them.
    const PortUse both = cost.collectiveUse(collective(CollectiveKind::allGather, bytes), acrossNodes(16, 2), second);
    EXPECT_NEAR(share(both, Port::network), 15.0 / 16 * static_cast<double>(bytes) / network / 8, 1e-5);
    EXPECT_NEAR(share(both, Port::inner), 15.0 / 16 * static_cast<double>(bytes) / nvlink, 1e-5);
    EXPECT_NEAR(share(cost.sendUse(bytes, 1, second), Port::network), static_cast<double>(bytes) / network, 1e-5);

    // An over-subscribed spine is not the card: who crosses it takes its share of that and little of the card.
    scenario.cluster.tiers.back().span = 16;
    scenario.cluster.tiers.push_back({.name = "spine", .span = 0, .bandwidthGBs = 5, .latencyUs = 10});
    const CostModel three(scenario);
    EXPECT_NEAR(share(three.sendUse(bytes / 16, 2, second), Port::spine), static_cast<double>(bytes) / 16 / (network / 10), 1e-5);
    EXPECT_NEAR(share(three.sendUse(bytes / 16, 2, second), Port::network), static_cast<double>(bytes) / 16 / network, 1e-5);
    // Of an all-to-all other bytes stay below the spine; the card carries both.
    const GroupShape wide{.size = 32, .domains = {4, 2, 1}};
    const PortUse tokens = three.collectiveUse(collective(CollectiveKind::allToAll, bytes / 16), wide, second);
    EXPECT_NEAR(share(tokens, Port::network), (8.0 + 16) / 32 * static_cast<double>(bytes) / 16 / network, 1e-5);
    EXPECT_NEAR(share(tokens, Port::spine), 16.0 / 32 * static_cast<double>(bytes) / 16 / (network / 10), 1e-5);
}

TEST_F(Costs, WhereSwitchesAddAnAllReduceTakesLessOfItsPort)
{
    const OpShape shape = collective(CollectiveKind::allReduce, 1 << 28);
    const auto used = [&] {
        return CostModel(scenario).collectiveUse(shape, acrossNodes(8, 8),
                                                 1'000'000'000)[static_cast<std::size_t>(Port::network)];
    };
    const std::uint32_t twice = used();
    scenario.cluster.tiers[1].inNetworkReduction = true;
    EXPECT_NEAR(used(), twice * 9.0 / 14, 1);
}

TEST_F(Costs, FewGpusOfAMeshShareFewOfItsLinks)
{
    const std::int64_t bytes = std::int64_t{1} << 34;
    const auto rate = [&](CollectiveKind kind, const GroupShape& group) {
        return static_cast<double>(bytes) * 1e9 /
               static_cast<double>(CostModel(scenario).collectiveNs(collective(kind, bytes), group));
    };
    const std::array kinds{CollectiveKind::allReduce, CollectiveKind::allGather, CollectiveKind::reduceScatter,
                           CollectiveKind::allToAll};
    std::map<std::pair<CollectiveKind, int>, double> switched;
    for (const CollectiveKind kind : kinds)
        for (const int members : {2, 4, 8})
            switched[{kind, members}] = rate(kind, insideNode(members));
    const double across = rate(CollectiveKind::allGather, acrossNodes(16, 16)),
                 shift = rate(CollectiveKind::ringShift, insideNode(8));
    const std::int64_t message = cost.sendNs(bytes, 0), far = cost.sendNs(bytes, 1);
    scenario.cluster.tiers.front().mesh = true;
    for (const auto& [of, before] : switched)
        EXPECT_NEAR(rate(of.first, insideNode(of.second)), before * (of.second - 1) / 7, 1e-3 * before);
    EXPECT_EQ(rate(CollectiveKind::allGather, acrossNodes(16, 16)), across);
    EXPECT_NEAR(rate(CollectiveKind::ringShift, insideNode(8)), shift / 7, 1e-3 * shift) << "to one neighbour";
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).sendNs(bytes, 0)), 7.0 * static_cast<double>(message), 1e-3 * 7e9);
    EXPECT_EQ(CostModel(scenario).sendNs(bytes, 1), far);
}

TEST_F(Costs, DomainsThatAreMeshedHaveALinkToEachOther)
{
    // Four domains of two: from each three links, which both of its GPUs share.
    scenario.cluster.tiers = {{.name = "package", .span = 2, .bandwidthGBs = 1000, .latencyUs = 1},
                              {.name = "mesh", .span = 8, .bandwidthGBs = 90, .latencyUs = 1}};
    const auto gather = collective(CollectiveKind::allGather, std::int64_t{1} << 34);
    const GroupShape two{.size = 4, .domains = {2, 1}}, four{.size = 8, .domains = {4, 1}};
    const auto ns = [&](const GroupShape& group) { return static_cast<double>(CostModel(scenario).collectiveNs(gather, group)); };
    const double twoSwitched = ns(two), fourSwitched = ns(four);
    scenario.cluster.tiers.back().mesh = true;
    EXPECT_NEAR(ns(two), 3 * twoSwitched, 1e-2 * twoSwitched);
    EXPECT_EQ(ns(four), fourSwitched);
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

TEST_F(Costs, LinksBetweenNodesReachAShareOfTheirOwn)
{
    const auto gather = collective(CollectiveKind::allGather, 1 << 30);
    const std::int64_t inside = cost.collectiveNs(gather, insideNode(8)), message = cost.sendNs(1 << 30, 0);
    const double between = static_cast<double>(cost.collectiveNs(gather, acrossNodes(16, 16))) * 1e-9 - 15 * 10e-6;
    scenario.cluster.efficiency.interNode = scenario.cluster.efficiency.network / 2;
    const CostModel slower(scenario);
    EXPECT_NEAR(static_cast<double>(slower.collectiveNs(gather, acrossNodes(16, 16))) * 1e-9 - 15 * 10e-6, 2 * between, 1e-6);
    EXPECT_EQ(slower.collectiveNs(gather, insideNode(8)), inside);
    EXPECT_EQ(slower.sendNs(1 << 30, 0), message);
    EXPECT_GT(slower.sendNs(1 << 30, 1), 3 * cost.sendNs(1 << 30, 1) / 2);
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

TEST_F(Costs, DataParallelCollectivesGoAtTheRateOfTheSoftware)
{
    scenario.training.stack.network = 0.5;
    const CostModel slower(scenario);
    const auto gather = collective(CollectiveKind::allGather, 1 << 30);
    const auto seconds = [&](const CostModel& of, CommunicatorRole role) {
        return static_cast<double>(of.collectiveNs(gather, acrossNodes(8, 8), role)) * 1e-9 - 7 * 10e-6;
    };
    EXPECT_NEAR(seconds(slower, CommunicatorRole::dpShard), 2 * seconds(cost, CommunicatorRole::dpShard), 1e-6);
    EXPECT_NEAR(seconds(slower, CommunicatorRole::tp), seconds(cost, CommunicatorRole::tp), 1e-6);
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

TEST_F(Costs, TokensThatANodeTakesOnceCrossTheNetworkFewerTimes)
{
    scenario.model.numExpertsPerTok = 8;
    scenario.training.moe.sendOncePerNode = true;
    const auto exchange = collective(CollectiveKind::allToAll, 1 << 30);
    // Of eight copies spread over two nodes, 2 (1 - 1/2^8) are left: a quarter.
    const double before = static_cast<double>(1 << 30) / 2 / network, after = before * 2 * (1 - std::pow(0.5, 8)) / 8;
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).collectiveNs(exchange, acrossNodes(16, 2))) * 1e-9, after + 4 * 10e-6,
                1e-6);
    scenario.model.numExpertsPerTok = 2; // of two copies 2 (1 - 1/2^2): three quarters
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).collectiveNs(exchange, acrossNodes(16, 2))) * 1e-9,
                before * 0.75 + 4 * 10e-6, 1e-6);
}

/// DeepSeek-V3 chooses a token's experts from four of eight groups, a group a node: so that it goes to four nodes at most.
TEST_F(Costs, ATokenWhoseExpertsAreOfSomeGroupsGoesToFewerNodes)
{
    scenario.model.numExpertsPerTok = 8;
    scenario.training.moe.sendOncePerNode = true;
    const auto exchange = collective(CollectiveKind::allToAll, 1 << 30);
    const auto secondsWith = [&](int groups, int chosen, int ranks, int nodes) {
        scenario.model.expertGroups = groups;
        scenario.model.chosenGroups = chosen;
        return static_cast<double>(CostModel(scenario).collectiveNs(exchange, acrossNodes(ranks, nodes))) * 1e-9;
    };
    const double latency = secondsWith(1, 1, 64, 8) - static_cast<double>(1 << 30) * 7 / 8 / network * (1 - std::pow(7.0 / 8, 8));
    EXPECT_NEAR(secondsWith(8, 4, 64, 8),
                static_cast<double>(1 << 30) * 7 / 8 / network * 4 * (1 - std::pow(3.0 / 4, 8)) / 8 + latency, 1e-6)
        << "of four nodes";
    EXPECT_NEAR(secondsWith(4, 2, 64, 8), secondsWith(8, 4, 64, 8), 1e-8) << "two groups of two nodes each";
    EXPECT_EQ(secondsWith(8, 8, 64, 8), secondsWith(1, 1, 64, 8));
    EXPECT_EQ(secondsWith(3, 1, 64, 8), secondsWith(1, 1, 64, 8)) << "a group lies on no whole number of nodes";
    // Four groups of two nodes that hold two each: none of a node's is among two with a chance of 1 / 6.
    const double nodes = 2 * (1 - 1 / 6.0);
    EXPECT_NEAR(secondsWith(4, 2, 16, 2),
                secondsWith(1, 1, 16, 2) * (nodes * (1 - std::pow(1 - 1 / nodes, 8))) / (2 * (1 - std::pow(0.5, 8))), 1e-5);
}

TEST_F(Costs, InsideANodeATokenGoesOnceToEachRankThatHasAnExpertForIt)
{
    const auto exchange = collective(CollectiveKind::allToAll, 1 << 30);
    const double every = static_cast<double>(1 << 30) * 7 / 8 / nvlink;
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(exchange, insideNode(8))) * 1e-9, every + 3 * 3e-6, 1e-6);
    scenario.model.numExpertsPerTok = 8;
    scenario.training.moe.sendOncePerNode = true;
    // Eight copies meet 8 (1 - (7/8)^8) ranks of eight: 5.25.
    const double ranks = 1 - std::pow(7.0 / 8, 8);
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).collectiveNs(exchange, insideNode(8))) * 1e-9, every * ranks + 3 * 3e-6,
                1e-6);
}

TEST_F(Costs, AllToAllSendsOnlyItsOwnShareOverTheNetwork)
{
    const std::int64_t bytes = 1 << 28;
    // 16 members on 2 nodes: half of what a member has goes to the other node over its own port.
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(collective(CollectiveKind::allToAll, bytes), acrossNodes(16, 2))) * 1e-9,
                static_cast<double>(bytes) / 2 / network + 4 * 10e-6, 1e-6);
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
