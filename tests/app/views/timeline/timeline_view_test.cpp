// The timeline as seen and touched: through the canvas recorder, pointer events and commands alone.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/time_ruler.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/timeline/timeline_model.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/app/views/timeline/timeline_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <random>
#include <set>

namespace app {
namespace {

using test::fourStages;
using test::kArea;
using test::Timeline;

/// A track of `count` spans, busy `share` of the time, in turn of all classes given.
sim::Trace denseTrace(int tracks, std::size_t count, double share, unsigned seed = 5)
{
    std::mt19937 random(seed);
    sim::Trace trace;
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward},
                   {.name = "0B", .opClass = sim::OpClass::backward},
                   {.name = "0W", .opClass = sim::OpClass::backwardWeight}};
    for (int t = 0; t < tracks; ++t) {
        trace.processes.push_back({.rank = t});
        sim::Track track{.process = t, .name = "actions", .role = sim::TrackRole::actions};
        std::int64_t now = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto length = static_cast<std::int64_t>(50 + random() % 400);
            track.startNs.push_back(now);
            track.durationNs.push_back(length);
            track.kind.push_back(static_cast<std::uint32_t>(random() % trace.kinds.size()));
            track.microbatch.push_back(static_cast<std::int32_t>(i % 64));
            now += length + static_cast<std::int64_t>(static_cast<double>(length) * (1 - share) / share *
                                                      static_cast<double>(random() % 3));
        }
        trace.endNs = std::max(trace.endNs, now);
        trace.tracks.push_back(std::move(track));
    }
    return trace;
}

/// Area painted in the colours of the op classes, over the area of the lane: drawn busy share of [begin, end).
std::array<double, sim::kOpClassCount> drawnShares(const RecorderCanvas& canvas, Rect lane, const TimelineModel& model)
{
    std::array<double, sim::kOpClassCount> shares{};
    const auto colors = model.colors(lightTheme());
    for (const Primitive& p : canvas.primitives()) {
        const Rect r = intersected(p.rect, lane);
        if (p.kind != Primitive::Kind::fillRect || r.width() <= 0 || r.height() <= 0)
            continue;
        for (std::size_t k = 0; k < colors.size(); ++k)
            if (p.color == colors[k].even || p.color == colors[k].odd ||
                p.color == lightTheme().fill(model.trace().kinds[k].opClass)) {
                shares[static_cast<std::size_t>(model.trace().kinds[k].opClass)] +=
                    static_cast<double>(r.width()) * static_cast<double>(r.height());
                break;
            }
    }
    for (double& share : shares)
        share /= static_cast<double>(lane.width()) * static_cast<double>(lane.height());
    return shares;
}

void expectCleanText(const RecorderCanvas& canvas)
{
    for (const Primitive& text : canvas.cutTexts())
        ADD_FAILURE() << "cut: " << text.text;
    std::vector<Primitive> texts;
    for (const Primitive& p : canvas.primitives())
        if (p.kind == Primitive::Kind::text)
            texts.push_back(p);
    for (std::size_t i = 0; i < texts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const Rect common = intersected(texts[i].rect.inset(1), texts[j].rect.inset(1));
            EXPECT_FALSE(common.width() > 0 && common.height() > 0) << texts[i].text << " lies on " << texts[j].text;
        }
}

TEST(TimelineView, WithoutATraceSaysWhatToDo)
{
    Selection selection;
    TimelineView view(selection, lightTheme());
    RecorderCanvas canvas(kArea);
    view.draw(canvas);
    EXPECT_THAT(canvas.texts(), testing::Contains("No trace yet"));
    EXPECT_FALSE(view.command(ViewCommand::zoomIn, false, kArea));
    EXPECT_FALSE(view.pointer({.at = {50, 50}}, kArea));
}

TEST(TimelineView, EverySpanOfASmallPipelineIsDrawnAndNamed)
{
    Timeline timeline(fourStages());
    const RecorderCanvas canvas = timeline.draw();
    EXPECT_EQ(canvas.nodesOf("row").size(), 4U);
    EXPECT_EQ(canvas.nodesOf("span").size(), timeline.trace->spanCount());
    for (const char* text : {"F0", "B7", "O"})
        EXPECT_THAT(canvas.texts(), testing::Contains(text));
    EXPECT_THAT(canvas.texts(), testing::Contains(testing::StartsWith("step ")));
    EXPECT_THAT(canvas.texts(), testing::Contains("B backward"));
    expectCleanText(canvas);
}

