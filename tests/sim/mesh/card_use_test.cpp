#include "sim/mesh/card_use.h"

#include "sim/mesh/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace {

/// Four nodes of eight GPUs whose cards serve so many.
sim::Cluster sharedCards(int gpusPerNic)
{
    sim::Cluster cluster;
    cluster.nodes = 4;
    cluster.gpusPerNode = 8;
    cluster.tiers = {{.name = "nvlink", .span = 8}, {.name = "network", .span = 0, .gpusPerNic = gpusPerNic}};
    return cluster;
}

/// Groups of one kind, of all stages.
struct Counted {
    sim::Cluster cluster;
    sim::Layout layout;
    sim::ProcessGroup kind = sim::ProcessGroup::dp;
    sim::Mesh mesh{layout};
    sim::Placement placement{layout, cluster};
    sim::CardUse use{cluster, placement};

    Counted(sim::Cluster of, sim::Layout with, sim::ProcessGroup groups = sim::ProcessGroup::dp)
        : cluster(std::move(of)), layout(std::move(with)), kind(groups)
    {
        for (int group = 0; group < mesh.groupCount(kind); ++group)
            use.add(mesh.coordinates(members(group).front()).pp, members(group));
    }
    std::vector<int> members(int group) const { return mesh.members(kind, group); }
    sim::GroupShape shapeAt(int rank) const
    {
        const std::vector<int> ranks = members(mesh.groupOf(kind, rank));
        const int stage = mesh.coordinates(rank).pp;
        sim::GroupShape shape = placement.shape(ranks);
        use.describe(shape, stage, ranks);
        const auto place = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
        shape.senders = use.senders(shape, stage, ranks)[static_cast<std::size_t>(place)];
        return shape;
    }
};

sim::Layout layoutOf(int tp, int pp, int dp, const char* order = "tp-cp-ep-dp-pp")
{
    sim::Layout layout;
    layout.tp = layout.etp = tp;
    layout.pp = pp;
    layout.dp = dp;
    layout.order = order;
    return layout;
}

} // namespace

TEST(CardUse, IsOfRanksOfOneStageThatLeaveTheirNode)
{
    const auto at = [&](const char* order, int gpusPerNic) {
        return Counted(sharedCards(gpusPerNic), layoutOf(2, 4, 4, order)).shapeAt(0);
    };
    EXPECT_TRUE(at("tp-cp-ep-dp-pp", 8).cards.empty()) << "a stage's eight ranks are a node";
    EXPECT_TRUE(at("tp-pp-dp", 1).cards.empty()) << "each has its own";
    // Two of each of four stages are in a node, side by side: each has half of its stage's card.
    for (const int gpusPerNic : {4, 8}) {
        EXPECT_EQ(at("tp-pp-dp", gpusPerNic).senders, 2);
        EXPECT_EQ(at("tp-pp-dp", gpusPerNic).hops, 2);
        EXPECT_DOUBLE_EQ(at("tp-pp-dp", gpusPerNic).cards.front(), 0.5);
    }
    // A pipeline's ranks side by side, two pipelines in a node: of cards for four each stage has one.
    EXPECT_DOUBLE_EQ(at("pp-tp-dp", 8).cards.front(), 0.5);
    EXPECT_DOUBLE_EQ(at("pp-tp-dp", 4).cards.front(), 1);
    EXPECT_EQ(at("pp-tp-dp", 4).senders, 1);
}

TEST(CardUse, OfStagesThatDoNotFillNodesIsWhatEachNodeHasOfThem)
{
    // Six ranks a stage: the second has two in one node and four in the next, and one ring that passes both cards whole.
    const Counted one(sharedCards(8), layoutOf(1, 4, 6));
    EXPECT_TRUE(one.shapeAt(0).cards.empty()) << "within a node";
    for (const int rank : {6, 7, 8, 11}) {
        EXPECT_DOUBLE_EQ(one.shapeAt(rank).cards.front(), 1);
        EXPECT_EQ(one.shapeAt(rank).hops, 1);
        EXPECT_EQ(one.shapeAt(rank).senders, rank < 8 ? 2 : 4);
    }
    // Two rings of three share them.
    const Counted two(sharedCards(8), layoutOf(2, 4, 3));
    EXPECT_DOUBLE_EQ(two.shapeAt(6).cards.front(), 0.5);
    EXPECT_EQ(two.shapeAt(6).hops, 2);
    // Of two tensor-parallel groups only the one that lies across the nodes sends.
    const Counted tensors(sharedCards(8), layoutOf(3, 4, 2), sim::ProcessGroup::tp);
    EXPECT_DOUBLE_EQ(tensors.shapeAt(8).cards.front(), 1);
    EXPECT_EQ(tensors.shapeAt(8).senders, 1);
    EXPECT_TRUE(tensors.shapeAt(9).cards.empty());
    // Two pairs of which one node's members have a card together and the other's one each: these wait for those, half of the
    // time.
    const Counted pairs(sharedCards(2), layoutOf(2, 2, 3, "dp-tp-cp-ep-pp"), sim::ProcessGroup::tp);
    for (const int rank : {6, 9}) {
        EXPECT_DOUBLE_EQ(pairs.shapeAt(rank).cards.front(), 0.5);
        EXPECT_EQ(pairs.shapeAt(rank).senders, 2);
    }
}

