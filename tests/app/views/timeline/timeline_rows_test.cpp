// The order of rows, by itself and as the view shows it.
#include "app/views/timeline/timeline_model.h"
#include "app/views/timeline/timeline_rows.h"
#include "sim/trace/time_use.h"
#include "tests/app/views/timeline/timeline_fixture.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

namespace app {
namespace {

using test::fourStages;
using test::Timeline;

/// Ranks 0, 1, …, each in the pipeline at rank / `ranksOfStage`.
std::vector<RowFacts> facts(int rows, int ranksOfStage)
{
    std::vector<RowFacts> out;
    for (int i = 0; i < rows; ++i) {
        RowFacts f{.rank = i, .busyShare = static_cast<double>(i * 7 % rows), .endNs = i * 5 % rows};
        f.groupOf.fill(-1);
        f.groupOf[static_cast<std::size_t>(RowGrouping::pipeline)] = i / ranksOfStage;
        f.groupOf[static_cast<std::size_t>(RowGrouping::blocks)] = i / 8;
        out.push_back(f);
    }
    return out;
}

std::vector<int> rowsOf(const RowArrangement& arrangement)
{
    std::vector<int> out;
    for (const RowLine& line : arrangement.lines)
        if (!line.isHeader())
            out.push_back(line.row);
    return out;
}

TEST(RowOrder, FewRowsStandByRank)
{
    const RowArrangement all = arrangeRows(facts(8, 2), {}, {});
    EXPECT_EQ(rowsOf(all), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(all.grouping, RowGrouping::none);
    EXPECT_EQ(all.rowsShown, 8);
    EXPECT_TRUE(arrangeRows({}, {}, {}).lines.empty());
}

TEST(RowOrder, ManyRowsAreGatheredByStageAndClosed)
{
    const RowArrangement all = arrangeRows(facts(64, 16), {}, {});
    EXPECT_EQ(all.grouping, RowGrouping::pipeline);
    ASSERT_EQ(all.lines.size(), 4U);
    EXPECT_EQ(all.groups[3].name, "pp 3");
    EXPECT_EQ(all.lineOfRow[50], 3) << "a row in a closed group lies under its header";
    const RowArrangement opened = arrangeRows(facts(64, 16), {.turnedOver = {"pp 1"}}, {});
    EXPECT_EQ(opened.lines.size(), 4U + 16U);
    EXPECT_EQ(opened.lines[static_cast<std::size_t>(opened.lineOfRow[20])].row, 20);
}

TEST(RowOrder, GroupsOfOneOrAllTellNothing)
{
    EXPECT_EQ(arrangeRows(facts(8, 1), {}, {}).groupings, std::vector{RowGrouping::none});
    EXPECT_EQ(arrangeRows(facts(8, 8), {}, {}).groupings, std::vector{RowGrouping::none});
    EXPECT_EQ(arrangeRows(facts(64, 64), {}, {}).grouping, RowGrouping::blocks);
    EXPECT_EQ(arrangeRows(facts(8, 2), {.grouping = RowGrouping::node}, {}).grouping, RowGrouping::none)
        << "a saved wish that this trace cannot meet";
}

TEST(RowOrder, SortsWithinGroups)
{
    const RowArrangement busy = arrangeRows(facts(8, 4), {.sort = RowSort::busy, .grouping = RowGrouping::pipeline}, {});
    for (const RowGroup& group : busy.groups)
        EXPECT_TRUE(std::is_sorted(group.rows.begin(), group.rows.end(), [](int a, int b) { return a * 7 % 8 > b * 7 % 8; }));
    EXPECT_EQ(busy.groups[0].name, "pp 0");
    const std::vector<int> byEnd = rowsOf(arrangeRows(facts(8, 4), {.sort = RowSort::end}, {}));
    EXPECT_TRUE(std::is_sorted(byEnd.begin(), byEnd.end(), [](int a, int b) { return a * 5 % 8 > b * 5 % 8; }));
}

TEST(RowOrder, PinnedRowsComeFirstWhateverTheFilterSays)
{
    const RowArrangement some = arrangeRows(facts(8, 2), {.filter = RowFilter::selected, .pinnedRanks = {6, 1, 99}}, {2, 3, 6});
    EXPECT_EQ(rowsOf(some), (std::vector<int>{6, 1, 2, 3}));
    EXPECT_EQ(some.pinned, 2);
    EXPECT_EQ(some.rowsShown, 4);
    EXPECT_EQ(some.lineOfRow[0], -1);
}

TEST(RowOrder, EveryRowThatIsWantedIsThereOnce)
{
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        const int rows = 1 + static_cast<int>(random() % 90), stage = 1 + static_cast<int>(random() % 20);
        RowWishes wishes{.filter = static_cast<RowFilter>(random() % 2),
                         .sort = static_cast<RowSort>(random() % 3),
                         .grouping = static_cast<RowGrouping>(random() % kRowGroupingCount)};
        for (unsigned i = 0; i < random() % 4; ++i)
            wishes.pinnedRanks.push_back(static_cast<int>(random() % 100));
        if (random() % 2 == 0)
            wishes.turnedOver = {"pp 0", "pp 2"};
        std::set<int> selected;
        for (unsigned i = 0; i < random() % 30; ++i)
            selected.insert(static_cast<int>(random() % static_cast<unsigned>(rows)));
        const RowArrangement out = arrangeRows(facts(rows, stage), wishes, {selected.begin(), selected.end()});
        std::set<int> wanted;
        for (int row = 0; row < rows; ++row)
            if (wishes.filter == RowFilter::all || selected.contains(row) ||
                std::count(wishes.pinnedRanks.begin(), wishes.pinnedRanks.end(), row) > 0)
                wanted.insert(row);
        EXPECT_EQ(out.rowsShown, static_cast<int>(wanted.size()));
        for (int row = 0; row < rows; ++row) {
            const int line = out.lineOfRow[static_cast<std::size_t>(row)];
            ASSERT_EQ(line >= 0, wanted.contains(row));
            if (line < 0)
                continue;
            const RowLine& at = out.lines[static_cast<std::size_t>(line)];
            if (at.isHeader()) {
                const RowGroup& group = out.groups[static_cast<std::size_t>(at.group)];
                EXPECT_FALSE(group.open);
                EXPECT_EQ(std::count(group.rows.begin(), group.rows.end(), row), 1);
            } else {
                EXPECT_EQ(at.row, row);
            }
        }
        const std::vector<int> shown = rowsOf(out);
        EXPECT_EQ(std::set<int>(shown.begin(), shown.end()).size(), shown.size());
    }
}

TEST(RowStack, PinnedRowsStayAndTheOthersScroll)
{
    const std::vector<RowNeed> needs(40, RowNeed{1, false});
    const RowStack stack = stackRows(needs, 200, kLowestRow, 3);
    EXPECT_EQ(stack.pinned, 3);
    EXPECT_LE(stack.rows[2].bottom, stack.pinnedHeight);
    EXPECT_GE(stack.rows[3].top, stack.pinnedHeight);
    EXPECT_EQ(stack.scrolled(2, 50), 0);
    EXPECT_EQ(stack.scrolled(3, 50), 50);
    EXPECT_EQ(stackRows(needs, 200, kLowestRow, 30).pinned, 0) << "they would leave no room for the others";
}

TEST(RowStack, LanesOfCommunicationAreThin)
{
    const RowStack stack = stackRows({{.lanes = 5, .thinLanes = 3}, {.lanes = 4, .thinLanes = 2}}, 400);
    const RowPlace& row = stack.rows[0];
    EXPECT_LT(row.heightOf(2), row.heightOf(1));
    for (int lane = 0; lane < 5; ++lane) {
        EXPECT_EQ(row.laneTop(lane + 1), row.laneTop(lane) + row.heightOf(lane));
        EXPECT_EQ(row.laneAt(row.laneTop(lane) + 1, 5), lane);
    }
    EXPECT_EQ(row.laneAt(row.laneTop(5) + 1, 5), -1);
    EXPECT_LE(stack.height, 400);
}

sim::Scenario sixtyFour()
{
    sim::Scenario s = test::smallScenario(2, 4, 8, 4);
    s.cluster = test::h100Cluster(64);
    return s;
}

TEST(TimelineRows, AreAllOnThePageBeforeAnAudienceWhichCannotScroll)
{
    for (const int stages : {4, 8, 16, 24})
        for (const sim::TraceDetail detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
            Timeline timeline(test::smallScenario(2, stages, 2, stages), detail);
            timeline.view.setForAudience(true);
            for (const Rect area : {Rect{0, 0, 440, 400}, Rect{0, 0, 440, 300}, Rect{0, 0, 900, 420}}) {
                timeline.area = area;
                const std::vector<Node> rows = timeline.draw().nodesOf("row");
                EXPECT_EQ(rows.size(), static_cast<std::size_t>(stages)) << area.height();
                for (const Node& row : rows)
                    EXPECT_LE(row.rect.bottom, area.bottom - 6) << stages << " in " << area.height();
                timeline.view.pointer({.kind = PointerEvent::Kind::wheel, .at = {300, 200}, .wheelY = -9}, area);
                EXPECT_EQ(timeline.view.scrolledBy(), 0) << stages << " in " << area.height();
                const std::vector<Node> again = timeline.draw().nodesOf("row");
                ASSERT_EQ(again.size(), rows.size());
                EXPECT_EQ(again.back().rect, rows.back().rect) << "a pointer moves no row";
            }
        }
}

TEST(TimelineRows, OfALowPaneAreReachedByScrolling)
{
    Timeline timeline(test::smallScenario(2, 8, 2, 8));
    for (float height = 52; height < 130; height += 4) {
        timeline.area = {0, 0, 500, height};
        std::set<std::uint64_t> seen;
        timeline.view.setScrolledBy(0);
        for (float by = -1; by != timeline.view.scrolledBy();) {
            by = timeline.view.scrolledBy();
            const RecorderCanvas canvas = timeline.draw();
            for (const Node& row : canvas.nodesOf("row"))
                if (row.rect.top >= timeline.rows().top - 1 && row.rect.bottom <= height)
                    seen.insert(row.id);
            timeline.view.pointer({.kind = PointerEvent::Kind::wheel, .at = {300, height - 8}, .wheelY = -0.2F}, timeline.area);
        }
        EXPECT_EQ(seen.size(), 8U) << height;
    }
}

TEST(TimelineRows, OfARankThatIsSelectedElsewhereComesIntoSightOnce)
{
    Timeline timeline(test::smallScenario(2, 8, 2, 8));
    timeline.area = {0, 0, 500, 120};
    const int last = timeline.simulation->mesh().worldSize() - 1; // of the last stage
    timeline.draw();
    ASSERT_EQ(timeline.view.scrolledBy(), 0);
    timeline.selection.selectRank(last);
    timeline.draw();
    const float there = timeline.view.scrolledBy();
    EXPECT_GT(there, 0);
    timeline.view.setScrolledBy(0);
    timeline.draw();
    EXPECT_EQ(timeline.view.scrolledBy(), 0) << "it can be scrolled away";
    timeline.selection.selectRank(0);
    timeline.draw();
    EXPECT_EQ(timeline.view.scrolledBy(), 0) << "what is in sight stays where it is";
    timeline.selection.selectRank(last);
    timeline.draw();
    EXPECT_EQ(timeline.view.scrolledBy(), there);
}

TEST(TimelineRows, AreNamedWhereTheEdgeCutsThem)
{
    Timeline timeline(test::smallScenario(2, 8, 2, 8));
    int cut = 0;
    for (float height = 100; height < 260; height += 1) {
        timeline.area = {0, 0, 500, height};
        RecorderCanvas canvas = timeline.draw();
        const Rect rows = timeline.rows();
        for (const Node& row : canvas.nodesOf("row")) {
            const bool isHigh = row.rect.height() >= canvas.textHeight(FontFace::body);
            const float text = canvas.textHeight(isHigh ? FontFace::body : FontFace::small);
            const float seen = std::min(row.rect.bottom, rows.bottom) - row.rect.top;
            if (text > row.rect.height() + 3 || seen < text - 4 || row.rect.top < rows.top)
                continue;
            cut += seen < row.rect.height() ? 1 : 0;
            EXPECT_TRUE(std::ranges::any_of(canvas.primitives(),
                                            [&](const Primitive& each) {
                                                const float middle = (each.rect.top + each.rect.bottom) / 2;
                                                return each.kind == Primitive::Kind::text && each.rect.left < rows.left &&
                                                       middle > row.rect.top && middle < row.rect.top + seen;
                                            }))
                << row.name << " in " << height;
        }
    }
    EXPECT_GT(cut, 0);
}

TEST(TimelineRows, OfSeveralRanksAreNeverCalledByOneOfThemAlone)
{
    for (const auto& [tp, pp, dp] : {std::tuple(1, 1, 4), {2, 1, 1}, {4, 1, 256}, {1, 2, 4}}) {
        Timeline timeline(test::smallScenario(tp, pp, dp, 4 * dp));
        const TimelineModel model({timeline.simulation, timeline.trace});
        for (std::size_t row = 0; row < model.rows().size(); ++row)
            for (const std::string& name : model.rows()[row].names)
                EXPECT_TRUE(timeline.trace->processes[row].multiplicity == 1 || name.starts_with("pp ") ||
                            name.ends_with(" ranks") || name == "all" || name == "both" || name.ends_with("like it") ||
                            name.find("like it · pp ") != std::string::npos || name.find(" +") != std::string::npos)
                    << name;
        for (float width = 120; width < 900; width += 20) {
            timeline.area = {0, 0, width, 420};
            const RecorderCanvas canvas = timeline.draw();
            for (const std::string& text : canvas.texts())
                EXPECT_FALSE(text.starts_with("rank ") && text.find(' ', 5) == std::string::npos) << text << " at " << width;
        }
    }
}

TEST(TimelineRows, BesideEachOtherAreCalledAlike)
{
    Timeline timeline(test::smallScenario(2, 12, 1, 12)); // "pp 9 · 2 ranks" has room where "pp 10 · 2 ranks" has none
    bool isShort = false, isLong = false;
    for (float width = 120; width < 900; width += 4) {
        timeline.area = {0, 0, width, 420};
        int whole = 0, cut = 0;
        for (const std::string& text : timeline.draw().texts())
            if (text.starts_with("pp ") && text.find("comm") == std::string::npos)
                ++(text.ends_with(" ranks") ? whole : cut);
        EXPECT_TRUE(whole == 0 || cut == 0) << width << ": " << whole << " and " << cut;
        isShort |= cut > 0;
        isLong |= whole > 0;
    }
    EXPECT_TRUE(isShort && isLong);
}

TEST(TimelineRows, GroupsOpenAndCloseByAClick)
{
    Selection selection;
    TimelineView view(selection, lightTheme());
    const auto simulation = sim::simulate(sixtyFour(), {.full = true});
    view.setStep({simulation, std::make_shared<sim::Trace>(simulation->trace(sim::TraceDetail::actions))});
    const auto draw = [&] {
        RecorderCanvas canvas(test::kArea);
        view.draw(canvas);
        EXPECT_TRUE(canvas.clipsAreBalanced());
        return canvas;
    };
    const auto groups = draw().nodesOf("group");
    ASSERT_EQ(groups.size(), 4U);
    EXPECT_THAT(groups[2].name, testing::StartsWith("pp 2, 16 rows, closed"));
    EXPECT_TRUE(draw().nodesOf("row").empty());
    const Point at{groups[2].rect.left + 20, groups[2].rect.top + 6};
    view.pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, test::kArea);
    view.pointer({.kind = PointerEvent::Kind::release, .at = at, .button = PointerButton::left}, test::kArea);
    EXPECT_GE(draw().nodesOf("row").size(), 10U);
    EXPECT_THAT(draw().nodesOf("group")[2].name, testing::EndsWith("open"));
    // Nothing, stage, node, replica …, and round again.
    std::set<std::string> seen;
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(view.command(ViewCommand::groupRows, false, test::kArea));
        const auto drawn = draw().nodesOf("group");
        seen.insert(drawn.empty() ? "" : drawn.front().name.substr(0, drawn.front().name.find(' ')));
    }
    EXPECT_TRUE(seen.contains("") && seen.contains("pp") && seen.contains("node") && seen.contains("dp"));
}

