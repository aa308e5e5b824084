#include "sim/cost/cost.h"
#include "tests/sim/cost/costs.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

using namespace sim;
using test::Costs, test::insideNode, test::acrossNodes, test::overCards, test::collective;

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

TEST_F(Costs, RanksThatHaveANetworkCardTogetherEachHaveTheirPartOfItInACollective)
{
    const std::int64_t bytes = std::int64_t{1} << 34; // so many that latency is nothing
    const auto whole = static_cast<double>(bytes);
    for (const int ranks : {2, 8}) {
        scenario.cluster.tiers.back().gpusPerNic = ranks;
        const CostModel shared(scenario);
        const auto seconds = [&](CollectiveKind kind, const GroupShape& group) {
            return static_cast<double>(shared.collectiveNs(collective(kind, bytes), group)) * 1e-9;
        };
        // A group with one member a node is one of as many as the node has ranks, which all send; with all of them in it has all
        // of the cards.
        const GroupShape one = overCards(acrossNodes(16, 16), ranks, ranks), all = overCards(acrossNodes(64, 8), ranks, 1);
        const GroupShape two = overCards(acrossNodes(2, 2), ranks, ranks), ring = overCards(acrossNodes(16, 2), ranks, 1);
        EXPECT_NEAR(seconds(CollectiveKind::allGather, one), 15.0 / 16 * whole / (network / ranks), 1e-2);
        EXPECT_NEAR(seconds(CollectiveKind::allReduce, one), 30.0 / 16 * whole / (network / ranks), 1e-2);
        EXPECT_NEAR(seconds(CollectiveKind::allGather, all), 63.0 / 64 * whole / (network / ranks * 8), 1e-2);
        EXPECT_NEAR(seconds(CollectiveKind::allToAll, two), 1.0 / 2 * whole / (network / ranks), 1e-2);
        EXPECT_NEAR(seconds(CollectiveKind::ringShift, two), whole / (network / ranks), 1e-2);
        // Of a ring through all ranks of a node one sends to the next node.
        EXPECT_NEAR(seconds(CollectiveKind::ringShift, ring), whole / network, 1e-2);
        for (const CollectiveKind kind : {CollectiveKind::allGather, CollectiveKind::allToAll, CollectiveKind::ringShift})
            EXPECT_EQ(shared.collectiveNs(collective(kind, bytes), insideNode(8)),
                      cost.collectiveNs(collective(kind, bytes), insideNode(8)));
        // One that sends a message may have the card to itself; who else sends then, the engine knows.
        EXPECT_EQ(shared.sendNs(bytes, 1), cost.sendNs(bytes, 1));
        const auto share = [](const PortUse& use) {
            return static_cast<double>(use[static_cast<std::size_t>(Port::network)]) / kWholePort;
        };
        EXPECT_NEAR(share(shared.sendUse(bytes, 1, shared.sendNs(bytes, 1))), 1, 1e-3);
        for (const CollectiveKind kind : {CollectiveKind::allGather, CollectiveKind::allToAll, CollectiveKind::ringShift})
            for (const GroupShape& group : {two, ring}) {
                const OpShape shape = collective(kind, bytes);
                const double taken = ranks * share(shared.collectiveUse(shape, group, shared.collectiveNs(shape, group)));
                EXPECT_NEAR(taken, 1, 1e-2) << "all of a card, by all of its ranks together";
            }
    }
}

