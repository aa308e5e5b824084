// What helps to find one's way in a timeline: op classes, statistics of a range, marks, search, the critical path, the way back.
#include "app/step/view_history.h"
#include "app/views/common/labels.h"
#include "app/views/timeline/timeline_marks.h"
#include "app/views/timeline/timeline_model.h"
#include "app/views/timeline/timeline_search.h"
#include "sim/analysis/critical_path.h"
#include "tests/app/views/timeline/timeline_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace app {
namespace {

using test::fourStages;
using test::kArea;
using test::Timeline;

Point middleOf(const Rect& rect)
{
    return {(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2};
}

Rect classChip(Timeline& timeline, const std::string& name)
{
    for (const Node& node : timeline.draw().nodesOf("class"))
        if (node.name.starts_with(name))
            return node.rect;
    ADD_FAILURE() << "no chip of " << name;
    return {};
}

void useChip(Timeline& timeline, const std::string& name, bool alt = false)
{
    const Point at = middleOf(classChip(timeline, name));
    for (const auto kind : {PointerEvent::Kind::press, PointerEvent::Kind::release})
        timeline.view.pointer({.kind = kind, .at = at, .button = PointerButton::left, .alt = alt}, timeline.area);
}

TEST(OpClassFilter, AClickLeavesAClassOutAndItIsDrawnPale)
{
    Timeline timeline(fourStages());
    const auto inForward = [&] {
        const Color fill = lightTheme().fill(sim::OpClass::forward);
        const auto rects = timeline.draw().rectsOf(fill);
        return std::count_if(rects.begin(), rects.end(), [&](const Primitive& p) { return p.rect.top > timeline.rows().top; });
    };
    const auto before = inForward();
    EXPECT_GT(before, 8);
    useChip(timeline, "forward");
    EXPECT_FALSE(timeline.selection.shows(sim::OpClass::forward));
    EXPECT_EQ(inForward(), 0);
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("F0")) << "pale, and still named";
    useChip(timeline, "forward");
    EXPECT_EQ(timeline.selection.classes, kAllClasses);
    EXPECT_EQ(inForward(), before);
}

TEST(OpClassFilter, AltAndDoubleClickLeaveOnlyOne)
{
    Timeline timeline(fourStages());
    useChip(timeline, "backward", true);
    EXPECT_EQ(timeline.selection.classes, maskOf(sim::OpClass::backward));
    useChip(timeline, "backward", true);
    EXPECT_EQ(timeline.selection.classes, kAllClasses) << "again: all";
    timeline.send(PointerEvent::Kind::doubleClick, middleOf(classChip(timeline, "optimizer")), PointerButton::left);
    EXPECT_EQ(timeline.selection.classes, maskOf(sim::OpClass::optimizer));
    useChip(timeline, "optimizer");
    EXPECT_EQ(timeline.selection.classes, kAllClasses) << "leaving the last one out would leave nothing";
}

TEST(OpClassFilter, ArrowsAndStepsPassOverWhatDoesNotCount)
{
    Timeline timeline(fourStages());
    timeline.selection.selectedSpan = SpanRef{0, 0}; // 0F0 feeds 1F0 and 0B0
    const auto arrows = [&] {
        const RecorderCanvas canvas = timeline.draw();
        return std::count_if(canvas.primitives().begin(), canvas.primitives().end(),
                             [](const Primitive& p) { return p.kind == Primitive::Kind::polyline; });
    };
    const auto all = arrows();
    timeline.selection.classes = maskOf(sim::OpClass::forward);
    EXPECT_LT(arrows(), all);
    EXPECT_GT(arrows(), 0);
    for (int i = 0; i < 7; ++i) {
        EXPECT_TRUE(timeline.command(ViewCommand::next));
        EXPECT_EQ(timeline.trace->kinds[timeline.trace->tracks[0].kind[timeline.selection.selectedSpan->span]].opClass,
                  sim::OpClass::forward);
    }
    EXPECT_FALSE(timeline.command(ViewCommand::next)) << "the eighth is the last";
}

TEST(RangeStatistics, OfTheWholeStepAreTheSimulations)
{
    for (const sim::TraceDetail detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
        Timeline timeline(fourStages(), detail);
        const TimelineModel model({timeline.simulation, timeline.trace});
        const RangeStatistics all = rangeStatistics(model, {0, timeline.trace->endNs});
        EXPECT_EQ(all.spans, static_cast<std::int64_t>(timeline.trace->spanCount()));
        EXPECT_NEAR(all.counted + all.other + all.exposed + all.idle, 1, 1e-12);
        EXPECT_NEAR(std::accumulate(all.share.begin(), all.share.end(), 0.0), all.counted + all.exposed, 1e-12);
        EXPECT_LE(all.leastBusy, all.counted);
        EXPECT_GE(all.mostBusy, all.counted);
        EXPECT_EQ(all.mfu.has_value(), detail == sim::TraceDetail::kernels);
        if (all.mfu) {
            EXPECT_NEAR(*all.mfu, timeline.simulation->metrics().mfu, 0.02 * timeline.simulation->metrics().mfu);
        }
    }
}

TEST(RangeStatistics, FlopsAndBytesOfUnevenlyRoutedTokensAreAMeanRanks)
{
    sim::Scenario scenario = fourStages();
    scenario.layout.dp = scenario.layout.ep = scenario.layout.dpShard = 4;
    scenario.training.globalBatchSize *= 4;
    scenario.cluster = test::h100Cluster(scenario.layout.worldSize());
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 2048;
    const auto ofAll = [&scenario](double imbalance) {
        scenario.training.moe.imbalance = imbalance;
        Timeline timeline(scenario, sim::TraceDetail::kernels);
        const TimelineModel model({timeline.simulation, timeline.trace});
        return std::pair(rangeStatistics(model, {0, timeline.trace->endNs}), timeline.simulation->metrics().mfu);
    };
    const auto [uneven, mfu] = ofAll(2);
    EXPECT_NEAR(uneven.mfu.value_or(0), mfu, 0.03 * mfu);
    constexpr auto kExperts = static_cast<std::size_t>(sim::OpClass::epComm);
    const double bytes = ofAll(1).first.bytesOfClass[kExperts];
    EXPECT_GT(bytes, 0);
    EXPECT_NEAR(uneven.bytesOfClass[kExperts], bytes, 0.01 * bytes);
}

TEST(RangeStatistics, OfPartsAddUp)
{
    Timeline timeline(fourStages(), sim::TraceDetail::kernels);
    const TimelineModel model({timeline.simulation, timeline.trace});
    const std::int64_t end = timeline.trace->endNs;
    const RangeStatistics all = rangeStatistics(model, {0, end});
    std::array<double, sim::kOpClassCount> ns{};
    double bytes = 0;
    constexpr int kParts = 7;
    for (int i = 0; i < kParts; ++i) {
        const TimeRange part{end * i / kParts, end * (i + 1) / kParts};
        const RangeStatistics some = rangeStatistics(model, part);
        for (std::size_t c = 0; c < ns.size(); ++c)
            ns[c] += some.share[c] * static_cast<double>(some.lengthNs());
        bytes += some.bytes();
    }
    for (std::size_t c = 0; c < ns.size(); ++c)
        EXPECT_NEAR(ns[c], all.share[c] * static_cast<double>(end), 1);
    EXPECT_GT(bytes, 0);
    EXPECT_NEAR(bytes, all.bytes(), all.bytes() * 1e-9);
}

TEST(RangeStatistics, CountWhatTheFilterLets)
{
    Timeline timeline(fourStages());
    const TimelineModel model({timeline.simulation, timeline.trace});
    const TimeRange all{0, timeline.trace->endNs};
    const RangeStatistics forward = rangeStatistics(model, all, maskOf(sim::OpClass::forward));
    EXPECT_EQ(forward.spans, 4 * 8);
    EXPECT_NEAR(forward.counted, forward.share[static_cast<std::size_t>(sim::OpClass::forward)], 1e-12);
    EXPECT_NEAR(forward.idle, rangeStatistics(model, all).idle, 1e-12) << "idle is idle";
    EXPECT_GT(forward.other, forward.counted);
}

TEST(RangeStatistics, OfARecordingThatShowsItsWaitsAddUpToOne)
{
    sim::Trace trace;
    trace.processes.emplace_back().name = "rank 0";
    for (const auto& [name, opClass] : std::vector<std::pair<const char*, sim::OpClass>>{
             {"gemm", sim::OpClass::forward}, {"wait for rank 1", sim::OpClass::other}, {"all-reduce", sim::OpClass::tpComm}}) {
        trace.kinds.emplace_back().name = name;
        trace.kinds.back().opClass = opClass;
    }
    sim::Track lane;
    lane.name = "time use";
    lane.role = sim::TrackRole::actions;
    lane.startNs = {0, 400, 600};
    lane.durationNs = {400, 200, 50};
    lane.kind = {0, 1, 2};
    lane.microbatch = {-1, -1, -1};
    trace.tracks.push_back(lane);
    trace.endNs = 1000;
    Timeline timeline(std::move(trace));
    const TimelineModel model({nullptr, timeline.trace});
    const RangeStatistics all = rangeStatistics(model, {0, 1000});
    ASSERT_TRUE(model.othersWait());
    EXPECT_NEAR(all.waiting, 0.2, 1e-12);
    EXPECT_NEAR(all.idle, 0.35, 1e-12) << "a wait is told as one: it is not idle besides";
    EXPECT_NEAR(std::accumulate(all.share.begin(), all.share.end(), 0.0) + all.idle, 1, 1e-12);
}

TEST(RangeStatistics, MakeATable)
{
    Timeline timeline(fourStages());
    EXPECT_TRUE(timeline.view.rangeTable().rows.empty());
    timeline.selection.range = TimeRange{0, timeline.trace->endNs / 2};
    const Table table = timeline.view.rangeTable();
    ASSERT_EQ(table.rows.size(), 5U);
    for (const auto& row : table.rows) {
        ASSERT_EQ(row.size(), table.header.size());
        double sum = 0;
        for (std::size_t i = 3; i < row.size(); ++i)
            sum += std::stod(row[i]);
        EXPECT_NEAR(sum, static_cast<double>(timeline.trace->endNs / 2) * 1e-6, 1e-5) << "classes and idle fill the range";
    }
    EXPECT_EQ(csvText(Table{.header = {"a", "b, c"}, .rows = {{"say \"x\"", "1"}}}), "a,\"b, c\"\r\n\"say \"\"x\"\"\",1\r\n");
}

TEST(Marks, HaveNumbersThatStay)
{
    TimelineMarks marks;
    EXPECT_EQ(marks.add({50, 50}, "late"), 1);
    EXPECT_EQ(marks.add({30, 10}), 2);
    EXPECT_EQ(marks.all().front().number, 2) << "in order of time";
    EXPECT_EQ(marks.all().front().range, (TimeRange{10, 30}));
    EXPECT_TRUE(marks.remove(1));
    EXPECT_FALSE(marks.remove(1));
    EXPECT_EQ(marks.add({5, 5}), 1) << "the lowest that is free";
    EXPECT_TRUE(marks.rename(2, "steady"));
    EXPECT_EQ(marks.find(2)->label, "steady");
    EXPECT_EQ(marks.at({5, 5}), 1);
    EXPECT_FALSE(marks.rename(9, ""));
    TimelineMarks copy;
    copy.set({{.number = 3, .range = {1, 1}}, {.number = 3, .range = {2, 2}}, {.number = 0, .range = {3, 3}}});
    EXPECT_EQ(copy.all().size(), 3U);
    EXPECT_EQ(copy.all()[0].number, 3);
    EXPECT_NE(copy.all()[1].number, 3);
}

TEST(Marks, AreMadeByKeyShownAndTakenAway)
{
    Timeline timeline(fourStages());
    timeline.area.right = 1600;
    const std::int64_t end = timeline.trace->endNs;
    timeline.selection.cursorNs = end / 4;
    EXPECT_TRUE(timeline.command(ViewCommand::mark));
    timeline.selection.range = TimeRange{end / 2, end * 3 / 4};
    EXPECT_TRUE(timeline.command(ViewCommand::keepRange));
    timeline.view.renameMark(2, "steady");
    timeline.selection.range.reset();
    const auto flags = timeline.draw().nodesOf("mark");
    ASSERT_EQ(flags.size(), 2U);
    EXPECT_THAT(flags[1].name, testing::HasSubstr("steady"));
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("1"));
    // The time between neighbours.
    const double apart = static_cast<double>(end / 2 - end / 4);
    const auto texts = timeline.draw().texts();
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return text == durationText(apart); }));
    for (const Primitive& text : timeline.draw().cutTexts())
        ADD_FAILURE() << "cut: " << text.text;
    // They outlive the trace; a click leads there; the same key takes them away.
    timeline.view.setStep({timeline.simulation, timeline.trace});
    EXPECT_EQ(timeline.view.marks().size(), 2U);
    timeline.selection.cursorNs = 0;
    timeline.click(middleOf(timeline.draw().nodesOf("mark")[0].rect));
    EXPECT_EQ(timeline.selection.cursorNs, end / 4);
    timeline.click(middleOf(timeline.draw().nodesOf("mark")[1].rect));
    EXPECT_EQ(timeline.selection.range, (TimeRange{end / 2, end * 3 / 4}));
    EXPECT_TRUE(timeline.command(ViewCommand::mark));
    EXPECT_EQ(timeline.view.marks().size(), 1U);
}

