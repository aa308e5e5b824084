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

TEST(BlockView, TwoRanksStandBesideEachOtherBeforeTheirPassesDo)
{
    BlockPicture picture(meshOfTwo());
    picture.selection.selectRanks({0, 6}, 0);
    picture.area = {0, 0, 620, 700}; // room for two columns
    const Node left = picture.named("Rank 0, forward, "), right = picture.named("Rank 6, forward, ");
    EXPECT_LT(left.rect.right, right.rect.left);
    EXPECT_EQ(left.rect.top, right.rect.top);
}

TEST(BlockView, ShapesStandBesideTheirMatricesInANarrowDock)
{
    sim::Scenario scenario = meshOfTwo();
    scenario.model.hiddenSize = 5120;
    scenario.model.intermediateSize = 13'824;
    scenario.model.numAttentionHeads = scenario.model.numKeyValueHeads = 40;
    scenario.model.headDim = 128;
    scenario.training.sequenceLength = 4096;
    BlockPicture picture(scenario);
    picture.area = {0, 0, 724, 900}; // as in a window of 1366
    RecorderCanvas canvas(picture.area);
    picture.view.draw(canvas);
    const auto texts = canvas.texts();
    const Block block = blockOf(*picture.simulation, 0);
    for (const BlockRow& row : block.forward.rows) {
        if (!row.matrices.empty()) {
            EXPECT_NE(std::find(texts.begin(), texts.end(), row.shape), texts.end()) << row.name << ": " << row.shape;
        }
    }
}

TEST(BlockView, AClickOnACollectiveKeepsTheComparison)
{
    BlockPicture picture(meshOfTwo());
    picture.selection.selectRanks({0, 6}, 0);
    picture.click(picture.named("Rank 6, forward, parameter"));
    EXPECT_EQ(picture.selection.ranks, (std::vector{2, 6}));
    picture.view.setStep({picture.simulation, nullptr}); // as when kernels are asked for
    picture.named("Rank 0, forward, ");
    picture.named("Rank 6, forward, ");
    picture.view.command(ViewCommand::clear, false, picture.area);
    EXPECT_EQ(picture.selection.ranks, (std::vector{0, 6})) << "back to the two";
}

TEST(BlockView, AClickOnAKernelLeavesWhatIsSent)
{
    BlockPicture picture(meshOfTwo());
    picture.click(picture.named("forward, attention output"));
    EXPECT_TRUE(picture.selection.shows(sim::OpClass::forward));
    EXPECT_FALSE(picture.selection.shows(sim::OpClass::backward));
    EXPECT_TRUE(picture.selection.shows(sim::OpClass::tpComm)) << "traffic knows no kernels";
    EXPECT_TRUE(picture.selection.shows(sim::OpClass::dpComm));
}

TEST(BlockView, ScrollsByItsBarAndSaysHowHighItIs)
{
    BlockPicture picture(meshOfTwo());
    const float whole = *picture.view.contentHeight(1400);
    picture.area = {0, 0, 1400, 300};
    ASSERT_GT(whole, picture.area.height());
    const auto firstTop = [&] { return picture.named("Rank 0, backward, ").rect.top; };
    const auto last = [&] { return picture.nodes().back().rect.bottom; };
    const float before = firstTop();
    picture.view.pointer({.kind = PointerEvent::Kind::press, .at = {1394, 40}, .button = PointerButton::left}, picture.area);
    picture.view.pointer({.kind = PointerEvent::Kind::move, .at = {1394, 290}}, picture.area);
    picture.view.pointer({.kind = PointerEvent::Kind::release, .at = {1394, 290}, .button = PointerButton::left}, picture.area);
    EXPECT_LE(last(), 300);
    EXPECT_LT(firstTop(), before);
    picture.area = {0, 0, 1400, whole};
    for (const Node& node : picture.nodes())
        EXPECT_GT(node.rect.height(), 20) << node.name << " is cut";
}

TEST(BlockView, RowsAreLinesWhereAllOfThemHaveNoRoomAndNoneIsCut)
{
    BlockPicture picture(meshOfTwo());
    const float whole = *picture.view.contentHeight(560), least = *picture.view.leastHeight(560);
    EXPECT_LT(least, 0.7F * whole);
    for (const float height : {whole, 0.9F * whole, least}) {
        picture.area = {0, 0, 560, height};
        RecorderCanvas canvas(picture.area);
        picture.view.draw(canvas);
        const auto texts = canvas.texts();
        for (const Node& node : canvas.nodes()) {
            EXPECT_GE(node.rect.height(), 18) << node.name << " is cut at " << height;
            EXPECT_LE(node.rect.bottom, height);
        }
        for (const char* begin : {"attention norm", "MLP activation function", "dp all-gather"})
            EXPECT_TRUE(std::ranges::any_of(texts, [&](const std::string& text) { return text.starts_with(begin); }))
                << begin << " has no name at " << height;
    }
    picture.area = {0, 0, 560, least - 1};
    EXPECT_GT(picture.nodes().front().rect.height(), 30) << "what scrolls anyway is as high as it is read best";
}

TEST(BlockModel, AttentionTellsTheRanksOwnHeads)
{
    sim::Scenario scenario = test::smallScenario(4, 1, 1);
    scenario.training.microBatchSize = 2;
    scenario.training.globalBatchSize = 8;
    scenario.training.flashAttention = true;
    const auto simulation = sim::simulate(scenario);
    const Block block = blockOf(*simulation, 1);
    const auto core = std::find_if(block.forward.rows.begin(), block.forward.rows.end(),
                                   [](const BlockRow& row) { return row.name == "attention core"; });
    ASSERT_NE(core, block.forward.rows.end());
    const int own = scenario.model.numAttentionHeads / 4;
    EXPECT_THAT(core->shape, testing::StartsWith(std::to_string(own) + (own == 1 ? " head × 2" : " heads × 2")));
    EXPECT_GT(core->bytes, 0);
}

TEST(BlockModel, ProductsTellTheirBytesAndTheBackwardPassWhatItReverses)
{
    const auto simulation = sim::simulate(test::smallScenario(4, 1, 1));
    const Block block = blockOf(*simulation, 3);
    for (const BlockPass* pass : {&block.forward, &block.backward})
        for (const BlockRow& row : pass->rows)
            EXPECT_GT(row.bytes, 0) << row.name;
    for (const BlockRow* row : collectives(block.forward))
        EXPECT_EQ(row->name.find("backward of"), std::string::npos) << row->name;
    const auto reversed = collectives(block.backward);
    EXPECT_TRUE(std::any_of(reversed.begin(), reversed.end(),
                            [](const BlockRow* row) { return row->name == "backward of MLP reduction"; }));
}

TEST(BlockModel, ExpertsPiecesFollowTheExpertGrid)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 4);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 256;
    scenario.layout.ep = 2;
    scenario.layout.etp = 4; // wider than the dense cut
    const auto simulation = sim::simulate(scenario);
    int ofExperts = 0;
    for (int rank = 0; rank < 8; ++rank) {
        const Block block = blockOf(*simulation, rank);
        for (const BlockRow& row : block.forward.rows)
            for (const BlockMatrix& matrix : row.matrices)
                if (matrix.experts > 0) {
                    ++ofExperts;
                    EXPECT_EQ(matrix.piece, simulation->mesh().coordinates(rank).exptTp) << rank << " " << matrix.name;
                }
    }
    EXPECT_GE(ofExperts, 8) << "each rank has some";
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