TEST_F(Costs, OverACardThoseSendAtOnceInACollectiveThatLeaveTheirNode)
{
    scenario.cluster.tiers.back().gpusPerNic = 8;
    const CostModel shared(scenario);
    const std::int64_t bytes = std::int64_t{1} << 34;
    const auto whole = static_cast<double>(bytes);
    const auto seconds = [&](CollectiveKind kind, const GroupShape& group) {
        return static_cast<double>(shared.collectiveNs(collective(kind, bytes), group)) * 1e-9;
    };
    const auto share = [&](CollectiveKind kind, const GroupShape& group) {
        const OpShape shape = collective(kind, bytes);
        const PortUse use = shared.collectiveUse(shape, group, shared.collectiveNs(shape, group));
        return static_cast<double>(use[static_cast<std::size_t>(Port::network)]) / kWholePort;
    };
    // Each of two has half of the card: of two members each sends half of the tensor, for all-reduce twice.
    const GroupShape two = overCards(acrossNodes(2, 2), 2, 2);
    EXPECT_NEAR(seconds(CollectiveKind::reduceScatter, two), whole / 2 / (network / 2), 1e-2);
    EXPECT_NEAR(seconds(CollectiveKind::allReduce, two), whole / (network / 2), 1e-2);
    EXPECT_NEAR(seconds(CollectiveKind::allToAll, two), whole / 2 / (network / 2), 1e-2);
    EXPECT_NEAR(seconds(CollectiveKind::ringShift, two), whole / (network / 2), 1e-2);
    // So the two together take all of it, and another stage's two that send beside them want as much again.
    EXPECT_NEAR(2.0 * share(CollectiveKind::allReduce, two), 1, 1e-2);

    // Two of six ranks in one node, four in the other: the ring passes each node's card once, and to all others of the other node
    // two send four sixths, four two sixths.
    GroupShape six{.size = 6, .domains = {2, 1}, .fewest = {2, 6}, .most = {4, 6}, .cards = {1, 1}, .hops = 1, .senders = 2};
    EXPECT_NEAR(seconds(CollectiveKind::allGather, six), 5.0 / 6 * whole / network, 1e-2);
    EXPECT_NEAR(seconds(CollectiveKind::ringShift, six), whole / network, 1e-2);
    EXPECT_NEAR(seconds(CollectiveKind::allToAll, six), 8.0 / 6 * whole / network, 1e-2);
    for (const CollectiveKind kind : {CollectiveKind::allGather, CollectiveKind::allToAll, CollectiveKind::ringShift})
        for (const int senders : {2, 4}) {
            six.senders = senders;
            EXPECT_NEAR(senders * share(kind, six), 1, 1e-2) << "as the members of either node see it";
        }
}

TEST_F(Costs, ASpineIsReachedOverTheCardsThatRanksHaveTogether)
{
    scenario.cluster.tiers.back().span = 32;
    scenario.cluster.tiers.back().gpusPerNic = 8;
    scenario.cluster.tiers.push_back({.name = "spine", .span = 0, .bandwidthGBs = 25, .latencyUs = 10});
    // One member below each switch of the spine: half of a card's 50 GB/s would pass it, but each of eight ranks has an eighth.
    const GroupShape wide = overCards({.size = 2, .domains = {2, 2, 1}}, 8, 8);
    const std::int64_t bytes = std::int64_t{1} << 34;
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).collectiveNs(collective(CollectiveKind::allGather, bytes), wide)) * 1e-9,
                0.5 * static_cast<double>(bytes) / (network / 8), 1e-2);
    EXPECT_EQ(gpusPerNic(scenario.cluster), 8);
    EXPECT_EQ(bandwidthGBs(scenario.cluster, 0, {.gpus = 8, .cards = 1}), 8 * 450);
    for (const std::size_t tier : {1U, 2U})
        EXPECT_EQ(bandwidthGBs(scenario.cluster, tier, {.gpus = 8, .cards = 1}), 50);
    EXPECT_EQ(bandwidthGBs(scenario.cluster, 1, {.gpus = 2, .cards = 2}), 2 * 50) << "each has its card to itself";
    EXPECT_EQ(bandwidthGBs(scenario.cluster, 2, {.gpus = 2, .cards = 2}), 2 * 25);
    EXPECT_EQ(toldBandwidth(scenario.cluster, 1).gbs, 50);
    EXPECT_EQ(toldBandwidth(scenario.cluster, 2).gbs, 50.0 / 8);
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

TEST_F(Costs, ACollectiveInPiecesStartsOnceForEach)
{
    scenario.cluster.efficiency.collectiveUs = 20;
    const CostModel starts(scenario);
    const std::int64_t bytes = 1 << 20;
    OpShape shape = collective(CollectiveKind::allGather, bytes);
    // Seven hops of 3 us, 20 us to start and end, and seven eighths of the bytes: in eight pieces no byte more.
    const double once = 7.0 / 8 * static_cast<double>(bytes) / nvlink;
    EXPECT_NEAR(static_cast<double>(starts.collectiveNs(shape, insideNode(8))) * 1e-9, 7 * 3e-6 + 20e-6 + once, 1e-8);
    shape.pieces = 8;
    EXPECT_NEAR(static_cast<double>(starts.collectiveNs(shape, insideNode(8))) * 1e-9, 8 * (7 * 3e-6 + 20e-6) + once, 1e-8);
}