TEST(Marks, OfASpanCarryItsName)
{
    Timeline timeline(fourStages());
    EXPECT_FALSE(timeline.command(ViewCommand::mark)) << "nothing to mark";
    timeline.selection.selectedSpan = SpanRef{1, 2};
    EXPECT_TRUE(timeline.command(ViewCommand::keepRange));
    EXPECT_EQ(timeline.view.marks().front().label, "F2 of pp 1");
    EXPECT_TRUE(timeline.command(ViewCommand::rangeOfSpan));
    EXPECT_EQ(timeline.selection.range->beginNs, timeline.trace->tracks[1].startNs[2]);
}

TEST(TimelineState, ComesBackAsItWas)
{
    Timeline timeline(fourStages());
    const std::int64_t end = timeline.trace->endNs;
    EXPECT_FALSE(timeline.view.state().visible) << "all";
    timeline.view.setVisibleRange({end / 4, end / 2});
    timeline.view.addMark({end / 3, end / 3}, "here");
    timeline.view.setRows({.sort = RowSort::end, .pinnedRanks = {3}});
    timeline.view.setCriticalPathShown(true);
    const TimelineState state = timeline.view.state();
    Selection selection;
    TimelineView other(selection, lightTheme());
    other.setState(state);
    EXPECT_EQ(other.state(), state) << "also while there is no trace";
    other.setStep({timeline.simulation, timeline.trace});
    EXPECT_EQ(other.state(), state);
    EXPECT_EQ(other.visibleRange(), timeline.view.visibleRange());
}

