// The rank grid's geometry: every rank one cell, inside its boxes, apart from all others.
#include "app/views/grid/grid_layout.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace app {
namespace {

sim::Layout layoutOf(int tp, int cp, int pp, int dp, const std::string& order = "tp-cp-ep-dp-pp")
{
    sim::Layout layout;
    layout.tp = layout.etp = tp;
    layout.cp = cp;
    layout.pp = pp;
    layout.dp = dp;
    layout.order = order;
    return layout;
}

bool inside(Rect inner, Rect outer)
{
    constexpr float kRounding = 0.01F;
    return inner.left >= outer.left - kRounding && inner.top >= outer.top - kRounding && inner.right <= outer.right + kRounding &&
           inner.bottom <= outer.bottom + kRounding;
}

/// Every statement that holds for any grid.
void expectSound(const GridLayout& grid, int world, float width, float height, bool mustFit)
{
    ASSERT_EQ(grid.ranks(), world);
    std::set<std::pair<int, int>> places;
    for (int rank = 0; rank < world; ++rank) {
        const int column = grid.column(rank), row = grid.row(rank);
        ASSERT_TRUE(places.emplace(column, row).second) << "two ranks in one place, the second is " << rank;
        ASSERT_EQ(grid.rankAt(column, row), rank);
        const Rect cell = grid.cell(rank);
        ASSERT_EQ(grid.rankAt(Point{(cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2}), rank);
        Rect within = cell;
        for (int level = 0; level < static_cast<int>(grid.levels().size()); ++level) {
            const Rect box = grid.box(level, rank);
            ASSERT_TRUE(inside(within, box)) << "rank " << rank << " level " << level;
            within = box;
        }
    }
    // Columns do not overlap, nor do rows; so cells do not.
    for (int c = 1; c < grid.columns(); ++c)
        ASSERT_GE(grid.columnLeft(c) - grid.columnLeft(c - 1), grid.cellWidth() * 0.999F);
    for (int r = 1; r < grid.rows(); ++r)
        ASSERT_GE(grid.rowTop(r) - grid.rowTop(r - 1), grid.cellHeight() * 0.999F);
    if (mustFit) {
        EXPECT_LE(grid.width() + grid.widthOfRulers(), width + 0.5F);
        EXPECT_LE(grid.height() + GridLayout::kRulerRow * static_cast<float>(grid.across().size()), height + 0.5F);
    }
}

TEST(GridLayout, AShortPipelineStandsInOneLineAsOnTheTimeline)
{
    for (const int perNode : {1, 2, 4, 8})
        for (const auto& [width, height] : {std::pair{300, 300}, {620, 420}, {420, 700}, {980, 380}}) {
            const GridLayout grid(sim::Mesh(layoutOf(1, 1, 4, 1)), perNode, static_cast<float>(width),
                                  static_cast<float>(height));
            EXPECT_TRUE(grid.columns() == 4 || grid.rows() == 4)
                << grid.columns() << " x " << grid.rows() << " in " << width << " x " << height << ", " << perNode << " a node";
        }
}

TEST(GridLayout, APipelineAloneStandsInOneLineUpToEightStages)
{
    for (const int stages : {5, 6, 8})
        for (const int perNode : {1, 4, 8})
            for (const auto& [width, height] : {std::pair{300, 240}, {340, 260}, {620, 420}, {420, 700}, {980, 380}}) {
                const GridLayout grid(sim::Mesh(layoutOf(1, 1, stages, 1)), perNode, static_cast<float>(width),
                                      static_cast<float>(height));
                EXPECT_TRUE(grid.columns() == stages || grid.rows() == stages)
                    << grid.columns() << " x " << grid.rows() << " in " << width << " x " << height << ", " << perNode
                    << " a node";
            }
}

TEST(GridLayout, SixteenRanksOfTheLlamaFigureAreLargeAndNestedByNode)
{
    const sim::Mesh mesh(layoutOf(2, 2, 2, 2, "tp-cp-pp-dp"));
    const GridLayout grid(mesh, 8, 876, 330);
    expectSound(grid, 16, 876, 330, true);
    EXPECT_GE(grid.cellWidth(), 60);
    EXPECT_GE(grid.cellHeight(), 40);
    ASSERT_EQ(grid.levels().size(), 4U);
    EXPECT_TRUE(grid.levels()[2].isNode) << "tp 2 x cp 2 x pp 2 fill a node of 8";
    EXPECT_EQ(grid.boxPlaces(2), 8);
    EXPECT_EQ(grid.boxName(2, 13), "dp 1");
    EXPECT_EQ(grid.across().size() + grid.down().size(), 4U) << "each axis has its ruler";
}

/// In less height rows of dp would have larger cells, but only as they leave the nodes' titles out.
TEST(GridLayout, ALittleLessHeightDoesNotTurnNodesThatLieBesideEachOther)
{
    const sim::Mesh mesh(layoutOf(8, 1, 1, 2));
    for (float height = 135; height >= 85; height -= 5) {
        const GridLayout grid(mesh, 8, 704, height);
        EXPECT_EQ(grid.rows(), 1) << height;
        EXPECT_EQ(grid.columns(), 16) << height;
        EXPECT_GT(grid.levels()[0].title, 0) << height;
    }
}

TEST(GridLayout, SixteenThousandRanksFitAScreenAndAPaneOfOne)
{
    const sim::Mesh mesh(layoutOf(8, 1, 16, 128, "tp-cp-pp-dp"));
    for (const auto& [width, height] : {std::pair{1600.0F, 900.0F}, {900.0F, 420.0F}, {500.0F, 900.0F}}) {
        const GridLayout grid(mesh, 8, width, height);
        expectSound(grid, 16384, width, height, true);
        EXPECT_GE(grid.cellWidth() * grid.cellHeight(), 0.35F * width * height / 16384) << "most of the area is cells";
        EXPECT_TRUE(grid.levels()[0].isNode);
    }
}

TEST(GridLayout, ANodeThatEndsInsideAnAxisCutsItInTwo)
{
    // tp 4, nodes of 8: a node holds two data-parallel neighbours.
    const sim::Mesh mesh(layoutOf(4, 1, 4, 6));
    const GridLayout grid(mesh, 8, 900, 400);
    expectSound(grid, 96, 900, 400, true);
    ASSERT_EQ(grid.levels().size(), 4U);
    EXPECT_EQ(grid.levels()[1].axis, "dp");
    EXPECT_EQ(grid.levels()[1].size, 2);
    EXPECT_TRUE(grid.levels()[1].isNode);
    EXPECT_EQ(grid.levels()[2].axis, "dp");
    EXPECT_EQ(grid.levels()[2].size, 3);
    for (int rank = 0; rank < 96; ++rank)
        EXPECT_EQ(grid.box(1, rank), grid.box(1, rank / 8 * 8)) << "one box a node";
    EXPECT_EQ(grid.boxName(1, 8), "dp 2–3");
}

TEST(GridLayout, TensorParallelismAcrossNodesIsCutToo)
{
    const sim::Mesh mesh(layoutOf(16, 1, 4, 1));
    const GridLayout grid(mesh, 8, 900, 400);
    expectSound(grid, 64, 900, 400, true);
    EXPECT_EQ(grid.levels()[0].size, 8);
    EXPECT_TRUE(grid.levels()[0].isNode);
    EXPECT_EQ(grid.levels()[1].size, 2);
}

/// Whatever a ruler says about a place is true of every rank there.
void expectTrueRulers(const GridLayout& grid, const sim::Mesh& mesh)
{
    for (const bool across : {true, false})
        for (const Ruler& ruler : across ? grid.across() : grid.down()) {
            const int axis = mesh.dense().axisIndex(ruler.axis);
            for (int rank = 0; rank < mesh.worldSize(); ++rank) {
                const Rect cell = grid.cell(rank);
                const float at = across ? (cell.left + cell.right) / 2 : (cell.top + cell.bottom) / 2;
                const auto label = std::find_if(ruler.labels.begin(), ruler.labels.end(),
                                                [at](const RulerLabel& l) { return at >= l.begin && at < l.end; });
                ASSERT_NE(label, ruler.labels.end()) << ruler.axis << " rank " << rank;
                ASSERT_LE(label->first, mesh.dense().coordinate(rank, axis)) << ruler.axis << " rank " << rank;
                ASSERT_GE(label->last, mesh.dense().coordinate(rank, axis)) << ruler.axis << " rank " << rank;
            }
        }
}

TEST(GridLayout, RulersNameEveryCoordinateWhereItIs)
{
    const sim::Mesh mesh(layoutOf(2, 2, 2, 2, "tp-cp-pp-dp"));
    const GridLayout grid(mesh, 8, 876, 330);
    EXPECT_EQ(grid.across().size() + grid.down().size(), 4U);
    expectTrueRulers(grid, mesh);
}

TEST(GridLayout, HoldsForAnyMeshInAnyArea)
{
    std::mt19937 random(7);
    const auto pick = [&random](std::initializer_list<int> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    };
    for (int i = 0; i < 150; ++i) {
        const int tp = pick({1, 2, 3, 4, 8, 16}), cp = pick({1, 1, 2, 4}), pp = pick({1, 2, 3, 4, 7, 8, 16}),
                  dp = pick({1, 2, 5, 13, 16, 31});
        const std::string order = pick({0, 1}) == 0 ? "tp-cp-ep-dp-pp" : "tp-cp-pp-dp";
        const sim::Layout layout = layoutOf(tp, cp, pp, dp, order);
        SCOPED_TRACE(std::to_string(tp) + "·" + std::to_string(cp) + "·" + std::to_string(pp) + "·" + std::to_string(dp) + " " +
                     order);
        const auto width = static_cast<float>(200 + random() % 1500), height = static_cast<float>(150 + random() % 900);
        const sim::Mesh mesh(layout);
        const GridLayout grid(mesh, pick({0, 4, 8, 72}), width, height);
        expectSound(grid, tp * cp * pp * dp, width, height, tp * cp * pp * dp <= 4096);
        expectTrueRulers(grid, mesh);
        if (testing::Test::HasFatalFailure())
            return;
    }
}

TEST(GridLayout, AMillionRanksHaveTheirPlacesToo)
{
    const GridLayout grid(sim::Mesh(layoutOf(8, 1, 64, 2048)), 8, 1600, 900);
    EXPECT_EQ(static_cast<std::int64_t>(grid.columns()) * grid.rows(), 1 << 20);
    for (int rank = 0; rank < 1 << 20; rank += 9973)
        EXPECT_EQ(grid.rankAt(grid.column(rank), grid.row(rank)), rank);
    EXPECT_LE(grid.width(), 1601);
    EXPECT_LE(grid.height(), 901);
}

TEST(GridLayout, OneRankAndNoRoomAreStillAGrid)
{
    const GridLayout one(sim::Mesh(layoutOf(1, 1, 1, 1)), 8, 300, 200);
    EXPECT_EQ(one.rankAt(Point{5, 5}), 0);
    EXPECT_TRUE(one.across().empty());
    const GridLayout none(sim::Mesh(layoutOf(8, 1, 4, 2)), 8, -10, 0);
    EXPECT_EQ(none.ranks(), 64);
    EXPECT_GE(none.rankAt(none.column(63), none.row(63)), 0);
}

} // namespace
} // namespace app