TEST_F(Costs, APieceThatIsPushedBesideAProductStartsAsAKernelDoes)
{
    scenario.cluster.efficiency.collectiveUs = 20;
    scenario.cluster.efficiency.kernelUs = 2;
    const CostModel starts(scenario);
    OpShape shape = collective(CollectiveKind::allGather, 1 << 20);
    const std::int64_t whole = starts.collectiveNs(shape, insideNode(8));
    shape.piecesOfTrip = 4;
    const std::int64_t hops = 7 * 3'000;
    EXPECT_EQ(whole - starts.collectiveNs(shape, insideNode(8)), 18'000 + hops - hops / 4);
    const auto startsIn = [&](const OpShape& of) {
        return starts.collectiveNs(of, acrossNodes(8, 8)) - cost.collectiveNs(of, acrossNodes(8, 8));
    };
    EXPECT_EQ(startsIn(shape), startsIn(collective(CollectiveKind::allGather, 1 << 20)))
        << "memory behind a network is not mapped";
}

// A flag to all others, and what is read from them: two hops, and two ranks have one between them.
TEST_F(Costs, APieceThatIsReducedAmongAllAtOnceHasHopsOfItsOwn)
{
    scenario.cluster.efficiency.collectiveUs = scenario.cluster.efficiency.kernelUs = 0;
    const CostModel hops(scenario);
    OpShape piece = collective(CollectiveKind::reduceScatter, 0);
    piece.piecesOfTrip = 4;
    piece.amongAll = true;
    EXPECT_EQ(hops.collectiveNs(piece, insideNode(2)), 3'000);
    EXPECT_EQ(hops.collectiveNs(piece, insideNode(4)), 2 * 3'000);
    EXPECT_EQ(hops.collectiveNs(piece, insideNode(8)), 2 * 3'000);
    EXPECT_EQ(hops.collectiveNs(piece, acrossNodes(8, 8)),
              hops.collectiveNs(collective(CollectiveKind::reduceScatter, 0), acrossNodes(8, 8)))
        << "memory behind a network is not mapped";
    piece.bytes = 1 << 26;
    OpShape inRing = piece;
    inRing.amongAll = false;
    EXPECT_EQ(hops.collectiveNs(piece, insideNode(8)) - hops.collectiveNs(inRing, insideNode(8)), 2 * 3'000 - 7 * 3'000 / 4);
}

// Each of n pieces makes one of n - 1 hops, or none; four stand for them.
TEST_F(Costs, PiecesBesideAProductMakeTheTripOfTheWholeOnceBetweenThem)
{
    scenario.cluster.efficiency.collectiveUs = scenario.cluster.efficiency.kernelUs = 0;
    const CostModel hops(scenario);
    for (const CollectiveKind kind : {CollectiveKind::allGather, CollectiveKind::reduceScatter})
        for (const GroupShape& group : {insideNode(2), insideNode(8), acrossNodes(8, 8), acrossNodes(2, 8)})
            for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 14, std::int64_t{1} << 26}) {
                OpShape piece = collective(kind, bytes / 4);
                piece.piecesOfTrip = 4;
                EXPECT_NEAR(static_cast<double>(4 * hops.collectiveNs(piece, group)),
                            static_cast<double>(hops.collectiveNs(collective(kind, bytes), group)), 4)
                    << group.size << " ranks, " << bytes << " bytes";
            }
}

TEST_F(Costs, OneMemberCommunicatesNothing)
{
    EXPECT_EQ(cost.collectiveNs(collective(CollectiveKind::allReduce, 1 << 30), GroupShape{.size = 1, .domains = {1, 1}}), 0);
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

TEST_F(Costs, SoftwareThatDrivesOneOfANodesCardsDrivesNvlinkAsAllDo)
{
    scenario.training.stack.network = 0.125;
    const CostModel oneCard(scenario);
    for (const CollectiveKind kind : {CollectiveKind::allGather, CollectiveKind::reduceScatter, CollectiveKind::allReduce}) {
        const auto bytes = collective(kind, 1 << 30);
        EXPECT_EQ(oneCard.collectiveNs(bytes, insideNode(8), CommunicatorRole::dpShard),
                  cost.collectiveNs(bytes, insideNode(8), CommunicatorRole::dpShard));
    }
    // Of two nodes of eight, one card's 50 GB/s; the other seven idle, and NVLink waits for it.
    const double seconds = static_cast<double>(oneCard.collectiveNs(collective(CollectiveKind::allGather, 1 << 30),
                                                                    acrossNodes(16, 2), CommunicatorRole::dpShard)) *
                           1e-9;
    EXPECT_NEAR(seconds, 15.0 / 16 * (1 << 30) / network + 14 * 3e-6 + 10e-6, 1e-6);
    // Where it drives the cards so well that NVLink is the narrowest, that decides.
    scenario.training.stack.network = 10;
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).collectiveNs(collective(CollectiveKind::allGather, 1 << 30),
                                                                     acrossNodes(16, 2), CommunicatorRole::dpShard)) *
                    1e-9,
                15.0 / 16 * (1 << 30) / nvlink + 14 * 3e-6 + 10e-6, 1e-6);
}

