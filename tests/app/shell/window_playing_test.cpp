// The step played and stepped through in the window.
#include "app/shell/window/transport_bar.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/app/shell/pressed_groove.h"
#include "tests/app/shell/window_fixture.h"

#include <QSlider>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using namespace test;

TEST_F(WindowTest, SteppingThroughIsAMode)
{
    open("17-schedule-1f1b.json");
    const auto spans = [&] {
        const auto& nodes = window.workspace().canvas(Picture::timeline).nodes();
        return std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.role == "span"; });
    };
    const auto all = spans();
    window.run(CommandId::stepThrough);
    EXPECT_EQ(spans(), 1);
    QTest::keyClick(&window.workspace().canvas(Picture::timeline), Qt::Key_Period);
    EXPECT_EQ(spans(), 2);
    window.showInFront(Picture::traffic); // which has a use of its own for these keys
    window.workspace().setPictureVisible(Picture::traffic, true);
    CanvasWidget& traffic = window.workspace().canvas(Picture::traffic);
    traffic.setFocus();
    QTest::keyClick(&traffic, Qt::Key_Period);
    EXPECT_EQ(spans(), 3) << "the story says that they walk through it";
    QTest::keyClick(&traffic, Qt::Key_Comma);
    EXPECT_EQ(spans(), 2);
    window.run(CommandId::stepThrough);
    EXPECT_EQ(spans(), all);
}

TEST_F(WindowTest, WhatIsPlayedOrScrubbedWhileSteppingIsToldAbout)
{
    open("17-schedule-1f1b.json");
    Playback& playback = window.desk().playback();
    const auto toldNs = [&] { // when the action starts that is told about
        const SpanRef span = window.desk().selection().selectedSpan.value_or(SpanRef{});
        return window.desk().step().trace->tracks[span.track].startNs[span.span];
    };
    const std::int64_t endNs = window.desk().step().trace->endNs;
    playback.play();
    playback.advance(Playback::kSecondsASpan / 2);
    window.run(CommandId::stepThrough);
    EXPECT_FALSE(playback.isPlaying());
    EXPECT_NEAR(static_cast<double>(toldNs()), static_cast<double>(endNs) / 2, static_cast<double>(endNs) / 10)
        << "it begins where the cursor is";
    playback.play();
    playback.advance(Playback::kSecondsASpan / 4);
    EXPECT_NEAR(static_cast<double>(toldNs()), static_cast<double>(endNs) * 3 / 4, static_cast<double>(endNs) / 10)
        << "what has started meanwhile is there";
    window.workspace().transport().slider()->setValue(0);
    EXPECT_LT(toldNs(), endNs / 100);
    EXPECT_EQ(window.desk().selection().cursorNs, 0);
    QTest::keyClick(&window.workspace().canvas(Picture::timeline), Qt::Key_Period);
    EXPECT_FALSE(playback.isPlaying()) << "it would run away from where one has gone";
}

TEST_F(WindowTest, AnotherScenarioIsNotSteppedThrough)
{
    open("17-schedule-1f1b.json");
    const auto* leave = window.workspace().findChild<TransportBar*>()->findChild<QToolButton*>(QStringLiteral("leaveStepping"));
    ASSERT_TRUE(leave);
    window.run(CommandId::stepThrough);
    EXPECT_FALSE(leave->isHidden());
    open("65-schedule-zb-h1.json");
    EXPECT_FALSE(window.workspace().isStepping());
    EXPECT_TRUE(leave->isHidden());
}

TEST_F(WindowTest, PlayingMovesTheOneCursorThroughEveryPicture)
{
    open(kSixteen);
    Workspace& workspace = window.workspace();
    const int before = workspace.canvas(Picture::grid).framesDrawn();
    QTest::keyClick(&workspace.canvas(Picture::timeline), Qt::Key_Space);
    EXPECT_TRUE(window.desk().playback().isPlaying());
    window.desk().playback().advance(Playback::kSecondsASpan / 2);
    const std::int64_t middle = window.desk().selection().cursorNs;
    EXPECT_GE(middle, window.desk().step().trace->endNs / 2);
    EXPECT_LT(middle, window.desk().step().trace->endNs);
    ASSERT_TRUE(waitFor([&] { return workspace.canvas(Picture::grid).framesDrawn() > before; }));
    QTest::mouseClick(workspace.transport().playButton(), Qt::LeftButton);
    EXPECT_FALSE(window.desk().playback().isPlaying());
    workspace.transport().slider()->setValue(0);
    EXPECT_EQ(window.desk().selection().cursorNs, 0);
    EXPECT_TRUE(workspace.transport().timeText().startsWith(QLatin1Char('0')));
}

TEST_F(WindowTest, APressOnTheGrooveBringsTheTimeCursorThereAndTheTimelineFollows)
{
    open(kSixteen);
    Workspace& workspace = window.workspace();
    const auto endNs = static_cast<double>(window.desk().step().trace->endNs);
    workspace.timeline().setVisibleRange({0, std::llround(endNs / 10)});
    for (const double share : {0.75, 0.3}) {
        pressGroove(*workspace.transport().slider(), share);
        const std::int64_t cursorNs = window.desk().selection().cursorNs;
        EXPECT_NEAR(static_cast<double>(cursorNs) / endNs, share, 0.02);
        const TimeRange shown = workspace.timeline().visibleRange();
        EXPECT_LE(shown.beginNs, cursorNs) << share;
        EXPECT_GE(shown.endNs, cursorNs) << share;
        EXPECT_LT(static_cast<double>(shown.endNs - shown.beginNs), endNs / 5) << "as far into it as before";
    }
}

TEST_F(WindowTest, ASelectedRangeIsWhatIsPlayed)
{
    open(kSixteen);
    Selection selection = window.desk().selection();
    selection.range = TimeRange{1000, 5000};
    window.desk().setSelection(selection);
    EXPECT_EQ(window.desk().playback().span(), (TimeRange{1000, 5000}));
    selection.range.reset();
    window.desk().setSelection(selection);
    EXPECT_EQ(window.desk().playback().span(), (TimeRange{0, window.desk().step().trace->endNs}));
}

} // namespace
} // namespace app
