// Lenses, arrangements, groups of ranks, time: the rank grid as it is worked with.
#include "tests/app/views/grid/grid_fixture.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace app {
namespace {

void press(Grid& grid, Point at, bool shift = false, bool control = false)
{
    PointerEvent event{
        .kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left, .shift = shift, .control = control};
    grid.view.pointer(event, kGridArea);
    event.kind = PointerEvent::Kind::release;
    grid.view.pointer(event, kGridArea);
}

void drag(Grid& grid, Point from, Point to)
{
    grid.view.pointer({.kind = PointerEvent::Kind::press, .at = from, .button = PointerButton::left}, kGridArea);
    grid.view.pointer({.kind = PointerEvent::Kind::move, .at = to, .button = PointerButton::left}, kGridArea);
    grid.draw();
    grid.view.pointer({.kind = PointerEvent::Kind::release, .at = to, .button = PointerButton::left}, kGridArea);
}

AxisPlace placeOf(const Grid& grid, const std::string& axis)
{
    for (const AxisSeat& seat : grid.view.arrangement().seats)
        if (seat.axis == axis)
            return seat.place;
    ADD_FAILURE() << axis << " has no seat";
    return AxisPlace::boxes;
}

TEST(GridChips, ALensIsChosenByClickAndByKeyAndTheCellsSayIt)
{
    Grid grid(teachingGrid());
    press(grid, grid.middleOf(grid.node("choice", "lens Busy")));
    EXPECT_EQ(grid.view.lens(), GridLens::busy);
    EXPECT_TRUE(grid.node("choice", "lens Busy").selected);
    EXPECT_THAT(grid.node("cell", "rank 13,").name, testing::HasSubstr("busy "));
    const std::map<ViewCommand, std::string> says{{ViewCommand::lensMemory, "iB at peak"},
                                                  {ViewCommand::lensSent, " sent"},
                                                  {ViewCommand::lensBubble, "bubble "},
                                                  {ViewCommand::lensStraggler, "peers"},
                                                  {ViewCommand::lensNow, "waits"}};
    for (const auto& [command, words] : says) {
        EXPECT_TRUE(grid.command(command));
        EXPECT_THAT(grid.node("cell", "rank 15,").name, testing::HasSubstr(words));
        EXPECT_FALSE(grid.command(command)) << "it is chosen already";
    }
}

TEST(GridChips, AnAxisGoesFromPlaceToPlace)
{
    Grid grid(teachingGrid());
    grid.view.setAnimated(false);
    EXPECT_TRUE(grid.node("button", "automatic").selected);
    EXPECT_THAT(grid.node("chip", "axis tp 2").name, testing::HasSubstr("columns"));
    for (const AxisPlace next : {AxisPlace::rows, AxisPlace::boxes, AxisPlace::columns}) {
        press(grid, grid.middleOf(grid.node("chip", "axis tp 2")));
        EXPECT_EQ(placeOf(grid, "tp"), next);
        EXPECT_FALSE(grid.node("button", "automatic").selected);
        expectCleanText(grid.draw());
    }
    press(grid, grid.middleOf(grid.node("button", "automatic")));
    EXPECT_TRUE(grid.view.arrangement().seats.empty());
}

TEST(GridChips, AnAxisIsDraggedToItsPlace)
{
    Grid grid(teachingGrid());
    grid.view.setAnimated(false);
    const Node dp = grid.node("chip", "axis dp 2"), tp = grid.node("chip", "axis tp 2");
    EXPECT_THAT(tp.name, testing::HasSubstr("columns, 1 from inside"));
    drag(grid, grid.middleOf(dp), {tp.rect.left - 2, grid.middleOf(tp).y});
    EXPECT_EQ(placeOf(grid, "dp"), AxisPlace::columns);
    EXPECT_THAT(grid.node("chip", "axis dp 2").name, testing::HasSubstr("columns, 1 from inside"));
    EXPECT_THAT(grid.node("chip", "axis tp 2").name, testing::HasSubstr("columns, 2 from inside"));
    const AxisSeats before = grid.view.arrangement().seats;
    drag(grid, grid.middleOf(grid.node("chip", "axis tp 2")), {kGridArea.left + 20, kGridArea.bottom - 20});
    EXPECT_EQ(grid.view.arrangement().seats, before) << "dropped beside everything";
    press(grid, grid.middleOf(grid.node("chip", "axis dp 2")), true);
    EXPECT_THAT(grid.node("chip", "axis dp 2").name, testing::HasSubstr("columns, 2 from inside"));
    EXPECT_EQ(grid.draw().nodesOf("cell").size(), 16U);
}

TEST(GridChips, PhysicalShowsNodesAndRails)
{
    Grid grid(teachingGrid());
    grid.view.setAnimated(false);
    press(grid, grid.middleOf(grid.node("choice", "arranged as the hardware")));
    EXPECT_TRUE(grid.view.arrangement().physical);
    const RecorderCanvas canvas = grid.draw();
    EXPECT_EQ(canvas.nodesOf("cell").size(), 16U);
    EXPECT_TRUE(canvas.nodesOf("chip").empty());
    std::set<std::string> coordinates;
    for (const Node& node : canvas.nodesOf("coordinate"))
        coordinates.insert(node.name);
    EXPECT_THAT(coordinates, testing::IsSupersetOf({"rail 0", "rail 7"}));
    EXPECT_TRUE(grid.command(ViewCommand::switchArrangement));
    EXPECT_FALSE(grid.view.arrangement().physical);
}

TEST(GridChips, LeaveRoomAndCutNothing)
{
    Grid grid(teachingGrid());
    grid.view.setAnimated(false);
    for (const bool physical : {false, true}) {
        grid.view.setArrangement({.physical = physical});
        for (int lens = 0; lens < kGridLensCount; ++lens) {
            grid.view.setLens(static_cast<GridLens>(lens));
            for (const Rect area : {Rect{0, 0, 300, 200}, Rect{0, 0, 420, 260}, Rect{0, 0, 640, 300}, Rect{0, 0, 1600, 900}}) {
                SCOPED_TRACE(gridLensName(static_cast<GridLens>(lens)) + std::string(" ") + std::to_string(area.right));
                expectCleanText(grid.draw(area));
            }
        }
    }
}

TEST(GridSelection, ControlAddsAndTakesAway)
{
    Grid grid(teachingGrid());
    press(grid, grid.centreOf(3));
    press(grid, grid.centreOf(9), false, true);
    press(grid, grid.centreOf(5), false, true);
    EXPECT_THAT(grid.selection.ranks, testing::ElementsAre(3, 5, 9));
    press(grid, grid.centreOf(3), false, true);
    EXPECT_THAT(grid.selection.ranks, testing::ElementsAre(5, 9));
    EXPECT_TRUE(grid.node("cell", "rank 9,").selected);
    EXPECT_FALSE(grid.node("cell", "rank 3,").selected);
    grid.view.pointer({.kind = PointerEvent::Kind::leave}, kGridArea);
    EXPECT_THAT(grid.draw().texts(), testing::Contains("2 ranks selected"));
    expectCleanText(grid.draw());
}

TEST(GridSelection, ABoxAndACoordinateAreAllTheirRanks)
{
    Grid grid(teachingGrid());
    press(grid, grid.middleOf(grid.node("box", "node 1")));
    EXPECT_EQ(grid.selection.ranks, (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15}));
    press(grid, grid.middleOf(grid.node("coordinate", "tp 1")));
    EXPECT_EQ(grid.selection.ranks, (std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15}));
    const Point at = grid.centreOf(6);
    grid.view.pointer({.kind = PointerEvent::Kind::doubleClick, .at = at, .button = PointerButton::left}, kGridArea);
    EXPECT_EQ(grid.selection.ranks, (std::vector<int>{6, 7})) << "the innermost box";
    EXPECT_EQ(grid.selection.selectedRank, 6);
}