TEST(ViewHistory, GoesBackOverWholeMoves)
{
    ViewHistory<int> history;
    EXPECT_FALSE(history.back(1));
    history.leave(1, false);
    for (int at = 2; at < 6; ++at)
        history.leave(at, true); // a drag from 2 to 6
    history.rest();
    EXPECT_EQ(history.back(6), 2);
    EXPECT_EQ(history.back(2), 1);
    EXPECT_FALSE(history.back(1));
    EXPECT_EQ(history.forward(1), 2);
    EXPECT_EQ(history.forward(2), 6);
    history.leave(6, false);
    EXPECT_FALSE(history.forward(7)) << "another way was taken";
}

TEST(Navigation, TheViewGoesBackAndForward)
{
    Timeline timeline(fourStages());
    const TimeRange all = timeline.view.visibleRange();
    timeline.drag({400, 200}, {600, 200}, PointerButton::middle);
    const TimeRange box = timeline.view.visibleRange();
    EXPECT_NEAR(static_cast<double>(box.endNs - box.beginNs),
                static_cast<double>(all.endNs) * 200 / static_cast<double>(timeline.rows().width()),
                static_cast<double>(all.endNs) * 0.002)
        << "the middle button zooms to what it is dragged over";
    timeline.drag({600, 200}, {500, 200}, PointerButton::right);
    EXPECT_GT(timeline.view.visibleRange().beginNs, box.beginNs) << "the right one pans";
    EXPECT_TRUE(timeline.command(ViewCommand::viewBack));
    EXPECT_EQ(timeline.view.visibleRange(), box);
    EXPECT_TRUE(timeline.command(ViewCommand::viewBack));
    EXPECT_EQ(timeline.view.visibleRange(), all);
    EXPECT_FALSE(timeline.command(ViewCommand::viewBack));
    EXPECT_TRUE(timeline.command(ViewCommand::viewForward));
    EXPECT_EQ(timeline.view.visibleRange(), box);
}