TEST(CardUse, IsWhatCanBeCounted)
{
    int more = 0;
    for (const sim::PlacementRule rule : {sim::PlacementRule::packed, sim::PlacementRule::roundRobin})
        for (const int gpusPerNic : {2, 3, 4, 8})
            for (const auto& [tp, pp, dp] : {std::tuple{2, 4, 4}, {4, 2, 4}, {1, 3, 4}, {2, 3, 3}, {1, 2, 7}, {1, 4, 6}})
                for (const char* order : {"tp-dp-pp", "tp-pp-dp", "pp-tp-dp", "dp-pp-tp"}) {
                    sim::Layout layout = layoutOf(tp, pp, dp, order);
                    layout.placement = rule;
                    const Counted counted(sharedCards(gpusPerNic), layout);
                    const auto leaves = [&](int rank) {
                        const std::vector<int> ranks = counted.members(counted.mesh.groupOf(counted.kind, rank));
                        return std::any_of(ranks.begin(), ranks.end(), [&](int other) {
                            return counted.placement.node(other) != counted.placement.node(rank);
                        });
                    };
                    const auto isBeside = [&](int a, int b) {
                        return counted.placement.node(a) == counted.placement.node(b) &&
                               counted.placement.gpuOfNode(a) / gpusPerNic == counted.placement.gpuOfNode(b) / gpusPerNic &&
                               counted.mesh.coordinates(a).pp == counted.mesh.coordinates(b).pp;
                    };
                    std::vector<int> senders(static_cast<std::size_t>(layout.worldSize())); // over the card of each
                    for (int rank = 0; rank < layout.worldSize(); ++rank)
                        for (int other = 0; other < layout.worldSize(); ++other)
                            senders[static_cast<std::size_t>(rank)] += leaves(other) && isBeside(rank, other) ? 1 : 0;
                    for (int rank = 0; rank < layout.worldSize(); ++rank) {
                        const sim::GroupShape shape = counted.shapeAt(rank);
                        EXPECT_EQ(shape.cards.empty(), !leaves(rank));
                        double here = 0;
                        for (const int other : counted.members(counted.mesh.groupOf(counted.kind, rank)))
                            here += counted.placement.node(other) == counted.placement.node(rank)
                                        ? 1.0 / senders[static_cast<std::size_t>(other)]
                                        : 0;
                        const double busy = leaves(rank) ? shape.cards.front() / here : 1; // of the time
                        if (leaves(rank)) {
                            EXPECT_LE(busy, 1 + 1e-9);
                            // Whole: card counts are quotients of small numbers, so that one that is not lies 1e-6 and more away.
                            const double exact = senders[static_cast<std::size_t>(rank)] / busy;
                            EXPECT_EQ(shape.senders, static_cast<int>(exact + 1e-6))
                                << exact << " " << order << " " << gpusPerNic << " " << rank;
                        }
                        more += shape.senders > 1 ? 1 : 0;
                    }
                }
    EXPECT_GT(more, 100);
}

TEST(CardUse, OfARackThatNvlinkJoinsIsByAllOfItTogether)
{
    sim::Cluster racks = sharedCards(2);
    racks.nodes = 36;
    racks.gpusPerNode = 4;
    racks.tiers.front().span = 72;
    // Eight rings of 18, nine members of each in a rack: the eight that leave it sit side by side, two to a card.
    sim::Layout layout = layoutOf(8, 1, 1);
    layout.cp = 18;
    const sim::GroupShape shape = Counted(racks, layout, sim::ProcessGroup::cp).shapeAt(0);
    EXPECT_EQ(shape.senders, 2);
    EXPECT_EQ(shape.hops, 2);
    EXPECT_DOUBLE_EQ(shape.cards.front(), 4.5) << "of a rack's 36 cards an eighth";
    layout = layoutOf(1, 1, 1);
    layout.cp = 144;
    EXPECT_EQ(Counted(racks, layout, sim::ProcessGroup::cp).shapeAt(0).hops, 1) << "one ring leaves a rack once";
}