TEST(TimelineRows, FoldedOnesAreNamedAndSayWhyTheOneWaitsThatWaitsLongest)
{
    sim::Scenario deep = ::test::smallScenario(1, 40, 2, 2);
    deep.model.numHiddenLayers = 40;
    deep.schedule.layersPerStage.clear();
    ::test::resolve(deep);
    Timeline timeline(deep);
    const auto groups = timeline.draw().nodesOf("group");
    ASSERT_FALSE(groups.empty());
    EXPECT_THAT(groups.back().name, testing::StartsWith("pp 32–39, 8 rows"));
    const Rect& last = groups.back().rect;
    timeline.move({timeline.rows().left + 4, (last.top + last.bottom) / 2});
    const std::string told = timeline.view.tooltip();
    EXPECT_THAT(told, testing::StartsWith("pp 32–39, 8 rows\n"));
    EXPECT_THAT(told, testing::HasSubstr("longest, of pp 39 · 2 ranks: ")) << "the last stage waits longest for the first F0";
    EXPECT_THAT(told, testing::HasSubstr("\nwaits for F0 of pp 38, ")) << told;
}

TEST(TimelineRows, AChipFiltersByTheSelectedRanks)
{
    Timeline timeline(fourStages());
    timeline.selection.selectRanks({1, 3}, 1);
    const auto chip = [&] {
        const RecorderCanvas canvas = timeline.draw();
        for (const Node& node : canvas.nodesOf("button"))
            if (node.name.find("2 of 4") != std::string::npos || node.name.find("only 2") != std::string::npos)
                return node;
        ADD_FAILURE() << "no chip";
        return Node{};
    };
    const Rect rect = chip().rect;
    timeline.click({rect.left + 4, rect.top + 4});
    EXPECT_EQ(timeline.view.rows().filter, RowFilter::selected);
    EXPECT_EQ(timeline.draw().nodesOf("row").size(), 2U);
    EXPECT_THAT(chip().name, testing::HasSubstr("2 of 4"));
    EXPECT_EQ(timeline.selection.ranks.size(), 2U) << "a chip is no row";
    timeline.view.setRowFilter(RowFilter::all);
    EXPECT_EQ(timeline.draw().nodesOf("row").size(), 4U);
    timeline.view.setRowFilter(RowFilter::selected);
    timeline.selection.selectRank(2);
    EXPECT_EQ(timeline.draw().nodesOf("row").size(), 4U) << "one rank is looked at among the others";
}

