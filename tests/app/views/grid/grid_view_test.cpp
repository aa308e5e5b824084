// The rank grid as seen and touched: through the canvas recorder and pointer events alone.
#include "app/views/grid/grid_caption.h"
#include "app/views/grid/grid_groups.h"
#include "tests/app/views/grid/grid_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace app {
namespace {

TEST(GridView, WithoutAScenarioSaysWhatToDo)
{
    Selection selection;
    GridView view(selection, darkTheme());
    RecorderCanvas canvas(kGridArea);
    view.draw(canvas);
    EXPECT_THAT(canvas.texts(), testing::Contains("No ranks yet"));
    EXPECT_FALSE(view.command(ViewCommand::zoomIn, false, kGridArea));
    EXPECT_FALSE(view.pointer({.at = {50, 50}}, kGridArea));
}

TEST(GridView, TheTeachingGridShowsEveryRankAxisAndNode)
{
    Grid grid(teachingGrid());
    const RecorderCanvas canvas = grid.draw();
    EXPECT_EQ(canvas.nodesOf("cell").size(), 16U);
    for (int rank = 0; rank < 16; ++rank)
        EXPECT_THAT(canvas.texts(), testing::Contains(testing::AnyOf("rank " + std::to_string(rank), std::to_string(rank))));
    for (const char* label : {"tp 0", "tp 1", "cp 0", "cp 1", "pp 0", "pp 1", "dp 0", "dp 1", "node 0", "node 1"})
        EXPECT_THAT(canvas.texts(), testing::Contains(label));
    EXPECT_THAT(canvas.texts(), testing::Contains(testing::HasSubstr("tp 2 × cp 2 × pp 2 × dp 2 = 16 ranks")));
    expectCleanText(canvas);
}

TEST(GridView, TheLensNowSaysWhatItsBarsAndArrowsMean)
{
    Grid grid(teachingGrid());
    const auto trace = std::make_shared<const sim::Trace>(grid.simulation->trace(sim::TraceDetail::actions));
    grid.view.setStep({grid.simulation, trace});
    grid.view.setLens(GridLens::now);
    grid.selection.cursorNs = trace->endNs / 2;
    EXPECT_THAT(grid.draw().texts(), testing::Contains(testing::HasSubstr("how far its pass has come")));
    EXPECT_THAT(grid.draw({10, 20, 560, 440}).texts(), testing::Contains(testing::HasSubstr("how far a pass has come")));
    grid.selection.cursorNs = 0;
    EXPECT_THAT(grid.draw().texts(), testing::Contains(testing::HasSubstr("The step begins.")));
}

TEST(GridView, RowsSayWhichCoordinatesTheyHoldWhole)
{
    for (const auto& [tp, pp, dp] : {std::tuple(1, 1, 256), {8, 1, 128}, {2, 4, 64}, {1, 1, 1024}}) {
        Grid grid(test::smallScenario(tp, pp, dp, 2 * pp));
        for (const float width : {900.0F, 640.0F}) {
            const RecorderCanvas canvas = grid.draw({10, 20, 10 + width, 640});
            for (const std::string& text : canvas.texts())
                EXPECT_FALSE(text.ends_with("…")) << text << " of dp " << dp << " in " << width;
            expectCleanText(canvas);
        }
    }
}

TEST(GridView, NarrowCellsSayAsMuchAsTheirNeighbours)
{
    Grid grid(teachingGrid());
    for (float width = 200; width <= kGridArea.width(); width += 23) {
        const RecorderCanvas canvas = grid.draw({kGridArea.left, kGridArea.top, kGridArea.left + width, kGridArea.bottom});
        std::size_t words = 0, numbers = 0;
        std::set<std::size_t> lines; // how many each has
        for (const Node& cell : canvas.nodesOf("cell")) {
            std::size_t texts = 0;
            for (const Primitive& p : canvas.primitives()) {
                const Point middle{(p.rect.left + p.rect.right) / 2, (p.rect.top + p.rect.bottom) / 2};
                if (p.kind != Primitive::Kind::text || !cell.rect.contains(middle))
                    continue;
                ++texts;
                words += p.text == "rank " + std::to_string(cell.id) ? 1 : 0;
                numbers += p.text == std::to_string(cell.id) ? 1 : 0;
            }
            lines.insert(texts);
        }
        EXPECT_TRUE(words == 0 || words == 16) << words << " at width " << width;
        EXPECT_TRUE(words > 0 || numbers == 16 || numbers == 8 || numbers == 4 || numbers == 0) << numbers << " at " << width;
        EXPECT_TRUE(lines.size() == 1 || numbers < 16) << "as many lines in each cell, at width " << width;
    }
}

TEST(GridView, ANumberAloneStandsInTheMiddleOfItsCell)
{
    Grid grid(teachingGrid());
    int alone = 0;
    for (float width = 200; width <= kGridArea.width(); width += 23)
        for (float height = 200; height < 420; height += 35) {
            const RecorderCanvas canvas =
                grid.draw({kGridArea.left, kGridArea.top, kGridArea.left + width, kGridArea.top + height});
            for (const Node& cell : canvas.nodesOf("cell")) {
                std::vector<Rect> texts;
                for (const Primitive& p : canvas.primitives())
                    if (p.kind == Primitive::Kind::text &&
                        cell.rect.contains({(p.rect.left + p.rect.right) / 2, (p.rect.top + p.rect.bottom) / 2}))
                        texts.push_back(p.rect);
                if (texts.size() != 1 || cell.rect.height() < 20)
                    continue;
                ++alone;
                EXPECT_NEAR(texts.front().top + texts.front().bottom, cell.rect.top + cell.rect.bottom, 4)
                    << width << "x" << height;
            }
        }
    EXPECT_GT(alone, 100);
}

TEST(GridView, LowCellsHaveTheirNumbersAsLongAsTheseAreWhole)
{
    Grid grid(teachingGrid());
    int looked = 0;
    for (float height = 400; height > 60; height -= 5) {
        const RecorderCanvas canvas = grid.draw({kGridArea.left, kGridArea.top, kGridArea.right, kGridArea.top + height});
        const std::vector<Node> cells = canvas.nodesOf("cell");
        if (cells.empty() || cells.front().rect.height() < 10 || cells.front().rect.width() < 30)
            continue;
        ++looked;
        for (const Node& cell : cells)
            EXPECT_TRUE(std::ranges::any_of(canvas.primitives(),
                                            [&](const Primitive& p) {
                                                return p.kind == Primitive::Kind::text &&
                                                       cell.rect.contains({(p.rect.left + p.rect.right) / 2,
                                                                           (p.rect.top + p.rect.bottom) / 2}) &&
                                                       p.text.ends_with(std::to_string(cell.id));
                                            }))
                << "rank " << cell.id << " at height " << cell.rect.height();
    }
    EXPECT_GT(looked, 10);
}

TEST(GridView, PointingAtARankLightsExactlyItsGroups)
{
    Grid grid(teachingGrid());
    EXPECT_TRUE(grid.move(grid.centreOf(13)));
    ASSERT_EQ(grid.selection.hoveredRank, 13);
    EXPECT_FALSE(grid.move(grid.centreOf(13))) << "nothing changed, nothing to draw";
    // Llama 3's figure: strides 1, 2, 4, 8.
    const auto groups = litGroups(grid.simulation->mesh(), 13);
    ASSERT_EQ(groups.size(), 4U);
    EXPECT_THAT(groups[0].members, testing::ElementsAre(12, 13));
    EXPECT_THAT(groups[1].members, testing::ElementsAre(13, 15));
    EXPECT_THAT(groups[2].members, testing::ElementsAre(9, 13));
    EXPECT_THAT(groups[3].members, testing::ElementsAre(5, 13));

    // Drawn in full colour after the dimmed ones: these cells and no other.
    const RecorderCanvas canvas = grid.draw();
    const std::set<int> expected{5, 9, 12, 13, 15};
    std::set<int> lit;
    for (const Node& node : canvas.nodesOf("cell")) {
        const auto fills = std::count_if(canvas.primitives().begin(), canvas.primitives().end(), [&](const Primitive& p) {
            return p.kind == Primitive::Kind::fillRect && p.rect == node.rect;
        });
        if (fills > 1)
            lit.insert(static_cast<int>(node.id));
    }
    EXPECT_EQ(lit, expected);
    EXPECT_THAT(canvas.texts(), testing::IsSupersetOf({"tp", "cp", "pp", "dp", "2 ranks: 12, 13"}));
    expectCleanText(canvas);
    EXPECT_THAT(grid.view.tooltip(), testing::HasSubstr("rank 13\ndp 1 · pp 1 · cp 0 · tp 1"));
    EXPECT_THAT(grid.view.tooltip(), testing::HasSubstr("node 1, GPU 5"));
}

TEST(GridView, TheTipCountsStagesAsTheSchedulesDo)
{
    const auto simulation = sim::simulate(test::smallScenario(1, 4));
    EXPECT_NE(rankTip(*simulation, {}, nullptr, 3).find("stage 3 of 0–3\n"), std::string::npos) << "the last of four";
}

TEST(GridView, TheTipNamesNoGpuOfARecordingThatTellsOfNone)
{
    const auto simulation = sim::simulate(test::smallScenario(1, 4));
    GridReading reading;
    reading.isMeasured = true;
    EXPECT_NE(rankTip(*simulation, reading, nullptr, 3).find("GPU"), std::string::npos);
    reading.areDevicesKnown = false;
    EXPECT_EQ(rankTip(*simulation, reading, nullptr, 3).find("GPU"), std::string::npos);
}

TEST(GridView, GroupsAreToldApartByOutline)
{
    std::set<std::tuple<LineStyle, bool>> looks;
    for (const sim::ProcessGroup kind :
         {sim::ProcessGroup::tp, sim::ProcessGroup::cp, sim::ProcessGroup::dp, sim::ProcessGroup::pp, sim::ProcessGroup::ep})
        EXPECT_TRUE(looks.insert({outlineOf(kind).style, outlineOf(kind).twice}).second) << sim::processGroupName(kind);
}

TEST(GridView, EveryCellAnswersToItsOwnCentreAtEveryZoom)
{
    Grid grid(test::smallScenario(4, 4, 6, 4));
    for (const float notches : {0.0F, 3.0F, 4.0F}) {
        grid.zoom({400, 200}, notches);
        const RecorderCanvas canvas = grid.draw();
        ASSERT_FALSE(canvas.nodesOf("cell").empty());
        std::size_t answered = 0;
        for (const Node& node : canvas.nodesOf("cell")) {
            const Point centre{(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
            grid.move(centre);
            if (grid.selection.hoveredRank) { // at the edge a centre may be out of sight
                EXPECT_EQ(*grid.selection.hoveredRank, static_cast<int>(node.id));
                ++answered;
            }
        }
        EXPECT_GE(answered, 1U);
        expectCleanText(canvas);
    }
}

TEST(GridView, ClickKeepsARankAndClickBesideLetsItGo)
{
    Grid grid(teachingGrid());
    EXPECT_TRUE(grid.click(grid.centreOf(6)));
    EXPECT_EQ(grid.selection.selectedRank, 6);
    grid.view.pointer({.kind = PointerEvent::Kind::leave}, kGridArea);
    EXPECT_EQ(grid.selection.focusRank(), 6) << "the click outlives the pointer";
    EXPECT_TRUE(grid.click({kGridArea.left + 2, kGridArea.bottom - 2}));
    EXPECT_FALSE(grid.selection.selectedRank);
}

TEST(GridView, KeysWalkFromRankToRankAndEscapeClears)
{
    Grid grid(teachingGrid());
    grid.view.command(ViewCommand::next, false, kGridArea);
    EXPECT_EQ(grid.selection.selectedRank, 0);
    grid.view.command(ViewCommand::next, true, kGridArea);
    EXPECT_EQ(grid.selection.selectedRank, 4);
    grid.view.command(ViewCommand::previous, false, kGridArea);
    EXPECT_EQ(grid.selection.selectedRank, 3);
    for (int i = 0; i < 40; ++i)
        grid.view.command(ViewCommand::next, false, kGridArea);
    EXPECT_EQ(grid.selection.selectedRank, 15) << "the last rank is the end";
    EXPECT_TRUE(grid.view.command(ViewCommand::clear, false, kGridArea));
    EXPECT_FALSE(grid.selection.selectedRank);
    EXPECT_FALSE(grid.view.command(ViewCommand::clear, false, kGridArea));
}

TEST(GridView, ZoomKeepsWhatIsUnderThePointer)
{
    Grid grid(test::llama405b());
    const Point at = grid.centreOf(9001);
    grid.zoom(at, 5);
    grid.move(at);
    EXPECT_EQ(grid.selection.hoveredRank, 9001);
    grid.zoom(at, -5);
    grid.move(at);
    EXPECT_EQ(grid.selection.hoveredRank, 9001);
    EXPECT_FALSE(grid.view.command(ViewCommand::zoomOut, true, kGridArea)) << "all of it is the farthest";
    for (int i = 0; i < 50; ++i)
        grid.view.command(ViewCommand::zoomIn, true, kGridArea);
    EXPECT_FALSE(grid.view.command(ViewCommand::zoomIn, false, kGridArea)) << "and one cell the nearest";
    expectCleanText(grid.draw());
    EXPECT_TRUE(grid.view.command(ViewCommand::fitAll, false, kGridArea));
    EXPECT_EQ(grid.draw().nodesOf("cell").size(), 16384U);
}

TEST(GridView, FocusFramesTheRankAndThenAll)
{
    Grid grid(test::llama405b());
    grid.selection.selectRank(16000);
    EXPECT_TRUE(grid.view.command(ViewCommand::focusSelection, false, kGridArea));
    const auto cells = grid.draw().nodesOf("cell");
    EXPECT_LT(cells.size(), 2000U);
    EXPECT_TRUE(std::any_of(cells.begin(), cells.end(), [](const Node& n) { return n.id == 16000 && n.selected; }));
    grid.view.command(ViewCommand::focusSelection, false, kGridArea);
    EXPECT_EQ(grid.draw().nodesOf("cell").size(), 16384U);
}

TEST(GridView, MiddleDragMovesAZoomedPictureWithThePointer)
{
    Grid grid(test::llama405b());
    grid.zoom({450, 230}, 10);
    const Point from{450, 230}, to{380, 200};
    grid.move(from);
    const auto grabbed = grid.selection.hoveredRank;
    ASSERT_TRUE(grabbed);
    grid.view.pointer({.kind = PointerEvent::Kind::press, .at = from, .button = PointerButton::middle}, kGridArea);
    EXPECT_EQ(grid.view.cursor(), CursorShape::grab);
    grid.view.pointer({.kind = PointerEvent::Kind::move, .at = to, .button = PointerButton::middle}, kGridArea);
    grid.view.pointer({.kind = PointerEvent::Kind::release, .at = to, .button = PointerButton::middle}, kGridArea);
    grid.move(to);
    EXPECT_EQ(grid.selection.hoveredRank, grabbed);
}

TEST(GridView, ManyRanksAreReadableAsAWhole)
{
    Grid grid(test::llama405b());
    for (const Rect area : {Rect{0, 0, 1600, 900}, Rect{0, 0, 900, 420}, Rect{0, 0, 420, 700}}) {
        const RecorderCanvas canvas = grid.draw(area);
        EXPECT_EQ(canvas.nodesOf("cell").size(), 16384U);
        EXPECT_THAT(canvas.texts(), testing::Contains(testing::HasSubstr("16,384 ranks")));
        EXPECT_THAT(canvas.texts(), testing::Contains(testing::StartsWith("pp 0")));
        EXPECT_THAT(canvas.texts(), testing::Contains(testing::StartsWith("dp 0")));
        expectCleanText(canvas);
    }
    grid.selection.hoveredRank = 5000;
    expectCleanText(grid.draw());
}

TEST(GridView, NoNodesNoStringsACell)
{
    Grid grid(test::llama405b());
    RecorderCanvas canvas(kGridArea, false);
    grid.view.draw(canvas);
    EXPECT_TRUE(canvas.nodes().empty());
    EXPECT_LT(canvas.texts().size(), 400U);
}

TEST(GridView, APictureIsItsModelAndNothingElse)
{
    Grid a(teachingGrid()), b(teachingGrid());
    EXPECT_EQ(a.draw().asText(), b.draw().asText());
    EXPECT_EQ(a.draw().asText(), a.draw().asText());
    b.selection.hoveredRank = 3;
    EXPECT_NE(a.draw().asText(), b.draw().asText());
    b.selection.hoveredRank.reset();
    EXPECT_EQ(a.draw().asText(), b.draw().asText()) << "nothing of a hover stays";
    b.view.setTheme(darkTheme());
    EXPECT_NE(a.draw().asText(), b.draw().asText());
}

TEST(GridView, TooMuchMemoryIsSaid)
{
    sim::Scenario s = test::llama405b();
    s.cluster.gpu.memoryGib = 1;
    Grid grid(s);
    const RecorderCanvas canvas = grid.draw();
    EXPECT_THAT(canvas.texts(), testing::Contains("does not fit"));
    EXPECT_FALSE(canvas.rectsOf(lightTheme().error).empty());
}

TEST(GridView, TextsStayWholeWhateverTheSize)
{
    Grid grid(teachingGrid());
    grid.selection.selectRank(7);
    for (int width = 40; width <= 1400; width += 97)
        for (int height = 30; height <= 800; height += 83)
            expectCleanText(grid.draw({0, 0, static_cast<float>(width), static_cast<float>(height)}));
}

TEST(GridView, FewerRanksForgetASelectionThatIsGone)
{
    Grid grid(teachingGrid());
    grid.selection.selectRank(15);
    grid.view.setStep({sim::simulate(test::smallScenario(2, 1, 1)), nullptr});
    EXPECT_FALSE(grid.selection.selectedRank);
    EXPECT_EQ(grid.draw().nodesOf("cell").size(), 2U);
}

/// 1024 × 640 before an audience, beside a timeline.
TEST(GridView, TellsAnAudienceWhatItsColoursMeanHoweverSmallItIs)
{
    Grid grid(teachingGrid());
    grid.view.setForAudience(true);
    constexpr Rect kSmall{0, 0, 220, 160};
    grid.view.setLens(GridLens::memory);
    const RecorderCanvas memory = grid.draw(kSmall);
    EXPECT_THAT(memory.texts(), testing::Contains("80.0 GiB"));
    EXPECT_FALSE(memory.rectsOf(lightTheme().heatAt(0.5 / 48)).empty()) << "its scale from the lowest";
    EXPECT_TRUE(memory.cutTexts().empty());
    grid.view.setLens(GridLens::now);
    EXPECT_THAT(grid.draw(kSmall).texts(), testing::IsSupersetOf({"Now", "F", "B"}));
}

/// 1280 × 720 at text of 200 %.
TEST(GridView, TellsWhatItsColoursMeanWhereTextIsLarge)
{
    Grid grid(teachingGrid());
    grid.view.setAnimated(false);
    constexpr Rect kLargeText{0, 0, 343, 143};
    for (int lens = 0; lens < kGridLensCount; ++lens) {
        SCOPED_TRACE(gridLensName(static_cast<GridLens>(lens)));
        grid.view.setLens(static_cast<GridLens>(lens));
        expectCleanText(grid.draw(kLargeText));
    }
    grid.view.setLens(GridLens::memory);
    const RecorderCanvas memory = grid.draw(kLargeText);
    EXPECT_THAT(memory.texts(), testing::Contains("80.0 GiB"));
    EXPECT_FALSE(memory.rectsOf(lightTheme().heatAt(0.5 / 48)).empty()) << "its scale from the lowest";
}

TEST(GridView, ReturnsToTheLensItHadBeforeTheMomentWasShown)
{
    Grid grid(teachingGrid());
    grid.view.setLens(GridLens::groups);
    EXPECT_TRUE(grid.view.showNow());
    EXPECT_EQ(grid.view.lens(), GridLens::now);
    const int now = grid.view.mode();
    EXPECT_TRUE(grid.view.leaveNow());
    EXPECT_EQ(grid.view.lens(), GridLens::groups);
    EXPECT_NE(grid.view.mode(), now);
    grid.view.showNow();
    grid.view.setLens(GridLens::memory);
    EXPECT_FALSE(grid.view.leaveNow()) << "chosen since";
    grid.view.setLens(GridLens::now);
    EXPECT_FALSE(grid.view.leaveNow()) << "chosen itself";
    EXPECT_EQ(grid.view.lens(), GridLens::now);
}

TEST(GridView, OfAGridThatNobodyKnowsRanksStandInTheirOrderWithoutAxes)
{
    Grid grid(test::smallScenario(1, 1, 8, 8)); // dp 8, as what stands in for such a run has it
    ASSERT_THAT(grid.draw().texts(), testing::Contains(testing::HasSubstr("dp")));
    const Point third = grid.centreOf(3);
    grid.view.setKnown({.whyUnknown = "how they lie is not known", .areNodesKnown = false});
    EXPECT_THAT(grid.draw().texts(), testing::Contains("Point at a rank to see what was measured of it; click to keep it."));
    grid.move(third);
    const int pointed = grid.selection.hoveredRank.value_or(-1);
    ASSERT_GE(pointed, 0);
    const RecorderCanvas canvas = grid.draw();
    EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains(testing::HasSubstr("dp"))));
    EXPECT_THAT(canvas.texts(), testing::Contains("how they lie is not known"));
    EXPECT_THAT(canvas.texts(), testing::Contains(testing::HasSubstr("8 ranks  ·  grid not known")));
    EXPECT_EQ(canvas.nodesOf("cell").size(), 8U);
    EXPECT_TRUE(canvas.nodesOf("chip").empty()) << "there is no axis to be moved";
    EXPECT_THAT(grid.view.tooltip(), testing::HasSubstr("\ngrid not known"));
    EXPECT_FALSE(grid.command(ViewCommand::selectDpGroup));
    // Nodes and their GPUs are as little known, unless their hosts were recorded.
    EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains(testing::HasSubstr("GPU"))));
    EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains("Physical")));
    EXPECT_THAT(grid.view.tooltip(), testing::Not(testing::HasSubstr("node")));
    EXPECT_FALSE(grid.command(ViewCommand::switchArrangement));
    grid.view.setKnown({.whyUnknown = "how they lie is not known"});
    EXPECT_THAT(grid.draw().texts(), testing::Contains("Physical"));
    EXPECT_THAT(grid.view.tooltip(), testing::HasSubstr("\nnode 0, GPU "));
    grid.view.setKnown({});
    EXPECT_THAT(grid.draw().texts(), testing::Contains(testing::HasSubstr("dp")));
}