TEST(TimelineView, TheLegendTakesLinesWhereOneHasNoRoomForAllColours)
{
    Timeline timeline(test::smallScenario(2, 2, 2));
    const std::size_t classes = TimelineModel({timeline.simulation, timeline.trace}).classesPresent().size();
    ASSERT_GE(classes, 6U);
    for (const bool forAudience : {false, true}) {
        timeline.view.setForAudience(forAudience);
        for (const float width : {1100.0F, 420.0F, 260.0F, 200.0F}) {
            timeline.area = {0, 0, width, 420};
            const RecorderCanvas canvas = timeline.draw();
            const auto legend = canvas.nodesOf("class");
            ASSERT_EQ(legend.size(), classes) << width;
            for (const Node& node : legend) {
                EXPECT_LE(node.rect.right, width);
                EXPECT_LE(node.rect.bottom, canvas.nodesOf("row").front().rect.top) << width;
            }
            EXPECT_TRUE(width > 200 || legend.front().rect.top < legend.back().rect.top) << width;
            if (!forAudience) {
                EXPECT_THAT(canvas.texts(), testing::Contains(testing::StartsWith("step "))) << width;
            }
        }
    }
}

/// At text of 200 % a picture has half the room.
TEST(TimelineView, TheLegendNeverVanishes)
{
    Timeline timeline(test::smallScenario(2, 2, 2));
    const std::size_t classes = TimelineModel({timeline.simulation, timeline.trace}).classesPresent().size();
    for (const bool forAudience : {false, true}) {
        timeline.view.setForAudience(forAudience);
        for (const float height : {420.0F, 217.0F, 170.0F, 120.0F, 96.0F})
            for (const float width : {1100.0F, 420.0F, 300.0F, 240.0F, 160.0F, 110.0F}) {
                SCOPED_TRACE(testing::Message() << width << " x " << height << (forAudience ? " for an audience" : ""));
                timeline.area = {0, 0, width, height};
                const RecorderCanvas canvas = timeline.draw();
                expectCleanText(canvas);
                const auto legend = canvas.nodesOf("class"), rest = canvas.nodesOf("legend");
                EXPECT_GE(legend.size(), 1U);
                std::size_t told = legend.size();
                for (const Node& node : rest)
                    told += static_cast<std::size_t>(1 + std::ranges::count(node.name, '\n'));
                EXPECT_GE(told, classes) << "a sign names what has no room";
                for (const Node& node : legend) {
                    EXPECT_LE(node.rect.right, width);
                }
            }
    }
}

TEST(TimelineView, LabelsOfPassesSayAsMuchInEveryRow)
{
    sim::Scenario s = fourStages(); // its last stage has the head, and longer passes
    Timeline timeline(s);
    int labelled = 0;
    for (float width = 300; width < 2400; width *= 1.06F) {
        timeline.area = {0, 0, width, 420};
        const RecorderCanvas canvas = timeline.draw();
        const auto rows = canvas.nodesOf("row");
        ASSERT_EQ(rows.size(), 4U);
        for (const char letter : {'F', 'B'}) {
            std::set<std::string> forms; // of labels of the passes that computing colours say: "F0", "0" or nothing, a row each
            for (const Node& row : rows) {
                std::string form = "nothing";
                for (const Node& span : canvas.nodesOf("span")) {
                    if (span.name.front() != letter || span.rect.bottom <= row.rect.top || span.rect.top >= row.rect.bottom)
                        continue;
                    for (const Primitive& p : canvas.primitives())
                        if (p.kind == Primitive::Kind::text && p.rect.left >= span.rect.left - 1 &&
                            p.rect.right <= span.rect.right + 1 && p.rect.top >= span.rect.top - 2 &&
                            p.rect.bottom <= span.rect.bottom + 2)
                            form = std::isdigit(static_cast<unsigned char>(p.text.front())) != 0 ? "number" : "name";
                }
                labelled += form == "nothing" ? 0 : 1;
                forms.insert(form);
            }
            EXPECT_EQ(forms.size(), 1U) << letter << " at a width of " << width;
        }
    }
    EXPECT_GT(labelled, 20);
}