TEST(TimelineRows, PinnedRowsStandFirstAndAreLetGoAgain)
{
    Timeline timeline(fourStages());
    timeline.selection.selectRank(2);
    EXPECT_TRUE(timeline.command(ViewCommand::pinRow));
    EXPECT_THAT(timeline.draw().nodesOf("row").front().name, testing::HasSubstr("rank 2"));
    const auto pinned = timeline.view.state().rows.pinnedRanks;
    EXPECT_EQ(pinned, std::vector<int>{2});
    const RecorderCanvas drawn = timeline.draw();
    for (const Node& button : drawn.nodesOf("button"))
        for (const Primitive& text : drawn.primitives())
            if (button.name == "unpin row" && text.kind == Primitive::Kind::text) {
                EXPECT_EQ(intersected(button.rect, text.rect), Rect{}) << "covers " << text.text;
            }
    // A span of another row is still where it is drawn.
    timeline.move(timeline.centreOfSpan(1, 3));
    EXPECT_EQ(timeline.selection.hoveredSpan, (SpanRef{1, 3}));
    timeline.view.setStep({timeline.simulation, timeline.trace});
    EXPECT_EQ(timeline.view.rows().pinnedRanks, pinned) << "a new trace changes nothing";
    for (const Node& node : timeline.draw().nodesOf("button"))
        if (node.name == "unpin row")
            timeline.click({(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2});
    EXPECT_THAT(timeline.draw().nodesOf("row").front().name, testing::HasSubstr("rank 0"));
}

TEST(TimelineRows, SortingByBusyTimeKeepsSpansWithTheirRows)
{
    Timeline timeline(fourStages());
    EXPECT_TRUE(timeline.command(ViewCommand::sortRows));
    const TimelineModel model({timeline.simulation, timeline.trace});
    double last = 2;
    for (const Node& node : timeline.draw().nodesOf("row")) {
        const auto row = static_cast<std::size_t>(node.id & 0xFFFF);
        EXPECT_LE(model.rows()[row].busyShare, last);
        last = model.rows()[row].busyShare;
    }
    for (std::uint32_t track = 0; track < 4; ++track) {
        timeline.move(timeline.centreOfSpan(track, 2));
        EXPECT_EQ(timeline.selection.hoveredSpan, (SpanRef{track, 2}));
        EXPECT_EQ(timeline.selection.hoveredRank, static_cast<int>(track));
    }
}

TEST(TimelineRows, OfManyRanksThatDifferAreMadeInTimeThatGrowsWithTheirNumber)
{
    const sim::Scenario scenario = ::test::smallScenario(8, 8, 1024, 1); // 65,536
    const std::shared_ptr<const sim::Simulation> simulation = sim::simulate(scenario, {.full = true});
    const auto trace = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions));
    const auto began = std::chrono::steady_clock::now();
    const TimelineModel model({simulation, trace});
    constexpr std::chrono::seconds kHang(30); // each row against each other: minutes
    EXPECT_LT(std::chrono::steady_clock::now() - began, kHang);
    ASSERT_EQ(model.rows().size(), 65'536U);
    EXPECT_EQ(model.rows()[100].names.front(), "rank 100 · pp 0");
}