/// Of a run whose tp is known and nothing of its other axis, which what stands in for it has as dp.
TEST(GridView, AnAxisThatNobodyCanNameIsNoDataParallelismAnywhere)
{
    Grid grid(test::smallScenario(2, 1, 8, 8));
    const std::string why = "what the 8 ranks that lie 2 apart have to do with another is not known";
    const auto wordsOf = [&](int rank) { // all that is drawn, spoken and shown beside the pointer
        grid.move(grid.centreOf(rank));
        const RecorderCanvas canvas = grid.draw();
        std::vector<std::string> words = canvas.texts();
        for (const char* role : {"cell", "chip", "choice", "button"})
            for (const Node& node : canvas.nodesOf(role))
                words.push_back(node.name);
        words.push_back(grid.view.tooltip());
        for (const Node& node : canvas.nodesOf("chip")) {
            grid.move(grid.middleOf(node));
            words.push_back(grid.view.tooltip());
        }
        return words;
    };
    const auto saysData = testing::Contains(testing::ContainsRegex("(^|[^a-z])dp( |$)"));
    ASSERT_THAT(wordsOf(5), saysData);
    grid.view.setKnown({.dataWord = "unnamed", .whyUnnamed = why});
    for (const bool physical : {false, true}) {
        SCOPED_TRACE(physical);
        const std::vector<std::string> words = wordsOf(5);
        EXPECT_THAT(words, testing::Not(saysData));
        EXPECT_THAT(words, testing::Contains(testing::HasSubstr("unnamed 2 · tp 1")));
        EXPECT_THAT(words, testing::Contains(testing::HasSubstr("tp 2 × unnamed 8 = 16 ranks")));
        if (!physical) {
            EXPECT_THAT(words, testing::Contains("unnamed 2")) << "of a ruler";
            EXPECT_THAT(words, testing::Contains(testing::HasSubstr("axis unnamed 8, ")));
            EXPECT_THAT(words, testing::Contains(testing::HasSubstr("\n" + why))) << "of its chip";
        }
        grid.command(ViewCommand::switchArrangement);
    }
    const std::vector<LitGroup> groups = litGroups(grid.simulation->mesh(), 5, {.dataWord = "unnamed"});
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].name, "tp");
    EXPECT_EQ(groups[1].name, "unnamed");
    EXPECT_FALSE(grid.command(ViewCommand::selectDpGroup)) << "nobody knows of one";
    EXPECT_TRUE(grid.command(ViewCommand::selectTpGroup));
}

TEST(GridView, OfARecordedRunWithoutHostsNamesAxesAndNoNodes)
{
    Grid grid(teachingGrid());
    ASSERT_THAT(grid.draw().texts(), testing::Contains("node 0"));
    EXPECT_TRUE(grid.command(ViewCommand::switchArrangement)); // which lasts from run to run
    grid.view.setKnown({.areNodesKnown = false});
    grid.move(grid.centreOf(3));
    const RecorderCanvas canvas = grid.draw();
    EXPECT_EQ(canvas.nodesOf("cell").size(), 16U);
    for (const char* label : {"tp 0", "cp 1", "pp 0", "dp 1"})
        EXPECT_THAT(canvas.texts(), testing::Contains(label));
    EXPECT_FALSE(canvas.nodesOf("chip").empty());
    EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains(testing::HasSubstr("node"))));
    EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains("Physical")));
    EXPECT_THAT(grid.view.tooltip(), testing::Not(testing::HasSubstr("node")));
    EXPECT_FALSE(grid.command(ViewCommand::switchArrangement));
}

} // namespace
} // namespace app