TEST(TimelineView, ANarrowRulerHasTimesEnough)
{
    for (const double endMs : {87.0, 265.0, 763.0, 10'700.0})
        for (const float width : {200.0F, 215.0F, 300.0F, 420.0F, 1100.0F}) {
            RecorderCanvas canvas({0, 0, width, 40});
            const TimeAxis axis{0, endMs * 1e6, 0, width};
            int times = 0;
            float free = 0;
            for (const Tick& tick : rulerTicks(canvas, axis)) {
                if (!tick.major)
                    continue;
                const float left = axis.x(static_cast<double>(tick.ns)) + 4;
                EXPECT_GE(left, free) << "one over the other: " << tick.label;
                free = left + canvas.textWidth(tick.label, FontFace::small);
                times += free <= width ? 1 : 0;
            }
            EXPECT_GE(times, 3) << endMs << " ms on " << width;
        }
}

/// As wide as a picture before an audience, at text twice as large.
TEST(TimelineView, ARulerOfOneTickHasItsTimeOnTheSideThatHasRoom)
{
    RecorderCanvas canvas({0, 0, 100, 40});
    const TimeAxis axis{0, 780e6, 0, 100};
    const std::vector<Tick> marks = rulerTicks(canvas, axis);
    paintTimeRuler(canvas, lightTheme(), axis, {0, 0, 100, 22}, {}, marks);
    const std::vector<std::string> texts = canvas.texts();
    EXPECT_EQ(texts, (std::vector<std::string>{"0", "500 ms"}));
    for (const Primitive& text : canvas.primitives())
        if (text.kind == Primitive::Kind::text) {
            EXPECT_LE(text.rect.right, 100) << text.text;
        }
}

TEST(TimelineView, LabelsLieInsideTheirSpans)
{
    Timeline timeline(fourStages());
    for (int zoom = 0; zoom < 12; ++zoom) {
        const RecorderCanvas canvas = timeline.draw();
        const Rect rows = timeline.rows();
        const auto& all = canvas.primitives();
        for (const Primitive& text : all) {
            if (text.kind != Primitive::Kind::text || text.rect.left < rows.left || text.rect.top < rows.top ||
                text.rect.bottom > rows.bottom)
                continue;
            const bool inside = std::any_of(all.begin(), all.end(), [&](const Primitive& p) {
                return p.kind == Primitive::Kind::fillRect && p.rect.left <= text.rect.left && p.rect.right >= text.rect.right &&
                       p.rect.width() < rows.width() + 1 && p.color != lightTheme().canvas;
            });
            EXPECT_TRUE(inside) << text.text;
        }
        timeline.command(ViewCommand::zoomIn);
    }
}

TEST(TimelineView, RowsSayHowManyRanksTheyStandFor)
{
    sim::Scenario s = fourStages();
    s.layout.dp = 16;
    s.layout.dpShard = 0;
    s.training.globalBatchSize *= 16;
    s.cluster = test::h100Cluster(64);
    test::resolve(s);
    Timeline timeline(s);
    ASSERT_EQ(timeline.simulation->classCount(), 4);
    EXPECT_THAT(timeline.draw().texts(), testing::IsSupersetOf({"pp 0 · 16 ranks", "pp 3 · 16 ranks"}));
    // The row of a class lights up for each of its ranks.
    const int rank = timeline.simulation->mesh().rank(0, 0, 9, 2);
    timeline.selection.hoveredRank = rank;
    const auto rows = timeline.draw().nodesOf("row");
    for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_EQ(rows[i].selected, i == static_cast<std::size_t>(timeline.simulation->classOf(rank)));
}

TEST(TimelineView, DrawnBusyShareIsTheBusyTimeAtEveryZoom)
{
    for (const double share : {0.15, 0.6, 0.97}) {
        Timeline timeline(denseTrace(2, 60000, share));
        const TimelineModel model({nullptr, timeline.trace});
        for (int zoom = 0; zoom < 30; ++zoom) {
            const RecorderCanvas canvas = timeline.draw(false);
            const TimeRange seen = timeline.view.visibleRange();
            const Rect rows = timeline.rows();
            const RowStack stack = stackRows({{1, false}, {1, false}}, rows.height());
            for (std::uint32_t track = 0; track < 2; ++track) {
                const Rect lane{rows.left, rows.top + stack.rows[track].top, rows.right,
                                rows.top + stack.rows[track].lanesBottom(1)};
                const auto drawn = drawnShares(canvas, lane, model);
                const sim::BusyByClass busy = model.busy(track).busyNs(seen.beginNs, seen.endNs);
                // Narrow spans are shown as shares of the height, to half a pixel; others are rounded to pixels across, and from
                // 8 of them on kept apart by one.
                const double nsPerPixel = static_cast<double>(seen.endNs - seen.beginNs) / static_cast<double>(rows.width());
                const double tolerance = nsPerPixel > 200  ? 0.25 / static_cast<double>(lane.height())
                                         : nsPerPixel > 60 ? 0.02
                                                           : 0.13;
                for (std::size_t c = 0; c < drawn.size(); ++c)
                    EXPECT_NEAR(drawn[c], static_cast<double>(busy[c]) / static_cast<double>(seen.endNs - seen.beginNs),
                                tolerance)
                        << "zoom " << zoom << " class " << c << " share " << share;
            }
            timeline.command(ViewCommand::zoomIn);
        }
    }
}

TEST(TimelineView, ControlWheelZoomsAtThePointer)
{
    Timeline timeline(fourStages());
    const Point at{700, 200};
    const auto under = [&] {
        const TimeRange seen = timeline.view.visibleRange();
        return TimeAxis{static_cast<double>(seen.beginNs), static_cast<double>(seen.endNs), timeline.rows().left,
                        timeline.rows().right}
            .ns(at.x);
    };
    const double before = under();
    const double pixel = static_cast<double>(timeline.trace->endNs) / static_cast<double>(timeline.rows().width());
    EXPECT_TRUE(timeline.view.pointer({.kind = PointerEvent::Kind::wheel, .at = at, .wheelY = 6, .control = true}, kArea));
    EXPECT_NEAR(under(), before, pixel * 0.01);
    const TimeRange seen = timeline.view.visibleRange();
    EXPECT_TRUE(timeline.view.pointer({.kind = PointerEvent::Kind::wheel, .at = at, .wheelY = -1, .shift = true}, kArea));
    EXPECT_GT(timeline.view.visibleRange().beginNs, seen.beginNs) << "down is later";
    const TimeRange moved = timeline.view.visibleRange();
    EXPECT_LE(std::abs((moved.endNs - moved.beginNs) - (seen.endNs - seen.beginNs)), 1) << "rounded, not zoomed";
}

TEST(TimelineView, PointingAtIdleTimeTellsWhatIsWaitedForAndDrawsIt)
{
    Timeline timeline(fourStages());
    const auto lines = [&] {
        const RecorderCanvas canvas = timeline.draw();
        return std::count_if(canvas.primitives().begin(), canvas.primitives().end(),
                             [](const Primitive& p) { return p.kind == Primitive::Kind::polyline; });
    };
    const auto before = lines();
    const Point inTheBeginning{timeline.centreOfSpan(0, 0).x, timeline.centreOfSpan(3, 0).y};
    EXPECT_TRUE(timeline.move(inTheBeginning)) << "the last stage waits for the first micro-batch";
    const std::string told = timeline.view.tooltip();
    EXPECT_THAT(told, testing::HasSubstr(" idle before F0"));
    for (const char* const stage : {"F0 of pp 2", "F0 of pp 1", "F0 of pp 0"})
        EXPECT_THAT(told, testing::HasSubstr(std::string("waits for ") + stage)) << told;
    const auto waited = static_cast<double>(timeline.trace->tracks[3].startNs[0]);
    EXPECT_THAT(
        told, testing::HasSubstr("is " + percentText(waited / static_cast<double>(timeline.trace->endNs)) + " of the step long"));
    EXPECT_EQ(lines(), before + 2) << "the way to its end, and the line's edge";
    timeline.move(timeline.centreOfSpan(0, 0));
    timeline.send(PointerEvent::Kind::leave, {});
    EXPECT_EQ(lines(), before);
    timeline.click(inTheBeginning);
    timeline.send(PointerEvent::Kind::leave, {});
    EXPECT_EQ(lines(), before + 2) << "what was clicked stays";
    ASSERT_TRUE(timeline.selection.idle);
    EXPECT_EQ(timeline.selection.idle->why, told);
    timeline.view.setStep({timeline.simulation, timeline.trace});
    EXPECT_FALSE(timeline.selection.idle) << "of another step";
}

TEST(TimelineView, EmptyPlacesOfAMeasuredTraceSayHowLongAndUntilWhat)
{
    Timeline timeline(denseTrace(1, 6, 0.4));
    const sim::Track& track = timeline.trace->tracks[0];
    for (std::uint32_t i = 0; i + 1 < track.size(); ++i) {
        const std::int64_t end = track.startNs[i] + track.durationNs[i], gap = track.startNs[i + 1] - end;
        if (gap < timeline.trace->endNs / 20)
            continue;
        const Rect rows = timeline.rows();
        const float share = static_cast<float>(end + gap / 2) / static_cast<float>(timeline.trace->endNs);
        timeline.move({rows.left + share * rows.width(), timeline.centreOfSpan(0, 0).y});
        EXPECT_THAT(timeline.view.tooltip(),
                    testing::StartsWith("nothing here for " + durationText(static_cast<double>(gap)) + ", until "));
    }
}

TEST(TimelineView, EmptyPlacesOfLanesAmongKernelsSayWhereTheyHaveSomething)
{
    Timeline timeline(test::smallScenario(1, 1, 2, 4), sim::TraceDetail::kernels);
    const TimelineModel model({timeline.simulation, timeline.trace});
    const std::uint32_t gradients = model.rows()[0].tracks.back();
    const sim::Track& lane = timeline.trace->tracks[gradients];
    ASSERT_EQ(lane.role, sim::TrackRole::communication);
    ASSERT_GT(lane.startNs.front(), timeline.trace->endNs / 10) << "gradients are reduced late";
    timeline.move({timeline.rows().left + 2, timeline.centreOfSpan(gradients, 0).y});
    EXPECT_THAT(timeline.view.tooltip(), testing::StartsWith(lane.name + ": nothing here for "));
    EXPECT_THAT(timeline.view.tooltip(), testing::HasSubstr(" in the whole step; the first begins at " +
                                                            durationText(static_cast<double>(lane.startNs.front()))));
}

TEST(TimelineView, PointingAtASpanTellsAllAboutIt)
{
    Timeline timeline(fourStages());
    const Point at = timeline.centreOfSpan(1, 3);
    EXPECT_TRUE(timeline.move(at));
    EXPECT_EQ(timeline.selection.hoveredSpan, (SpanRef{1, 3}));
    EXPECT_EQ(timeline.selection.hoveredRank, 1);
    EXPECT_FALSE(timeline.move({at.x + 1, at.y})) << "still the same span";
    EXPECT_THAT(timeline.view.tooltip(), testing::HasSubstr("micro-batch"));
    EXPECT_THAT(timeline.view.tooltip(), testing::HasSubstr("stage 1"));
    EXPECT_FALSE(timeline.draw().primitives().empty());
    timeline.send(PointerEvent::Kind::leave, {});
    EXPECT_FALSE(timeline.selection.hoveredSpan);
    EXPECT_FALSE(timeline.selection.hoveredRank);
}

TEST(TimelineView, TooltipsOfKernelsTellWhatTheHardwareReached)
{
    Timeline timeline(fourStages(), sim::TraceDetail::kernels);
    TimelineModel model({timeline.simulation, timeline.trace});
    for (std::uint32_t t = 0; t < timeline.trace->tracks.size(); ++t) {
        if (timeline.trace->tracks[t].role != sim::TrackRole::compute)
            continue;
        for (std::uint32_t s = 0; s < timeline.trace->tracks[t].size(); ++s) {
            const auto& kind = timeline.trace->kinds[timeline.trace->tracks[t].kind[s]];
            const std::string text = model.describe({t, s});
            EXPECT_EQ(text.find("FLOP/s") != std::string::npos, kind.flops > 0) << text;
        }
    }
}

TEST(TimelineView, FlowsLeadFromSendToReceive)
{
    Timeline timeline(fourStages());
    ASSERT_FALSE(timeline.trace->flows.empty());
    const sim::Flow flow = timeline.trace->flows[5];
    const auto curves = [&] {
        const RecorderCanvas canvas = timeline.draw();
        return std::count_if(canvas.primitives().begin(), canvas.primitives().end(),
                             [](const Primitive& p) { return p.kind == Primitive::Kind::polyline; });
    };
    EXPECT_EQ(curves(), 0);
    timeline.move(timeline.centreOfSpan(flow.fromTrack, flow.fromSpan));
    EXPECT_GE(curves(), 1);
    TimelineModel model({nullptr, timeline.trace});
    std::size_t found = 0;
    for (std::uint32_t t = 0; t < timeline.trace->tracks.size(); ++t)
        for (std::uint32_t s = 0; s < timeline.trace->tracks[t].size(); ++s)
            found += model.flowsAt({t, s}).size();
    EXPECT_EQ(found, timeline.trace->flows.size() * 2) << "each flow is found at both its ends";
}

TEST(TimelineView, DraggingSelectsARangeAndTellsWhatItHolds)
{
    Timeline timeline(fourStages());
    const Rect rows = timeline.rows();
    timeline.drag({rows.left + 100, rows.top + 20}, {rows.left + 400, rows.top + 60});
    ASSERT_TRUE(timeline.selection.range);
    const TimeRange seen = timeline.view.visibleRange();
    const double perPixel = static_cast<double>(seen.endNs - seen.beginNs) / static_cast<double>(rows.width());
    EXPECT_NEAR(static_cast<double>(timeline.selection.range->endNs - timeline.selection.range->beginNs), 300 * perPixel,
                perPixel);
    const RecorderCanvas canvas = timeline.draw();
    EXPECT_THAT(canvas.texts(), testing::Contains(testing::EndsWith(" selected")));
    EXPECT_THAT(canvas.texts(), testing::Contains(testing::StartsWith("F ")));
    EXPECT_THAT(canvas.texts(), testing::Contains(testing::StartsWith("idle ")));
    EXPECT_THAT(canvas.nodesOf("range").at(0).name, testing::HasSubstr(" spans"));
    expectCleanText(canvas);
    // Backwards is the same range; Escape clears it.
    const auto range = timeline.selection.range;
    timeline.drag({rows.left + 400, rows.top + 20}, {rows.left + 100, rows.top + 60});
    EXPECT_EQ(timeline.selection.range, range);
    EXPECT_TRUE(timeline.command(ViewCommand::focusSelection));
    EXPECT_NEAR(static_cast<double>(timeline.view.visibleRange().beginNs),
                static_cast<double>(range->beginNs) - 0.1 * static_cast<double>(range->endNs - range->beginNs), 2);
    EXPECT_TRUE(timeline.command(ViewCommand::focusSelection)) << "again: all";
    EXPECT_EQ(timeline.view.visibleRange().beginNs, 0);
    EXPECT_TRUE(timeline.command(ViewCommand::clear));
    EXPECT_FALSE(timeline.selection.range);
}

TEST(TimelineView, SharesOfARangeCountRanksAndAddUp)
{
    Timeline timeline(fourStages());
    TimelineModel model({timeline.simulation, timeline.trace});
    const auto shares = model.shares(0, timeline.trace->endNs);
    double expected = 0, sum = 0;
    for (const sim::Track& track : timeline.trace->tracks)
        for (const std::int64_t ns : track.durationNs)
            expected += static_cast<double>(ns);
    for (std::size_t row = 0; row < model.rows().size(); ++row) // and what is waited for between the actions
        for (const std::int64_t ns : model.exposed(static_cast<int>(row))->between().durationNs)
            expected += static_cast<double>(ns);
    for (const double share : shares)
        sum += share;
    EXPECT_NEAR(sum, expected / (4.0 * static_cast<double>(timeline.trace->endNs)), 1e-12);
}

TEST(TimelineView, ClicksSelectSpansAndRanks)
{
    Timeline timeline(fourStages());
    timeline.click(timeline.centreOfSpan(2, 4));
    EXPECT_EQ(timeline.selection.selectedSpan, (SpanRef{2, 4}));
    EXPECT_EQ(timeline.selection.selectedRank, 2);
    EXPECT_TRUE(timeline.command(ViewCommand::next));
    EXPECT_EQ(timeline.selection.selectedSpan, (SpanRef{2, 5}));
    EXPECT_TRUE(timeline.command(ViewCommand::previous, true));
    EXPECT_EQ(timeline.selection.selectedSpan, (SpanRef{2, 1}));
    EXPECT_TRUE(timeline.command(ViewCommand::rangeOfSpan));
    EXPECT_EQ(timeline.selection.range->beginNs, timeline.trace->tracks[2].startNs[1]);
    const Rect gutter = TimelineFrame(kArea).gutter;
    timeline.click({gutter.left + 5, gutter.top + 5});
    EXPECT_EQ(timeline.selection.selectedRank, 0);
    EXPECT_FALSE(timeline.selection.selectedSpan);
}

TEST(TimelineView, NextSpansComeIntoView)
{
    Timeline timeline(fourStages());
    timeline.selection.selectedSpan = SpanRef{0, 0};
    for (int i = 0; i < 12; ++i)
        timeline.command(ViewCommand::zoomIn);
    for (int i = 0; i < 10; ++i) {
        timeline.command(ViewCommand::next);
        const SpanRef span = *timeline.selection.selectedSpan;
        const TimeRange seen = timeline.view.visibleRange();
        const std::int64_t start = timeline.trace->tracks[0].startNs[span.span];
        const std::int64_t middle = start + timeline.trace->tracks[0].durationNs[span.span] / 2;
        EXPECT_GE(middle, seen.beginNs);
        EXPECT_LE(middle, seen.endNs);
    }
}

TEST(TimelineView, TheRulerMovesTheCursor)
{
    Timeline timeline(fourStages());
    const TimelineFrame frame(kArea);
    timeline.drag({frame.ruler.left + 100, frame.ruler.top + 5}, {frame.ruler.left + 300, frame.ruler.top + 50});
    const TimeAxis axis{0, static_cast<double>(timeline.view.visibleRange().endNs), frame.rows.left, frame.rows.right};
    EXPECT_NEAR(static_cast<double>(timeline.selection.cursorNs), axis.ns(frame.ruler.left + 300), axis.nsPerPixel());
    EXPECT_FALSE(timeline.selection.range) << "the ruler is not the rows";
    expectCleanText(timeline.draw());
}

TEST(TimelineView, ManyRowsScroll)
{
    Timeline timeline(denseTrace(200, 40, 0.5));
    timeline.view.setRows({.grouping = RowGrouping::none});
    EXPECT_LT(timeline.draw().nodesOf("row").size(), 200U);
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("rank 0"));
    for (int i = 0; i < 100; ++i)
        timeline.view.pointer({.kind = PointerEvent::Kind::wheel, .at = {500, 200}, .wheelY = -3}, kArea);
    EXPECT_THAT(timeline.draw().texts(), testing::Contains("rank 199"));
    EXPECT_FALSE(timeline.command(ViewCommand::panDown)) << "the end is the end";
    expectCleanText(timeline.draw());
}

TEST(TimelineView, DenseRowsAreLowWhereAllAreThenInSightAndAsHighAsOthersWhereTheyScroll)
{
    const auto pitch = [](int rows) {
        Timeline timeline(denseTrace(rows, 40, 0.5));
        timeline.view.setRows({.grouping = RowGrouping::none});
        timeline.view.setDense(true);
        const RecorderCanvas canvas = timeline.draw();
        const auto nodes = canvas.nodesOf("row");
        return nodes.at(1).rect.top - nodes.at(0).rect.top;
    };
    const int mostLow = static_cast<int>(Timeline(denseTrace(2, 40, 0.5)).rows().height() / kLowestDenseRow);
    EXPECT_LT(pitch(mostLow - 2), kLowestRow);
    EXPECT_GE(pitch(mostLow - 2), kLowestDenseRow);
    EXPECT_EQ(pitch(200), kLowestRow);
}

TEST(TimelineView, KernelsHaveALaneAStream)
{
    sim::Scenario s = test::smallScenario(2, 2, 2, 4);
    s.cluster = test::h100Cluster(8);
    Timeline timeline(s, sim::TraceDetail::kernels);
    timeline.area.bottom = 900;
    const auto texts = timeline.draw().texts();
    for (const char* lane : {"compute", "tp comm"})
        EXPECT_THAT(texts, testing::Contains(lane));
    for (int i = 0; i < 40; ++i) {
        expectCleanText(timeline.draw());
        timeline.command(ViewCommand::zoomIn);
    }
}

TEST(TimelineView, TheOverviewLeadsToAnyPlace)
{
    Timeline timeline(fourStages());
    for (int i = 0; i < 20; ++i)
        timeline.command(ViewCommand::zoomIn);
    const TimelineFrame frame(kArea);
    timeline.drag({frame.overview.left + 5, frame.overview.top + 3}, {frame.overview.right - 40, frame.overview.top + 3});
    const TimeRange seen = timeline.view.visibleRange();
    const double middle = static_cast<double>(seen.beginNs + seen.endNs) / 2;
    EXPECT_NEAR(middle / (static_cast<double>(timeline.trace->endNs) * (1 + TimeWindow::kAir)),
                static_cast<double>((frame.overview.width() - 40) / frame.overview.width()), 0.01);
}

TEST(TimelineView, RightDragPansWithThePointer)
{
    Timeline timeline(fourStages());
    for (int i = 0; i < 8; ++i)
        timeline.command(ViewCommand::zoomIn);
    const TimeRange before = timeline.view.visibleRange();
    timeline.drag({600, 200}, {500, 200}, PointerButton::right);
    const TimeRange after = timeline.view.visibleRange();
    const double perPixel = static_cast<double>(before.endNs - before.beginNs) / static_cast<double>(timeline.rows().width());
    EXPECT_NEAR(static_cast<double>(after.beginNs - before.beginNs), 100 * perPixel, perPixel);
}

TEST(TimelineView, ANewTraceKeepsTheWindowAndDropsWhatIsGone)
{
    Timeline timeline(fourStages());
    for (int i = 0; i < 6; ++i)
        timeline.command(ViewCommand::zoomIn);
    const TimeRange before = timeline.view.visibleRange();
    timeline.selection.selectedSpan = SpanRef{3, 8};
    timeline.view.setStep({timeline.simulation, timeline.trace});
    EXPECT_EQ(timeline.view.visibleRange(), before);
    EXPECT_FALSE(timeline.selection.selectedSpan);
    timeline.command(ViewCommand::fitAll);
    sim::Trace longer = *timeline.trace;
    longer.endNs *= 2;
    timeline.view.setStep({timeline.simulation, std::make_shared<sim::Trace>(longer)});
    EXPECT_GE(timeline.view.visibleRange().endNs, longer.endNs) << "who saw all sees all";
}

TEST(TimelineView, TextsStayWholeWhateverTheSize)
{
    Timeline timeline(fourStages());
    timeline.selection.range = TimeRange{timeline.trace->endNs / 4, timeline.trace->endNs / 2};
    timeline.selection.cursorNs = timeline.trace->endNs / 3;
    for (int width = 60; width <= 1500; width += 90)
        for (int height = 40; height <= 800; height += 76) {
            timeline.area = {0, 0, static_cast<float>(width), static_cast<float>(height)};
            expectCleanText(timeline.draw());
        }
}

TEST(TimelineView, OddTracesAreDrawnToo)
{
    sim::Trace empty;
    empty.processes = {{.rank = 0}};
    empty.tracks = {{.process = 0, .name = "actions", .role = sim::TrackRole::actions}};
    Timeline nothing(empty);
    EXPECT_THAT(nothing.draw().texts(), testing::Contains("rank 0"));
    EXPECT_FALSE(nothing.command(ViewCommand::next));
    nothing.move({600, 200});
    nothing.command(ViewCommand::zoomIn);
    nothing.draw();

    sim::Trace instant = denseTrace(1, 1, 1);
    instant.tracks[0].durationNs[0] = 0;
    instant.endNs = 0;
    Timeline point(instant);
    point.draw();
    point.move({600, 200});
    EXPECT_EQ(Timeline(sim::Trace{}).draw().texts().front(), "No trace yet");
}

TEST(TimelineView, ChunksAndDirectionsAreToldApartWithoutAnotherClassesColour)
{
    for (const auto& [kind, words] : {std::pair{"1f1b", ""}, {"dualpipe", "the other direction"}, {"zb-v", "second chunk"}}) {
        sim::Scenario scenario = test::smallScenario(1, 4, 1, 16);
        scenario.schedule.kind = kind;
        scenario.schedule.virtualStages = sim::findScheduleFamily(kind)->chunks.least;
        scenario.schedule.layersPerStage.clear();
        test::resolve(scenario);
        Timeline timeline(scenario);
        const TimelineModel model({timeline.simulation, timeline.trace});
        const std::vector<KindColors> colors = model.colors(lightTheme());
        std::set<float> bands;
        for (std::uint32_t k = 0; k < colors.size(); ++k) {
            EXPECT_EQ(colors[k].even, lightTheme().fill(timeline.trace->kinds[k].opClass)) << "as the legend has it";
            bands.insert(model.bandOf(k));
        }
        const RecorderCanvas canvas = timeline.draw();
        const auto legend = canvas.nodesOf("legend");
        EXPECT_EQ(bands.size(), *words != '\0' ? 2U : 1U);
        ASSERT_EQ(legend.size(), *words != '\0' ? 1U : 0U) << kind;
        if (*words != '\0') {
            EXPECT_EQ(legend.front().name, words);
        }
    }
}

TEST(TimelineView, EqualSpansSayAsMuchWhateverTheirNumber)
{
    Timeline timeline(test::smallScenario(1, 2, 1, 16));
    const float left = kArea.left;
    for (float width = 400; width <= 1400; width += 37) {
        timeline.area = {left, kArea.top, left + width, kArea.bottom};
        const RecorderCanvas canvas = timeline.draw();
        std::set<std::pair<char, bool>> ways; // class, and whether it is named
        for (const Node& node : canvas.nodesOf("span")) {
            if (node.name.front() != 'F' && node.name.front() != 'B')
                continue;
            const bool isNamed = std::any_of(canvas.primitives().begin(), canvas.primitives().end(), [&](const Primitive& p) {
                return p.kind == Primitive::Kind::text &&
                       node.rect.contains({(p.rect.left + p.rect.right) / 2, (p.rect.top + p.rect.bottom) / 2});
            });
            ways.insert({static_cast<char>(node.name.front() + (node.id >> 32 == 0 ? 0 : 32)), isNamed}); // stages differ
        }
        EXPECT_LE(ways.size(), 4U) << "all of a stage's forwards or none, at width " << width;
    }
}

TEST(TimelineView, MeasuredSpansOfAKindSayAsMuchAsEachOther)
{
    std::mt19937 random(3);
    sim::Trace trace;
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "actions", .role = sim::TrackRole::actions};
    for (int i = 0; i < 40; ++i) { // a fifth longer or shorter than each other
        track.startNs.push_back(trace.endNs);
        track.durationNs.push_back(900 + static_cast<std::int64_t>(random() % 200));
        track.kind.push_back(0);
        track.microbatch.push_back(i);
        trace.endNs += track.durationNs.back() + 50;
    }
    trace.tracks = {track};
    Timeline timeline(trace);
    std::set<std::size_t> amounts;
    for (float width = 500; width <= 1600; width += 25) {
        timeline.area = {kArea.left, kArea.top, kArea.left + width, kArea.bottom};
        const RecorderCanvas canvas = timeline.draw();
        std::size_t named = 0;
        const auto spans = canvas.nodesOf("span");
        for (const Node& node : spans)
            named += std::any_of(canvas.primitives().begin(), canvas.primitives().end(), [&](const Primitive& p) {
                return p.kind == Primitive::Kind::text &&
                       node.rect.contains({(p.rect.left + p.rect.right) / 2, (p.rect.top + p.rect.bottom) / 2});
            });
        EXPECT_TRUE(named == 0 || named == spans.size()) << named << " of " << spans.size() << " at width " << width;
        amounts.insert(named);
    }
    EXPECT_EQ(amounts.size(), 2U) << "narrow ones say nothing, wide ones what they are";
}

} // namespace
} // namespace app