/// Two streams of 10 ns in every 20, one 5 behind the other: 15 of every 20 ns are computed in, which one lane draws as one
/// piece.
TEST(TimelineRows, AreAsBusyAsOneLaneAsWithEveryStream)
{
    sim::Trace trace;
    trace.processes = {{.name = "rank 0"}};
    trace.kinds = {{.name = "kernel", .opClass = sim::OpClass::forward}};
    for (const std::int64_t behind : {0, 5}) {
        sim::Track track{.process = 0, .name = "stream", .role = sim::TrackRole::compute};
        for (std::int64_t i = 0; i < 3000; ++i) {
            track.startNs.push_back(20 * i + behind);
            track.durationNs.push_back(10);
            track.kind.push_back(0);
            track.microbatch.push_back(-1);
        }
        trace.tracks.push_back(std::move(track));
    }
    trace.endNs = 60'000;
    for (const sim::Trace& drawn : {trace, sim::timeUseTrace(trace)}) {
        const TimelineModel model({nullptr, std::make_shared<const sim::Trace>(drawn)});
        ASSERT_EQ(model.rows().size(), 1U);
        EXPECT_DOUBLE_EQ(model.rows()[0].busyShare, 0.75) << drawn.tracks.size();
    }
}

} // namespace
} // namespace app