TEST(Navigation, AMiddleClickFramesTheSpan)
{
    Timeline timeline(fourStages());
    const Point at = timeline.centreOfSpan(1, 3);
    timeline.send(PointerEvent::Kind::press, at, PointerButton::middle);
    timeline.send(PointerEvent::Kind::release, at, PointerButton::middle);
    const TimeRange seen = timeline.view.visibleRange();
    const std::int64_t length = timeline.trace->tracks[1].durationNs[3];
    EXPECT_NEAR(static_cast<double>(seen.endNs - seen.beginNs), static_cast<double>(length) * 1.2, 3);
}

TEST(Navigation, BracketsFollowAMicroBatchThroughThePipeline)
{
    Timeline timeline(fourStages());
    timeline.selection.selectedSpan = SpanRef{0, 0};
    std::vector<std::uint32_t> ranks{0};
    while (timeline.command(ViewCommand::followForward))
        ranks.push_back(timeline.selection.selectedSpan->track);
    EXPECT_EQ(ranks, (std::vector<std::uint32_t>{0, 1, 2, 3, 3, 2, 1, 0})) << "there, and back";
    while (timeline.command(ViewCommand::followBack)) {
    }
    EXPECT_EQ(timeline.selection.selectedSpan, (SpanRef{0, 0}));
}

