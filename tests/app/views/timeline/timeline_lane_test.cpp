// Spans of a lane on whole pixels: what is even looks even.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/app/views/timeline/timeline_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using test::Timeline;

TEST(TimelineView, EvenWorkLooksEvenAtEveryZoom)
{
    sim::Trace trace;
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward}, {.name = "0B", .opClass = sim::OpClass::backward}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "actions", .role = sim::TrackRole::actions};
    for (int i = 0; i < 20000; ++i) { // forwards of 1 µs, backwards of 2, hardly a pause
        track.startNs.push_back(trace.endNs);
        track.durationNs.push_back(i % 2 == 0 ? 1000 : 2000);
        track.kind.push_back(static_cast<std::uint32_t>(i % 2));
        track.microbatch.push_back(i / 2);
        trace.endNs += track.durationNs.back() + 100;
    }
    trace.tracks = {track};
    Timeline timeline(trace);
    for (int zoom = 0; zoom < 60; ++zoom) {
        const TimeRange seen = timeline.view.visibleRange();
        const Rect rows = timeline.rows();
        const double pixelsOfPair = 3200 * static_cast<double>(rows.width()) / static_cast<double>(seen.endNs - seen.beginNs);
        if (pixelsOfPair > 7)
            break; // they are drawn one by one
        const TimeAxis axis{static_cast<double>(seen.beginNs), static_cast<double>(seen.endNs), rows.left, rows.right};
        const float end = axis.x(static_cast<double>(trace.endNs));
        float lowest = rows.bottom, highest = rows.top; // of the forwards' tops
        for (const Primitive& p : timeline.draw(false).rectsOf(lightTheme().fill(sim::OpClass::forward))) {
            constexpr float kEdge = 8; // where the first and the last pairs are cut
            if (p.rect.top < rows.top || p.rect.bottom > rows.bottom || p.rect.right < rows.left + kEdge ||
                p.rect.left > std::min(rows.right, end) - kEdge)
                continue;
            lowest = std::min(lowest, p.rect.top);
            highest = std::max(highest, p.rect.top);
        }
        EXPECT_LT(lowest, rows.bottom) << "zoom " << zoom;
        EXPECT_LE(highest - lowest, 2) << "waves that are not there, a pair " << pixelsOfPair << " pixels wide";
        timeline.command(ViewCommand::zoomIn);
    }
}

/// A hundred thousand spans of a microsecond, and in a pause in their middle one without length: whether they are read one by one
/// or from coarse levels, where it was is marked.
TEST(TimelineView, WhatHasNoLengthIsMarkedAtEveryZoom)
{
    sim::Trace trace;
    trace.kinds = {{.name = "kernel", .opClass = sim::OpClass::forward}, {.name = "sync", .opClass = sim::OpClass::dpComm}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "stream 7", .role = sim::TrackRole::compute};
    constexpr int kSpans = 100'000;
    const auto add = [&](std::int64_t durationNs, std::uint32_t kind) {
        track.startNs.push_back(trace.endNs);
        track.durationNs.push_back(durationNs);
        track.kind.push_back(kind);
        track.microbatch.push_back(-1);
        trace.endNs += durationNs + 100;
    };
    for (int i = 0; i < kSpans; ++i) {
        if (i == kSpans / 2)
            add(0, 1);
        add(1000, 0);
    }
    trace.tracks = {track};
    const std::int64_t at = track.startNs[kSpans / 2];
    Timeline timeline(trace);
    for (std::int64_t around = trace.endNs / 2; around > 200; around /= 8) {
        timeline.view.setVisibleRange({at - around, at + around});
        const Rect rows = timeline.rows();
        const TimeRange seen = timeline.view.visibleRange();
        const TimeAxis axis{static_cast<double>(seen.beginNs), static_cast<double>(seen.endNs), rows.left, rows.right};
        const float x = axis.x(static_cast<double>(at));
        const RecorderCanvas canvas = timeline.draw();
        const auto isItsMark = [&](const Primitive& p) {
            return p.kind == Primitive::Kind::fillConvex && p.color == lightTheme().text &&
                   std::abs((p.rect.left + p.rect.right) / 2 - x) <= 2 && p.rect.top >= rows.top && p.rect.bottom <= rows.bottom;
        };
        EXPECT_EQ(std::count_if(canvas.primitives().begin(), canvas.primitives().end(), isItsMark), 1) << around;
        const auto spans = canvas.nodesOf("span");
        EXPECT_EQ(std::count_if(spans.begin(), spans.end(), [](const Node& node) { return node.id == kSpans / 2; }), 1) << around;
    }
}