TEST(GridSelection, KeysTakeTheGroupsOfTheRankInFocus)
{
    Grid grid(teachingGrid());
    EXPECT_FALSE(grid.command(ViewCommand::selectTpGroup)) << "of which rank?";
    grid.selection.selectRank(13);
    EXPECT_TRUE(grid.command(ViewCommand::selectCpGroup));
    EXPECT_EQ(grid.selection.ranks, (std::vector<int>{13, 15}));
    EXPECT_TRUE(grid.command(ViewCommand::selectPpGroup));
    EXPECT_EQ(grid.selection.ranks, (std::vector<int>{9, 13}));
    EXPECT_TRUE(grid.command(ViewCommand::selectDpGroup));
    EXPECT_EQ(grid.selection.ranks, (std::vector<int>{5, 13}));
    EXPECT_EQ(grid.selection.selectedRank, 13);
}

TEST(GridSelection, ArrowsWalkThePicture)
{
    Grid grid(teachingGrid());
    EXPECT_TRUE(grid.command(ViewCommand::stepRight));
    ASSERT_TRUE(grid.selection.selectedRank);
    for (const auto& [command, dx, dy] : {std::tuple{ViewCommand::stepRight, 1, 0}, std::tuple{ViewCommand::stepDown, 0, 1},
                                          std::tuple{ViewCommand::stepLeft, -1, 0}, std::tuple{ViewCommand::stepUp, 0, -1}}) {
        const Point before = grid.centreOf(*grid.selection.selectedRank);
        EXPECT_TRUE(grid.command(command));
        const Point after = grid.centreOf(*grid.selection.selectedRank);
        EXPECT_EQ(after.x > before.x, dx > 0);
        EXPECT_EQ(after.x < before.x, dx < 0);
        EXPECT_EQ(after.y > before.y, dy > 0);
        EXPECT_EQ(after.y < before.y, dy < 0);
    }
    for (int i = 0; i < 20; ++i)
        grid.command(ViewCommand::stepUp);
    EXPECT_FALSE(grid.command(ViewCommand::stepUp)) << "the edge";
}