TEST(Navigation, WaitsAreWalkedThroughByKeyAndStayUntilSomethingElseIsSelected)
{
    Timeline timeline(fourStages());
    timeline.draw();
    timeline.selection.selectRank(3);
    ASSERT_TRUE(timeline.command(ViewCommand::nextWait));
    ASSERT_TRUE(timeline.selection.idle);
    const IdleTime first = *timeline.selection.idle;
    EXPECT_EQ(first.rank, 3);
    EXPECT_EQ(first.time, (TimeRange{0, timeline.trace->tracks[3].startNs[0]})) << "for the first micro-batch";
    EXPECT_THAT(first.why, testing::HasSubstr("waits for F0 of pp 2"));
    int walked = 1;
    while (timeline.command(ViewCommand::nextWait)) {
        EXPECT_GT(timeline.selection.idle->time.beginNs, first.time.beginNs);
        ++walked;
    }
    EXPECT_GE(walked, 2) << "and at the end of the step";
    EXPECT_EQ(timeline.selection.idle->time.endNs, timeline.trace->endNs);
    while (timeline.command(ViewCommand::previousWait))
        --walked;
    EXPECT_EQ(walked, 1) << "the same ones back";
    EXPECT_EQ(timeline.selection.idle, first);
    timeline.command(ViewCommand::next);
    EXPECT_TRUE(timeline.selection.selectedSpan);
    EXPECT_FALSE(timeline.selection.idle) << "a span is told about now";
    ASSERT_TRUE(timeline.command(ViewCommand::nextWait)) << "from the span on";
    timeline.command(ViewCommand::clear);
    EXPECT_FALSE(timeline.selection.idle);
}

