// Arrangements: whatever the user wants, every rank has one cell, and pointing at it finds the rank again.
#include "app/views/grid/grid_layout.h"
#include "app/views/grid/grid_plan.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace app {
namespace {

sim::Layout planLayout(int tp, int cp, int pp, int dp)
{
    sim::Layout layout;
    layout.tp = layout.etp = tp;
    layout.cp = cp;
    layout.pp = pp;
    layout.dp = dp;
    return layout;
}

void expectRoundTrip(const GridLayout& grid, int world)
{
    ASSERT_EQ(grid.ranks(), world);
    std::set<std::pair<int, int>> places;
    for (int rank = 0; rank < world; ++rank) {
        ASSERT_TRUE(places.emplace(grid.column(rank), grid.row(rank)).second) << "rank " << rank << " has no place of its own";
        ASSERT_EQ(grid.rankAt(grid.column(rank), grid.row(rank)), rank);
        ASSERT_EQ(grid.rankOf(grid.placeOf(rank)), rank);
        const Rect cell = grid.cell(rank);
        if (std::min(cell.width(), cell.height()) >= 3) {
            ASSERT_EQ(grid.rankAt(Point{(cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2}), rank);
        }
    }
    for (int level = 0; level < static_cast<int>(grid.levels().size()); ++level) {
        std::set<int> seen;
        for (int i = 0; i < grid.boxCount(level); ++i) {
            const int place = grid.placeInBox(level, i);
            for (const int rank : grid.ranksInBox(level, place)) {
                ASSERT_TRUE(seen.insert(rank).second) << "rank " << rank << " is in two boxes of level " << level;
                ASSERT_EQ(grid.box(level, rank), grid.boxOfPlace(level, place));
            }
        }
        ASSERT_EQ(static_cast<int>(seen.size()), world);
    }
}

TEST(GridArrangement, AnySeatsGiveEveryRankItsCell)
{
    std::mt19937 random(2);
    const auto pick = [&](std::initializer_list<int> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    };
    for (int round = 0; round < 80; ++round) {
        const sim::Mesh mesh(planLayout(pick({1, 2, 3, 8}), pick({1, 1, 2}), pick({1, 2, 4, 7}), pick({1, 2, 5, 16})));
        AxisSeats seats;
        for (const char* axis : {"tp", "cp", "pp", "dp"})
            seats.push_back({axis, static_cast<AxisPlace>(random() % 3)});
        std::shuffle(seats.begin(), seats.end(), random);
        const GridLayout grid(seatedPlan(mesh, seats), static_cast<float>(100 + random() % 1500),
                              static_cast<float>(80 + random() % 900));
        expectRoundTrip(grid, mesh.worldSize());
        if (testing::Test::HasFatalFailure())
            return;
    }
}

TEST(GridArrangement, ColumnsAndRowsAreWhatTheySay)
{
    const sim::Mesh mesh(planLayout(4, 1, 3, 2));
    const GridLayout grid(seatedPlan(mesh, {{"pp", AxisPlace::columns}, {"tp", AxisPlace::rows}, {"dp", AxisPlace::boxes}}), 900,
                          400);
    for (int rank = 0; rank < 24; ++rank) {
        const sim::Coordinates c = mesh.coordinates(rank);
        EXPECT_EQ(grid.column(rank) % 3, c.pp);
        EXPECT_EQ(grid.row(rank) % 4, c.tp);
        EXPECT_EQ(grid.box(1, rank), grid.box(1, mesh.rank(0, 0, c.dp, 0))) << "a box for each replica";
    }
}

TEST(GridArrangement, TheInnermostAxisOfAPlaceVariesFastest)
{
    const sim::Mesh mesh(planLayout(2, 1, 3, 1));
    const GridLayout inside(seatedPlan(mesh, {{"tp", AxisPlace::columns}, {"pp", AxisPlace::columns}}), 900, 400);
    const GridLayout outside(seatedPlan(mesh, {{"pp", AxisPlace::columns}, {"tp", AxisPlace::columns}}), 900, 400);
    EXPECT_EQ(inside.column(mesh.rank(1, 0, 0, 0)), 1);
    EXPECT_EQ(outside.column(mesh.rank(1, 0, 0, 0)), 3);
    EXPECT_EQ(outside.column(mesh.rank(0, 0, 0, 1)), 1);
}

TEST(GridArrangement, SeatsMoveAndComeBack)
{
    const AxisSeats seats{{"tp", AxisPlace::columns}, {"pp", AxisPlace::columns}, {"dp", AxisPlace::rows}};
    AxisSeats moved = seats;
    for (int i = 0; i < 3; ++i)
        moved = inNextPlace(moved, "dp");
    EXPECT_EQ(moved, seats) << "columns, rows, boxes, and around";
    EXPECT_EQ(oneOutwards(oneOutwards(seats, "tp"), "tp").front().axis, "tp") << "and inwards from the outermost";
    EXPECT_EQ(oneOutwards(seats, "tp").front().axis, "pp");
    EXPECT_EQ(movedTo(seats, "dp", AxisPlace::columns, 1),
              (AxisSeats{{"tp", AxisPlace::columns}, {"dp", AxisPlace::columns}, {"pp", AxisPlace::columns}}));
    EXPECT_EQ(inNextPlace(seats, "ep"), seats) << "there is none";
}

TEST(GridArrangement, AnotherMeshKeepsWhatItKnows)
{
    const AxisSeats seats{{"tp", AxisPlace::columns}, {"cp", AxisPlace::rows}};
    EXPECT_EQ(fitted(seats, sim::Mesh(planLayout(2, 1, 4, 1))),
              (AxisSeats{{"tp", AxisPlace::columns}, {"pp", AxisPlace::boxes}}));
    EXPECT_TRUE(fitted({}, sim::Mesh(planLayout(2, 1, 4, 1))).empty()) << "automatic stays automatic";
}

TEST(GridArrangement, TheAutomaticOneCanBeSaidInSeats)
{
    const sim::Mesh mesh(planLayout(2, 2, 2, 2));
    const GridLayout grid(mesh, 8, 876, 330);
    const AxisSeats seats = grid.seats();
    EXPECT_EQ(seats.size(), 4U);
    const GridLayout again(seatedPlan(mesh, seats), 876, 330);
    for (int rank = 0; rank < 16; ++rank) {
        EXPECT_EQ(again.column(rank), grid.column(rank));
        EXPECT_EQ(again.row(rank), grid.row(rank));
    }
}

TEST(GridArrangement, AllInOneRowIsStillAPicture)
{
    const sim::Mesh mesh(planLayout(8, 1, 16, 128));
    const GridLayout grid(seatedPlan(mesh, {{"tp", AxisPlace::columns}, {"pp", AxisPlace::columns}, {"dp", AxisPlace::columns}}),
                          1200, 500);
    EXPECT_EQ(grid.columns(), 16384);
    EXPECT_LE(grid.width(), 1201);
    EXPECT_GE(grid.cellHeight(), 20) << "stretched, so that it can be seen";
}

TEST(GridArrangement, PhysicalPutsANodeInABoxWhateverThePlacement)
{
    for (const sim::PlacementRule rule :
         {sim::PlacementRule::packed, sim::PlacementRule::roundRobin, sim::PlacementRule::explicitList}) {
        sim::Layout layout = planLayout(4, 1, 3, 2);
        const sim::Cluster cluster = test::h100Cluster(32);
        layout.placement = rule;
        if (rule == sim::PlacementRule::explicitList)
            for (int rank = 0; rank < 24; ++rank)
                layout.explicitPlacement.push_back((rank * 7 + 3) % 32);
        const sim::Placement placement(layout, cluster);
        const GridLayout grid(physicalPlan(placement, cluster, 24), 900, 400);
        expectRoundTrip(grid, 24);
        for (int a = 0; a < 24; ++a)
            for (int b = 0; b < 24; ++b)
                ASSERT_EQ(grid.box(0, a) == grid.box(0, b), placement.node(a) == placement.node(b)) << a << " " << b;
        for (int rank = 0; rank < 24; ++rank)
            EXPECT_EQ(grid.coordinate(grid.levels().front(), rank), placement.gpuOfNode(rank)) << "its rail";
    }
}

TEST(GridArrangement, SeveralNodesShareADomain)
{
    const sim::Layout layout = planLayout(1, 1, 4, 64);
    sim::Cluster cluster = test::h100Cluster(256, 4);
    cluster.tiers = {{.name = "nvlink", .span = 64, .bandwidthGBs = 900, .latencyUs = 2},
                     {.name = "network", .span = 0, .bandwidthGBs = 50, .latencyUs = 5}};
    const sim::Placement placement(layout, cluster);
    const GridLayout grid(physicalPlan(placement, cluster, 256), 1200, 600);
    expectRoundTrip(grid, 256);
    ASSERT_EQ(grid.levels().size(), 3U);
    EXPECT_EQ(grid.levels().back().axis, "NVLink");
    EXPECT_EQ(grid.boxPlaces(1), 64);
    for (int rank = 1; rank < 256; ++rank)
        EXPECT_EQ(grid.box(1, rank) == grid.box(1, 0), placement.tierBetween(0, rank) == 0);
    EXPECT_EQ(grid.boxName(0, 4 * 37), "node 37") << "nodes are numbered through";
    EXPECT_EQ(grid.boxName(1, 4 * 37), "NVLink 2");
}

TEST(GridArrangement, GpusWithoutARankStayEmpty)
{
    const sim::Layout layout = planLayout(1, 1, 1, 5);
    const sim::Cluster cluster = test::h100Cluster(16);
    const GridLayout grid(physicalPlan(sim::Placement(layout, cluster), cluster, 5), 600, 300);
    EXPECT_EQ(grid.places(), 8) << "the second node is not in use";
    EXPECT_EQ(grid.rankOf(6), -1);
    expectRoundTrip(grid, 5);
}

} // namespace
} // namespace app
