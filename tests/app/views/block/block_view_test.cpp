// A transformer block as ranks run it: what each holds, the collectives in their places, and what a click on one selects.
#include "app/canvas/recorder_canvas.h"
#include "app/views/block/block_model.h"
#include "app/views/block/block_view.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using testing::HasSubstr;

/// Two nodes of four: tp inside, FSDP across.
sim::Scenario meshOfTwo()
{
    sim::Scenario scenario = test::smallScenario(4, 1, 2);
    scenario.layout.zeroStage = 3;
    scenario.layout.dpShard = 2;
    return scenario;
}

std::vector<const BlockRow*> collectives(const BlockPass& pass)
{
    std::vector<const BlockRow*> out;
    for (const BlockRow& row : pass.rows)
        if (row.isCollective())
            out.push_back(&row);
    return out;
}

std::ptrdiff_t countOf(const BlockPass& pass, const std::string& what)
{
    return std::count_if(pass.rows.begin(), pass.rows.end(), [&](const BlockRow& row) { return row.shape == what; });
}

const BlockRow* product(const BlockPass& pass, const std::string& tensor)
{
    for (const BlockRow& row : pass.rows)
        for (const BlockMatrix& matrix : row.matrices)
            if (matrix.name == tensor)
                return &row;
    return nullptr;
}

struct BlockPicture {
    Selection selection;
    BlockView view{selection, lightTheme()};
    SimulationPtr simulation;
    Rect area{0, 0, 1400, 1600};
    explicit BlockPicture(const sim::Scenario& scenario) : simulation(sim::simulate(scenario))
    {
        view.setStep({simulation, nullptr});
    }
    std::vector<Node> nodes()
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas.nodes();
    }
    Node named(const std::string& what)
    {
        for (const Node& node : nodes())
            if (node.name.find(what) != std::string::npos)
                return node;
        ADD_FAILURE() << "nothing is called " << what;
        return {};
    }
    void click(const Node& node)
    {
        const Point at{(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
        view.pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, area);
    }
};

} // namespace

TEST(BlockModel, TensorParallelBlocksReduceTwiceOnTheWayThereAndTwiceBack)
{
    sim::Scenario scenario = test::smallScenario(4, 1, 1);
    scenario.layout.sequenceParallel = false;
    const auto simulation = sim::simulate(scenario);
    const Block block = blockOf(*simulation, 1);
    EXPECT_EQ(countOf(block.forward, "tp all-reduce"), 2);
    EXPECT_EQ(countOf(block.backward, "tp all-reduce"), 2);
    EXPECT_THAT(collectives(block.forward).front()->members, testing::ElementsAre(0, 1, 2, 3));
    EXPECT_FALSE(block.isShared);
}

TEST(BlockModel, ColumnHalvesComeBeforeRowHalves)
{
    const auto simulation = sim::simulate(test::smallScenario(4, 1, 1));
    const Block block = blockOf(*simulation, 3);
    const BlockRow* query = product(block.forward, "query");
    ASSERT_TRUE(query);
    EXPECT_EQ(query->matrices[0].split, sim::TensorSplit::columns);
    EXPECT_EQ(query->matrices[0].pieces, 4);
    EXPECT_EQ(query->matrices[0].piece, 3);
    const auto rows = std::find_if(block.forward.rows.begin(), block.forward.rows.end(), [](const BlockRow& row) {
        return !row.matrices.empty() && row.matrices[0].split == sim::TensorSplit::rows;
    });
    ASSERT_NE(rows, block.forward.rows.end());
    EXPECT_GT(&*rows, query) << "what cuts rows sums up what columns made";
    EXPECT_GT(query->flops, 0);
    EXPECT_GT(block.forward.ns, 0);
}

TEST(BlockModel, ShardedParametersAreGatheredBothWaysAndGradientsScattered)
{
    const auto simulation = sim::simulate(meshOfTwo());
    const Block block = blockOf(*simulation, 5);
    EXPECT_TRUE(block.isShared);
    EXPECT_EQ(countOf(block.forward, "dp all-gather"), 1);
    EXPECT_EQ(countOf(block.backward, "dp all-gather"), 1);
    EXPECT_EQ(countOf(block.backward, "dp reduce-scatter"), 1);
    for (const BlockRow* row : collectives(block.forward)) {
        const bool isTp = row->role == sim::CommunicatorRole::tp;
        EXPECT_EQ(row->members, isTp ? (std::vector{4, 5, 6, 7}) : (std::vector{1, 5})) << row->shape;
        EXPECT_GT(row->bytes, 0);
        EXPECT_GT(row->ns, 0);
    }
}

TEST(BlockView, AClickOnACollectiveLightsItsGroupAndItsSpans)
{
    BlockPicture picture(meshOfTwo());
    picture.selection.selectRank(5);
    picture.click(picture.named("Rank 5, forward, parameter"));
    EXPECT_EQ(picture.selection.ranks, (std::vector{1, 5}));
    EXPECT_EQ(picture.selection.selectedRank, 5);
    EXPECT_EQ(picture.selection.classes, maskOf(sim::OpClass::dpComm));
    EXPECT_TRUE(picture.named("Rank 5, forward, parameter").selected) << "the rank that is shown stays";
    for (const Node& node : picture.nodes())
        EXPECT_THAT(node.name, HasSubstr("Rank 5"));
}

TEST(BlockView, TwoSelectedRanksStandSideBySide)
{
    BlockPicture picture(meshOfTwo());
    picture.selection.selectRanks({0, 6}, 0);
    const Node left = picture.named("Rank 0, forward, "), right = picture.named("Rank 6, forward, ");
    EXPECT_LT(left.rect.right, right.rect.left);
    EXPECT_EQ(left.rect.top, right.rect.top);
    picture.area = {0, 0, 420, 700}; // narrow: below each other
    EXPECT_EQ(picture.named("Rank 0, forward, ").rect.left, picture.named("Rank 0, backward, ").rect.left);
}

TEST(BlockView, IsWalkedWithTheKeys)
{
    BlockPicture picture(meshOfTwo());
    picture.selection.selectRank(2);
    picture.nodes();
    for (int presses = 0; presses < 100; ++presses) {
        ASSERT_TRUE(picture.view.command(ViewCommand::stepDown, false, picture.area));
        const auto all = picture.nodes();
        const auto current = std::find_if(all.begin(), all.end(), [](const Node& node) { return node.selected; });
        ASSERT_NE(current, all.end());
        if (current->name.find("tp all-gather") != std::string::npos)
            break;
    }
    EXPECT_TRUE(picture.view.command(ViewCommand::mark, false, picture.area));
    EXPECT_EQ(picture.selection.ranks, (std::vector{0, 1, 2, 3}));
    EXPECT_TRUE(picture.view.command(ViewCommand::clear, false, picture.area));
    EXPECT_EQ(picture.selection.classes, kAllClasses);
}

TEST(BlockView, WithoutAStepItSaysHowToGetOne)
{
    Selection selection;
    BlockView view(selection, lightTheme());
    RecorderCanvas canvas({0, 0, 400, 300});
    view.draw(canvas);
    EXPECT_THAT(canvas.texts(), testing::Contains(HasSubstr("No block")));
    EXPECT_FALSE(view.command(ViewCommand::stepDown, false, {0, 0, 400, 300}));
}

} // namespace app