TEST(GridMotion, CellsTravelAndArriveExactly)
{
    double seconds = 0;
    Grid moving(teachingGrid()), jumping(teachingGrid());
    moving.view.setClock([&] { return seconds; });
    jumping.view.setAnimated(false);
    const GridArrangement wanted{.seats = {{"dp", AxisPlace::columns}, {"tp", AxisPlace::rows}, {"pp", AxisPlace::boxes}}};
    moving.draw();
    jumping.draw();
    const Point before = moving.centreOf(13);
    EXPECT_FALSE(moving.view.animating());
    moving.view.setArrangement(wanted);
    jumping.view.setArrangement(wanted);
    EXPECT_TRUE(moving.view.animating());
    EXPECT_FALSE(jumping.view.animating());
    EXPECT_EQ(moving.centreOf(13), before) << "it begins where it was";
    const Point after = jumping.centreOf(13);
    seconds = 0.09;
    const Point halfway = moving.centreOf(13);
    EXPECT_NEAR(halfway.x, (before.x + after.x) / 2, 2);
    EXPECT_NEAR(halfway.y, (before.y + after.y) / 2, 2);
    seconds = 0.2;
    EXPECT_EQ(moving.draw().asText(), jumping.draw().asText());
    EXPECT_FALSE(moving.view.animating());
}

TEST(GridMotion, ANewScenarioDoesNotFlyIn)
{
    Grid grid(teachingGrid());
    grid.view.setClock([] { return 0.0; });
    grid.draw();
    grid.view.setArrangement({.physical = true});
    EXPECT_TRUE(grid.view.animating());
    grid.view.setStep({sim::simulate(test::smallScenario(2, 2, 1)), nullptr});
    EXPECT_FALSE(grid.view.animating());
    EXPECT_EQ(grid.draw().nodesOf("cell").size(), 4U);
}

TEST(GridNow, SmallCellsAreNotBuriedUnderTheWaysOfAllPipelines)
{
    Grid grid(test::smallScenario(1, 4, 2));
    grid.view.setLens(GridLens::now);
    const auto trace = std::make_shared<const sim::Trace>(grid.simulation->trace(sim::TraceDetail::actions));
    grid.view.setStep({grid.simulation, trace});
    const Message first = Instants(trace).messages().front();
    grid.selection.cursorNs = (first.sentNs + first.hereNs) / 2;
    EXPECT_EQ(grid.draw().nodesOf("message").size(), 2U);
    EXPECT_EQ(grid.draw({0, 0, 400, 110}).nodesOf("message").size(), 1U);
}