constexpr int kManyExperts = 1 << 24; // so that to choose different ones is to choose freely

TEST_F(Costs, TokensThatANodeTakesOnceCrossTheNetworkFewerTimes)
{
    scenario.model.numExperts = kManyExperts;
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
    scenario.model.numExperts = kManyExperts;
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
    scenario.model.numExperts = kManyExperts;
    scenario.model.numExpertsPerTok = 8;
    scenario.training.moe.sendOncePerNode = true;
    // Eight copies meet 8 (1 - (7/8)^8) ranks of eight: 5.25.
    const double ranks = 1 - std::pow(7.0 / 8, 8);
    EXPECT_NEAR(static_cast<double>(CostModel(scenario).collectiveNs(exchange, insideNode(8))) * 1e-9, every * ranks + 3e-6, 1e-6)
        << "written to all at once";
}

TEST_F(Costs, InsideANodeOneKernelSendsTokensAndLosesNothingAtTheReceivers)
{
    scenario.model.numExperts = kManyExperts;
    scenario.model.numExpertsPerTok = 8;
    Efficiency& efficiency = scenario.cluster.efficiency;
    efficiency.allToAll = 0.8;
    efficiency.collectiveUs = 50;
    efficiency.kernelUs = 4;
    const auto exchange = collective(CollectiveKind::allToAll, 1 << 30);
    const auto secondsIn = [&](const GroupShape& group) {
        return static_cast<double>(CostModel(scenario).collectiveNs(exchange, group)) * 1e-9;
    };
    const double inside = static_cast<double>(1 << 30) * 7 / 8 / nvlink, across = static_cast<double>(1 << 30) / 2 / network;
    EXPECT_NEAR(secondsIn(insideNode(8)), inside / 0.8 + 3 * 3e-6 + 50e-6, 1e-6);
    scenario.training.moe.sendOncePerNode = true;
    const double once = inside * (1 - std::pow(7.0 / 8, 8));
    EXPECT_NEAR(secondsIn(insideNode(8)), once / 0.8 + 3e-6 + 4e-6, 1e-6) << "which is measured over switches that add alone";
    scenario.cluster.tiers.front().inNetworkReduction = true;
    EXPECT_NEAR(secondsIn(insideNode(8)), once + 3e-6 + 4e-6, 1e-6);
    EXPECT_NEAR(secondsIn(acrossNodes(16, 2)), across * 2 * (1 - std::pow(0.5, 8)) / 8 / 0.8 + 4 * 10e-6 + 50e-6, 1e-6)
        << "beyond it as before";
    scenario.model.numExpertsPerTok = 1;
    EXPECT_NEAR(secondsIn(insideNode(8)), inside + 3e-6 + 4e-6, 1e-6) << "the same software sends single copies";
}

TEST_F(Costs, AllToAllSendsOnlyItsOwnShareOverTheNetwork)
{
    const std::int64_t bytes = 1 << 28;
    // 16 members on 2 nodes: half of what a member has goes to the other node over its own port.
    EXPECT_NEAR(static_cast<double>(cost.collectiveNs(collective(CollectiveKind::allToAll, bytes), acrossNodes(16, 2))) * 1e-9,
                static_cast<double>(bytes) / 2 / network + 4 * 10e-6, 1e-6);
}