TEST(Navigation, TheLongestWaitIsThatOfAllRows)
{
    Timeline timeline(fourStages());
    timeline.draw();
    const auto lengthOf = [&] { return timeline.selection.idle->time.endNs - timeline.selection.idle->time.beginNs; };
    std::int64_t longest = 0;
    for (const int rank : {0, 1, 2, 3}) {
        timeline.command(ViewCommand::clear);
        timeline.selection.selectRank(rank);
        while (timeline.command(ViewCommand::nextWait))
            longest = std::max(longest, lengthOf());
    }
    timeline.command(ViewCommand::clear);
    ASSERT_TRUE(timeline.command(ViewCommand::longestWait));
    EXPECT_EQ(lengthOf(), longest);
    EXPECT_EQ(timeline.selection.selectedRank, timeline.selection.idle->rank);
    EXPECT_FALSE(timeline.selection.idle->why.empty());
}

namespace {

/// Left ends of the waits that are drawn with what they wait for.
std::vector<float> drawnWaits(Timeline& timeline)
{
    std::vector<float> out;
    const RecorderCanvas canvas = timeline.draw();
    for (const Primitive& each : canvas.primitives())
        if (each.kind == Primitive::Kind::strokeRect && each.color == lightTheme().selection && each.thickness == 1)
            out.push_back(each.rect.left);
    return out;
}

} // namespace

TEST(Navigation, TheChainOfAWaitLeavesTheNamesThatItTells)
{
    Timeline timeline(fourStages());
    timeline.area = {0, 0, 1100, 240};
    timeline.draw();
    timeline.selection.selectRank(0);
    int crossed = 0;
    while (timeline.command(ViewCommand::nextWait)) {
        const RecorderCanvas canvas = timeline.draw();
        for (const Primitive& chain : canvas.primitives()) {
            if (chain.kind != Primitive::Kind::polyline || chain.thickness != 2)
                continue;
            for (std::size_t i = 1; i < chain.points.size(); ++i) {
                const Point a = chain.points[i - 1], b = chain.points[i];
                if (a.y != b.y)
                    continue; // from row to row, where what was waited for ends
                for (const Primitive& name : canvas.primitives())
                    if (name.kind == Primitive::Kind::text && name.rect.left < b.x && name.rect.right > a.x) {
                        ++crossed;
                        EXPECT_FALSE(a.y > name.rect.top + 2 && a.y < name.rect.bottom - 2) << name.text;
                    }
            }
        }
    }
    EXPECT_GT(crossed, 20);
}

TEST(Navigation, AWaitThatIsWalkedToIsDrawnInsteadOfTheOneThatThePointerRestsOn)
{
    Timeline timeline(fourStages());
    const Point inTheBeginning{timeline.rows().left + 2, timeline.centreOfSpan(3, 0).y};
    timeline.move(inTheBeginning);
    ASSERT_EQ(drawnWaits(timeline), std::vector{timeline.rows().left});
    timeline.selection.selectRank(3);
    while (timeline.command(ViewCommand::nextWait)) {
    }
    ASSERT_TRUE(timeline.selection.idle);
    const TimeRange seen = timeline.view.visibleRange();
    const TimeAxis axis{static_cast<double>(seen.beginNs), static_cast<double>(seen.endNs), timeline.rows().left,
                        timeline.rows().right};
    ASSERT_EQ(drawnWaits(timeline).size(), 1U);
    EXPECT_NEAR(drawnWaits(timeline).front(), axis.x(static_cast<double>(timeline.selection.idle->time.beginNs)), 1);
    timeline.move({inTheBeginning.x + 1, inTheBeginning.y});
    EXPECT_EQ(drawnWaits(timeline), std::vector{timeline.rows().left}) << "it moves again: that is pointed at";
}