TEST(GridView, ALowPictureStillSaysWhatItsColoursMean)
{
    Grid grid(teachingGrid());
    for (const float height : {110.0F, 145.0F, 190.0F}) {
        const RecorderCanvas canvas = grid.draw({0, 0, 560, height});
        EXPECT_FALSE(canvas.nodesOf("choice").empty() && canvas.nodesOf("button").empty()) << height;
        expectCleanText(canvas);
    }
}

TEST(GridNow, MessagesTravelFromStageToStage)
{
    Grid grid(test::smallScenario(1, 4, 2));
    grid.view.setLens(GridLens::now);
    const auto trace = std::make_shared<const sim::Trace>(grid.simulation->trace(sim::TraceDetail::actions));
    grid.view.setStep({grid.simulation, trace});
    const Instants instants(trace);
    const Message& first = instants.messages().front();
    ASSERT_LT(first.sentNs, first.hereNs);
    grid.selection.cursorNs = (first.sentNs + first.hereNs) / 2;
    const auto messages = grid.draw().nodesOf("message");
    ASSERT_EQ(messages.size(), 2U) << "one in each pipeline";
    const sim::Mesh& mesh = grid.simulation->mesh();
    EXPECT_EQ(messages[0].name, "rank " + std::to_string(mesh.rank(0, 0, 0, 0)) + " to rank " +
                                    std::to_string(mesh.rank(0, 0, 0, 1)) + ", 50.0 % of the way");
    grid.selection.cursorNs = first.hereNs + 1;
    EXPECT_THAT(grid.draw().nodesOf("message").front().name, testing::HasSubstr("arrived"));
    grid.selection.classes = static_cast<ClassMask>(kAllClasses & ~maskOf(sim::OpClass::ppComm));
    EXPECT_TRUE(grid.draw().nodesOf("message").empty());
}

TEST(GridNow, CollectivesOfTheKernelTraceAreSeen)
{
    Grid grid(test::smallScenario(4, 1, 1));
    const auto trace = std::make_shared<const sim::Trace>(grid.simulation->trace(sim::TraceDetail::kernels));
    grid.view.setStep({grid.simulation, trace});
    grid.view.setLens(GridLens::now);
    std::size_t seen = 0;
    for (const sim::Track& track : trace->tracks)
        if (track.role == sim::TrackRole::communication && track.size() > 0) {
            grid.selection.cursorNs = track.startNs[0] + track.durationNs[0] / 2;
            seen += grid.draw().nodesOf("collective").size();
        }
    EXPECT_GT(seen, 0U);
}

TEST(GridWaiting, ArrowsPointAtWhomOneWaitsFor)
{
    Grid grid(test::smallScenario(1, 4, 1));
    grid.view.setLens(GridLens::bubble);
    const Instants instants(std::make_shared<const sim::Trace>(grid.simulation->trace(sim::TraceDetail::actions)));
    grid.selection.cursorNs = instants.messages().front().sentNs - 1; // the first forward is launched and runs
    std::vector<std::string> waits;
    for (const Node& node : grid.draw().nodesOf("wait"))
        waits.push_back(node.name);
    EXPECT_THAT(waits,
                testing::UnorderedElementsAre("rank 1 waits for rank 0", "rank 2 waits for rank 1", "rank 3 waits for rank 2"));
    grid.selection.selectRank(3);
    EXPECT_THAT(grid.draw().texts(), testing::Contains(testing::HasSubstr("waits for rank 2 → 1 → 0, which does F0")));
}

