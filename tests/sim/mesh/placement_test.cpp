#include "sim/mesh/placement.h"

#include "sim/error.h"
#include "tests/sim/mesh/golden.h"

#include "tests/sim/mesh/allocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace {

using nlohmann::json;
using sim::Placement;
using sim::ProcessGroup;

sim::Cluster clusterOf(int nodes, int gpusPerNode)
{
    sim::Cluster cluster;
    cluster.nodes = nodes;
    cluster.gpusPerNode = gpusPerNode;
    cluster.tiers = {{.name = "nvlink", .span = gpusPerNode}, {.name = "network"}};
    return cluster;
}

/// Slurm's plane distribution: k ranks to each node in turn.
std::vector<int> planes(int size, int nodes, int gpusPerNode, int worldSize)
{
    std::vector<int> gpus;
    for (int rank = 0; rank < worldSize; ++rank) {
        const int plane = rank / size;
        gpus.push_back(plane % nodes * gpusPerNode + plane / nodes * size + rank % size);
    }
    return gpus;
}

TEST(Placement, PutsGroupsOnNodesAndRailsAsTheGoldenStatisticsSay)
{
    int cases = 0;
    for (const json& test : golden::cases("placement_megatron")) {
        const json& input = test.at("input");
        SCOPED_TRACE(input.dump());
        ++cases;
        sim::Layout layout = golden::layout(input);
        const sim::Cluster cluster = clusterOf(input.at("nodes"), input.at("gpus_per_node"));
        const std::string distribution = input.at("distribution");
        if (distribution == "cyclic")
            layout.placement = sim::PlacementRule::roundRobin;
        if (distribution.starts_with("plane=")) {
            layout.placement = sim::PlacementRule::explicitList;
            layout.explicitPlacement =
                planes(std::stoi(distribution.substr(6)), cluster.nodes, cluster.gpusPerNode, layout.worldSize());
        }
        const Placement placement(layout, cluster);
        std::map<int, int> ranksOf;
        int most = 0;
        for (int rank = 0; rank < layout.worldSize(); ++rank)
            most = std::max(most, ++ranksOf[placement.node(rank)]);
        EXPECT_EQ(sim::mostRanksOfNode(layout, cluster), most);
        if (!test.at("placement").is_null())
            for (const json& place : test.at("placement")) {
                EXPECT_EQ(placement.node(place.at(0)), place.at(1)) << "rank " << place.at(0);
                EXPECT_EQ(placement.gpuOfNode(place.at(0)), place.at(2)) << "rank " << place.at(0);
            }

        const sim::Mesh mesh(layout);
        for (const auto& [name, expected] : test.at("stats").items()) {
            const ProcessGroup kind = *sim::processGroupFromName(name);
            int within = 0;
            int mostNodes = 0;
            int onOneRail = 0;
            int crossings = 0;
            for (const auto& ranks : golden::lists(mesh, kind)) {
                const sim::GroupShape shape = placement.shape(ranks);
                std::set<int> nodes;
                std::set<int> rails;
                for (std::size_t i = 0; i < ranks.size(); ++i) {
                    nodes.insert(placement.node(ranks[i]));
                    rails.insert(placement.gpuOfNode(ranks[i]));
                    crossings += placement.tierBetween(ranks[i], ranks[(i + 1) % ranks.size()]);
                }
                EXPECT_EQ(shape.domains, (std::vector<int>{static_cast<int>(nodes.size()), 1}));
                EXPECT_EQ(shape.spanningTier(), nodes.size() > 1 ? 1 : 0);
                within += shape.spanningTier() == 0 ? 1 : 0;
                mostNodes = std::max(mostNodes, shape.domains[0]);
                onOneRail += rails.size() == 1 ? 1 : 0;
            }
            EXPECT_EQ(mesh.groupCount(kind), expected.at("groups")) << name;
            EXPECT_EQ(mesh.groupSize(kind), expected.at("size")) << name;
            EXPECT_EQ(within, expected.at("groups_within_one_node")) << name;
            EXPECT_EQ(mostNodes, expected.at("max_nodes_spanned")) << name;
            EXPECT_EQ(onOneRail, expected.at("groups_on_one_rail")) << name;
            EXPECT_EQ(crossings, expected.at("node_crossings_in_ring_order")) << name;
        }
    }
    EXPECT_EQ(cases, 11);
}