TEST(Navigation, AWaitThatKeysMoveAwayFromBelowThePointerIsNotDrawnAnyMore)
{
    Timeline timeline(fourStages());
    timeline.command(ViewCommand::zoomIn, true);
    timeline.view.setVisibleRange({0, timeline.trace->endNs / 2});
    timeline.move({timeline.rows().left + 2, timeline.centreOfSpan(3, 0).y});
    ASSERT_EQ(drawnWaits(timeline).size(), 1U);
    while (timeline.command(ViewCommand::panRight, true)) {
    }
    EXPECT_TRUE(drawnWaits(timeline).empty());
}

TEST(TimeCursor, StaysWhereItIsUntilNothingElseIsSelected)
{
    Timeline timeline(fourStages());
    timeline.draw();
    timeline.selection.cursorNs = timeline.trace->endNs / 2;
    timeline.click(timeline.centreOfSpan(1, 3));
    ASSERT_TRUE(timeline.selection.selectedSpan);
    EXPECT_TRUE(timeline.command(ViewCommand::clear));
    EXPECT_FALSE(timeline.selection.selectedSpan);
    EXPECT_TRUE(timeline.selection.ranks.empty());
    EXPECT_EQ(timeline.selection.cursorNs, timeline.trace->endNs / 2) << "the moment that was paused at";
    EXPECT_TRUE(timeline.command(ViewCommand::clear));
    EXPECT_EQ(timeline.selection.cursorNs, 0);
}

TEST(TimeCursor, StaysInSightWhilePlaying)
{
    Timeline timeline(fourStages());
    const std::int64_t end = timeline.trace->endNs;
    EXPECT_FALSE(timeline.view.keepCursorInSight()) << "all of it is in sight";
    timeline.view.setVisibleRange({0, end / 10});
    for (std::int64_t now = 0; now <= end; now += end / 500) {
        timeline.selection.cursorNs = now;
        timeline.view.keepCursorInSight();
        EXPECT_LE(timeline.view.visibleRange().beginNs, now);
        EXPECT_GE(timeline.view.visibleRange().endNs, now);
    }
    EXPECT_FALSE(timeline.command(ViewCommand::viewBack)) << "playing is no place to go back to";
}

TEST(SpanSearch, FindsActionsMicroBatchesAndKernels)
{
    Timeline actions(fourStages());
    const TimelineModel model({actions.simulation, actions.trace});
    EXPECT_EQ(SpanSearch(model, "F3").found().size(), 4U) << "one a stage";
    EXPECT_EQ(SpanSearch(model, " 2b7 ").found().size(), 1U);
    EXPECT_EQ(SpanSearch(model, "#3").found().size(), 8U);
    EXPECT_EQ(SpanSearch(model, "mb 3").found().size(), 8U);
    EXPECT_EQ(SpanSearch(model, "optim").found().size(), 4U);
    EXPECT_EQ(SpanSearch(model, "forward").found().size(), 32U);
    EXPECT_TRUE(SpanSearch(model, "").found().empty());
    EXPECT_TRUE(SpanSearch(model, "nothing").found().empty());
    Timeline kernels(fourStages(), sim::TraceDetail::kernels);
    const TimelineModel more({kernels.simulation, kernels.trace});
    const SpanSearch attention(more, "ATTN");
    EXPECT_GT(attention.found().size(), 100U);
    for (std::size_t i = 1; i < attention.found().size(); ++i) {
        const auto start = [&](SpanRef r) { return kernels.trace->tracks[r.track].startNs[r.span]; };
        ASSERT_LE(start(attention.found()[i - 1]), start(attention.found()[i]));
    }
}

TEST(TimelineSearch, GoesFromMatchToMatchAndRound)
{
    Timeline timeline(fourStages());
    EXPECT_FALSE(timeline.command(ViewCommand::nextMatch));
    EXPECT_EQ(timeline.view.find("b5"), 4U);
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("4 spans are called “b5”"));
    std::vector<std::uint32_t> tracks;
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(timeline.command(ViewCommand::nextMatch));
        tracks.push_back(timeline.selection.selectedSpan->track);
    }
    EXPECT_EQ(tracks, (std::vector<std::uint32_t>{3, 2, 1, 0, 3}));
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("1 of 4 called “b5”"));
    EXPECT_TRUE(timeline.view.findNext(true));
    EXPECT_EQ(timeline.selection.selectedSpan->track, 0U);
    timeline.view.setStep({timeline.simulation, timeline.trace});
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("4 spans are called “b5”")) << "of the new trace";
    EXPECT_TRUE(timeline.command(ViewCommand::clear));
    EXPECT_THAT(timeline.draw().texts(), testing::Contains(testing::StartsWith("step ")));
    EXPECT_EQ(timeline.view.find("nothing"), 0U);
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("nothing is called “nothing”"));
}