/// At first nobody works: the last of the chain waits for no other rank.
TEST(GridWaiting, AChainThatEndsAtAHostSaysSo)
{
    sim::Scenario scenario = test::smallScenario(1, 4, 1);
    scenario.training.stack.launchUs = 50;
    Grid grid(scenario);
    for (const GridLens lens : {GridLens::bubble, GridLens::now}) {
        grid.view.setLens(lens);
        grid.selection.cursorNs = 0;
        grid.selection.selectRank(3);
        EXPECT_THAT(grid.draw().texts(),
                    testing::Contains(testing::HasSubstr("waits for rank 2 → 1 → 0, which waits for its host to launch F0")));
        grid.selection.selectRank(0);
        EXPECT_THAT(grid.draw().texts(), testing::Contains(testing::HasSubstr("waits for its host to launch F0")));
    }
}

TEST(GridWaiting, AChainThatEndsAtAMessageSaysSoWhateverItsSenderDoes)
{
    Grid grid(test::smallScenario(1, 4, 1));
    grid.view.setLens(GridLens::bubble);
    const Instants instants(std::make_shared<const sim::Trace>(grid.simulation->trace(sim::TraceDetail::actions)));
    ASSERT_LT(instants.messages().front().sentNs, instants.messages().front().hereNs);
    grid.selection.cursorNs = instants.messages().front().sentNs;
    grid.selection.selectRank(3);
    EXPECT_THAT(grid.draw().texts(),
                testing::Contains(testing::HasSubstr("waits for rank 2 → 1 → 0, whose message is under way")));
}

/// Where tensor-parallel ranks stand between two of a pipeline, the arrow goes past their numbers.
TEST(GridWaiting, ArrowsStrikeThroughNoRankNumber)
{
    Grid grid(test::smallScenario(2, 2, 16));
    grid.view.setLens(GridLens::bubble);
    const RecorderCanvas canvas = grid.draw({0, 0, 560, 640});
    const auto waits = canvas.nodesOf("wait");
    ASSERT_FALSE(waits.empty());
    for (const Primitive& text : canvas.primitives())
        if (text.kind == Primitive::Kind::text && !text.text.empty() &&
            text.text.find_first_not_of("0123456789") == std::string::npos)
            for (const Primitive& line : canvas.primitives())
                if (line.kind == Primitive::Kind::line && line.thickness > 1 && line.points.size() == 2) {
                    const float y = line.points[0].y, left = std::min(line.points[0].x, line.points[1].x),
                                right = std::max(line.points[0].x, line.points[1].x);
                    EXPECT_FALSE(line.points[1].y == y && y > text.rect.top + 2 && y < text.rect.bottom - 2 &&
                                 left < text.rect.right && right > text.rect.left)
                        << text.text;
                }
}

TEST(GridManyRanks, HaveAllOfIt)
{
    Grid grid(test::llama405b());
    grid.view.setAnimated(false);
    grid.selection.cursorNs = 500'000'000;
    for (int lens = 0; lens < kGridLensCount; ++lens) {
        grid.view.setLens(static_cast<GridLens>(lens));
        EXPECT_EQ(grid.draw().nodesOf("cell").size(), 16384U) << gridLensName(static_cast<GridLens>(lens));
    }
    grid.selection.selectRank(12345);
    EXPECT_TRUE(grid.command(ViewCommand::selectDpGroup));
    EXPECT_EQ(grid.selection.ranks.size(), 128U);
    expectCleanText(grid.draw());
    grid.view.setArrangement({.physical = true});
    grid.draw();
    std::set<int> hit;
    for (const int rank : {0, 777, 16383}) {
        grid.move(grid.centreOf(rank));
        hit.insert(grid.selection.hoveredRank.value_or(-1));
    }
    EXPECT_EQ(hit, (std::set<int>{0, 777, 16383}));
    EXPECT_TRUE(grid.command(ViewCommand::stepDown));
}
TEST(GridSelection, StaysWhileTheGridWaitsForItsStep)
{
    Grid grid(teachingGrid());
    grid.selection.selectRanks({3, 5}, 3);
    grid.view.setStep({});
    grid.view.setStep({grid.simulation, nullptr});
    EXPECT_EQ(grid.selection.ranks, (std::vector{3, 5})) << "it is the other pictures' as well";
    EXPECT_EQ(grid.selection.selectedRank, 3);
}

} // namespace
} // namespace app