/// Where they are many they are a band along the top, and not work that was never done.
TEST(TimelineView, ManyMarksOfWhatHasNoLengthDoNotLookLikeWork)
{
    sim::Trace trace;
    trace.kinds = {{.name = "sync", .opClass = sim::OpClass::dpComm}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "stream 7", .role = sim::TrackRole::compute};
    for (int i = 0; i < 50'000; ++i, trace.endNs += 1000) {
        track.startNs.push_back(trace.endNs);
        track.durationNs.push_back(0);
        track.kind.push_back(0);
        track.microbatch.push_back(-1);
    }
    trace.tracks = {track};
    Timeline timeline(trace);
    const Rect rows = timeline.rows();
    const RecorderCanvas canvas = timeline.draw(false);
    std::size_t marks = 0;
    for (const Primitive& p : canvas.rectsOf(lightTheme().text))
        if (p.rect.width() == 1 && p.rect.top >= rows.top && p.rect.bottom <= rows.bottom) {
            EXPECT_LE(p.rect.height(), 4);
            ++marks;
        }
    EXPECT_GT(static_cast<float>(marks), 0.9F * rows.width());
    for (const Primitive& p : canvas.rectsOf(lightTheme().fill(sim::OpClass::dpComm)))
        EXPECT_TRUE(p.rect.bottom <= rows.top || p.rect.top >= rows.bottom) << "a legend alone has its colour";
}

/// Spans that are drawn one by one, too: all of them have a gap behind them or none has, and what is no pause worth a pixel is
/// none.
TEST(TimelineView, EqualSpansAreEquallyFarApart)
{
    sim::Trace trace;
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "actions", .role = sim::TrackRole::actions};
    for (int i = 0; i < 400; ++i) {
        track.startNs.push_back(trace.endNs);
        track.durationNs.push_back(10'000);
        track.kind.push_back(0);
        track.microbatch.push_back(0);
        trace.endNs += track.durationNs.back() + 60;
    }
    trace.tracks = {track};
    Timeline timeline(trace);
    int looked = 0;
    for (const double pixels : {6.4, 6.9, 7.3, 7.5, 7.8, 8.2, 8.5, 9.6, 13.5}) { // of a span
        const Rect rows = timeline.rows();
        timeline.view.setVisibleRange({0, std::llround(static_cast<double>(rows.width()) / pixels * 10'000)});
        std::vector<Rect> drawn;
        for (const Primitive& p : timeline.draw(false).rectsOf(lightTheme().fill(sim::OpClass::forward)))
            if (p.rect.top >= rows.top && p.rect.bottom <= rows.bottom && p.rect.right < rows.right - 20)
                drawn.push_back(p.rect);
        std::sort(drawn.begin(), drawn.end(), [](const Rect& a, const Rect& b) { return a.left < b.left; });
        for (std::size_t i = 1; i < drawn.size(); ++i, ++looked)
            ASSERT_EQ(drawn[i].left - drawn[i - 1].right, pixels >= 8 ? 1 : 0) << pixels << " pixels, span " << i;
    }
    EXPECT_GT(looked, 200);
}

/// What is seen in large pixels is not gathered as if they were small: each span is as high as its lane.
TEST(TimelineView, MagnifiedSpansAreDrawnOneByOne)
{
    sim::Trace trace;
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward}, {.name = "0B", .opClass = sim::OpClass::backward}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "actions", .role = sim::TrackRole::actions};
    for (int i = 0; i < 400; ++i) { // less than two pixels and a half each
        track.startNs.push_back(trace.endNs);
        track.durationNs.push_back(1000);
        track.kind.push_back(static_cast<std::uint32_t>(i % 2));
        track.microbatch.push_back(i / 2);
        trace.endNs += 1000;
    }
    trace.tracks = {track};
    Timeline timeline(trace);
    timeline.view.setForAudience(true, 2.25F);
    const RecorderCanvas canvas = timeline.draw();
    EXPECT_EQ(canvas.nodesOf("span").size(), 400U);
    const Rect first = canvas.nodesOf("span").front().rect;
    for (const Node& node : canvas.nodesOf("span")) {
        EXPECT_EQ(node.rect.height(), first.height());
        EXPECT_NEAR(node.rect.width(), first.width(), 0.5) << "by a pixel as it is seen";
    }
}

TEST(TimelineView, IdlePixelsStayEmpty)
{
    sim::Trace trace;
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward}};
    trace.processes = {{.rank = 0}};
    sim::Track track{.process = 0, .name = "actions", .role = sim::TrackRole::actions};
    for (int i = 0; i < 3000; ++i) { // busy in the first and the last third
        const bool late = i >= 1500;
        track.startNs.push_back(i % 1500 * 200 + (late ? 600000 : 0));
        track.durationNs.push_back(200);
        track.kind.push_back(0);
        track.microbatch.push_back(0);
    }
    trace.tracks = {track};
    trace.endNs = 900000;
    Timeline timeline(trace);
    const TimeAxis axis{0, 900000 * (1 + TimeWindow::kAir), timeline.rows().left, timeline.rows().right};
    int drawn = 0;
    for (const Primitive& p : timeline.draw(false).rectsOf(lightTheme().fill(sim::OpClass::forward))) {
        if (p.rect.top < timeline.rows().top || p.rect.bottom > timeline.rows().bottom)
            continue;
        ++drawn;
        EXPECT_FALSE(p.rect.left > axis.x(301000) && p.rect.right < axis.x(599000)) << "drawn where nothing ran";
        EXPECT_FALSE(p.rect.left < axis.x(301000) && p.rect.right > axis.x(599000)) << "drawn across a pause";
    }
    EXPECT_GE(drawn, 2) << "what runs before the pause and after it";
}

} // namespace
} // namespace app