TEST(CriticalPathLine, RunsFromTheStartOfTheStepToItsEnd)
{
    Timeline timeline(fourStages());
    EXPECT_EQ(timeline.view.criticalPath(), nullptr);
    EXPECT_TRUE(timeline.command(ViewCommand::criticalPath));
    ASSERT_NE(timeline.view.criticalPath(), nullptr);
    const RecorderCanvas canvas = timeline.draw();
    ASSERT_EQ(canvas.nodesOf("critical path").size(), 1U);
    EXPECT_THAT(canvas.nodesOf("critical path")[0].name, testing::StartsWith("critical path: "));
    EXPECT_THAT(canvas.nodesOf("critical path")[0].name, testing::HasSubstr("compute of pp 3"));
    const Primitive* line = nullptr;
    for (const Primitive& p : canvas.primitives())
        if (p.kind == Primitive::Kind::polyline && p.color == lightTheme().selection)
            line = &p;
    ASSERT_NE(line, nullptr);
    const TimeRange seen = timeline.view.visibleRange();
    const TimeAxis axis{static_cast<double>(seen.beginNs), static_cast<double>(seen.endNs), timeline.rows().left,
                        timeline.rows().right};
    EXPECT_NEAR(line->points.front().x, axis.x(0), 1);
    EXPECT_NEAR(line->points.back().x, axis.x(static_cast<double>(timeline.trace->endNs)), 1);
    for (std::size_t i = 1; i < line->points.size(); ++i)
        EXPECT_GE(line->points[i].x, line->points[i - 1].x - 0.01F);
    // Other spans step back, those of the path do not.
    const auto own = canvas.rectsOf(lightTheme().fill(sim::OpClass::forward)).size();
    EXPECT_TRUE(timeline.command(ViewCommand::criticalPath));
    EXPECT_LT(own, timeline.draw().rectsOf(lightTheme().fill(sim::OpClass::forward)).size());
    EXPECT_TRUE(timeline.draw().nodesOf("critical path").empty());
}

TEST(TimelineTools, TextsStayWholeWhateverTheSize)
{
    sim::Scenario s = test::smallScenario(2, 2, 2, 4);
    s.cluster = test::h100Cluster(8);
    for (const sim::TraceDetail detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
        Timeline timeline(s, detail);
        const std::int64_t end = timeline.trace->endNs;
        for (int i = 0; i < 5; ++i)
            timeline.view.addMark({end * i / 5, end * i / 5 + i * end / 30}, i % 2 == 0 ? "a mark" : "");
        timeline.selection.cursorNs = end / 3;
        timeline.view.setRows({.grouping = RowGrouping::pipeline, .pinnedRanks = {timeline.trace->processes[1].rank}});
        for (const int what : {0, 1, 2, 3}) {
            timeline.view.setCriticalPathShown(what == 1);
            timeline.view.find(what == 2 ? "f1" : "");
            timeline.selection.range = what == 3 ? std::optional(TimeRange{end / 4, end / 2}) : std::nullopt;
            for (int width = 60; width <= 1500; width += 180)
                for (int height = 40; height <= 800; height += 152) {
                    timeline.area = {0, 0, static_cast<float>(width), static_cast<float>(height)};
                    const RecorderCanvas canvas = timeline.draw();
                    EXPECT_TRUE(canvas.clipsAreBalanced());
                    for (const Primitive& text : canvas.cutTexts())
                        ADD_FAILURE() << width << "x" << height << " " << what << " cut: " << text.text;
                }
        }
    }
}

} // namespace
} // namespace app