TEST(Placement, AnNvlinkDomainMayBeLargerThanANode)
{
    sim::Cluster cluster = clusterOf(36, 4); // two racks of 72 GPUs in nodes of 4
    cluster.tiers = {{.name = "board", .span = 4}, {.name = "rack", .span = 72}, {.name = "network"}};
    sim::Layout layout;
    layout.dp = 144;
    const Placement placement(layout, cluster);
    EXPECT_EQ(placement.tierBetween(5, 5), 0);
    EXPECT_EQ(placement.tierBetween(0, 3), 0);
    EXPECT_EQ(placement.tierBetween(0, 4), 1);
    EXPECT_EQ(placement.tierBetween(0, 71), 1);
    EXPECT_EQ(placement.tierBetween(71, 72), 2);
    EXPECT_EQ(placement.shape(golden::world(144)).domains, (std::vector<int>{36, 2, 1}));
    EXPECT_EQ(placement.shape(golden::world(72)).spanningTier(), 1);
}

TEST(Placement, SaysWhetherAGroupLiesEvenly)
{
    sim::Layout layout;
    layout.dp = 16;
    const Placement placement(layout, clusterOf(2, 8));
    EXPECT_TRUE(placement.shape({0, 1, 8, 9}).isUniform());
    EXPECT_TRUE(placement.shape({9, 0, 8, 1}).isUniform()) << "in any order";
    const sim::GroupShape uneven = placement.shape({0, 1, 2, 8});
    EXPECT_FALSE(uneven.isUniform());
    EXPECT_EQ(uneven.size, 4);
    EXPECT_EQ(uneven.fewest, (std::vector<int>{1, 4}));
    EXPECT_EQ(uneven.most, (std::vector<int>{3, 4}));
}

TEST(Placement, RefusesWhatDoesNotFitTheCluster)
{
    const auto message = [](const sim::Layout& layout, const sim::Cluster& cluster) -> std::string {
        try {
            const Placement placement(layout, cluster);
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "accepted";
    };
    using testing::HasSubstr;
    sim::Layout layout;
    layout.tp = layout.etp = 4;
    layout.dp = 5;
    EXPECT_THAT(message(layout, clusterOf(2, 8)), HasSubstr("4 x 1 x 1 x 5 = 20 GPUs; the cluster has 2 nodes x 8 = 16"));
    layout.dp = 1;
    EXPECT_EQ(message(layout, clusterOf(1, 8)), "accepted");
    EXPECT_THAT(message(layout, clusterOf(0, 8)), HasSubstr("0 nodes with 8 GPUs"));

    sim::Cluster cluster = clusterOf(2, 8);
    cluster.tiers.pop_back();
    EXPECT_THAT(message(layout, cluster), HasSubstr("no interconnect tier joins all 16 GPUs"));
    cluster.tiers = {{.name = "odd", .span = -1}, {.name = "network"}};
    EXPECT_THAT(message(layout, cluster), HasSubstr("tier \"odd\" spans -1 GPUs"));

    layout.placement = sim::PlacementRule::explicitList;
    layout.explicitPlacement = {0, 1, 2};
    EXPECT_THAT(message(layout, clusterOf(2, 8)), HasSubstr("lists 3 GPUs for 4 ranks"));
    layout.explicitPlacement = {0, 1, 2, 16};
    EXPECT_THAT(message(layout, clusterOf(2, 8)), HasSubstr("rank 3 on GPU 16; the cluster has GPUs 0 to 15"));
    layout.explicitPlacement = {0, 1, 2, 1};
    EXPECT_THAT(message(layout, clusterOf(2, 8)), HasSubstr("rank 1 and rank 3 on GPU 1"));
    layout.explicitPlacement = {15, 0, 8, 7};
    EXPECT_EQ(message(layout, clusterOf(2, 8)), "accepted");
}

TEST(Placement, OfAListTakesMemoryForItsRanksNotForEveryGpuOfTheCluster)
{
    sim::Layout layout;
    layout.placement = sim::PlacementRule::explicitList;
    layout.explicitPlacement = {1 << 29};
    const std::size_t before = allocatedBytes();
    const Placement placement(layout, clusterOf(1 << 20, 1024));
    EXPECT_LT(allocatedBytes() - before, 100'000U);
    EXPECT_EQ(placement.gpu(0), 1 << 29);
}

} // namespace
