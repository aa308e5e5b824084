// Pictures keep a size in which they can be read, whatever is told beside them and whichever pages were looked at meanwhile.
#include "app/shell/plan/plan_panel.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/status_line.h"
#include "tests/app/shell/slow_run_fixture.h"

#include <QLabel>

#include <gmock/gmock.h>

namespace app {
namespace {

using namespace test;

class ReadablePictures : public SlowRunTest {
protected:
    /// For whoever wants to look at it.
    void keepPicture(const QString& name)
    {
        if (const QString to = qEnvironmentVariable("RANKSCOPE_TEST_PICTURES"); !to.isEmpty())
            window.grab().save(to + QLatin1Char('/') + name + QStringLiteral(".png"));
    }
    int heightOf(Picture picture) { return window.workspace().canvas(picture).height(); }
};

TEST_F(ReadablePictures, WhatIsToldOfAWaitTakesNoRoomFromTheTimelineOfARecordedRun)
{
    for (const QSize size : {QSize(1600, 900), QSize(1280, 720), QSize(1024, 640)}) {
        window.resize(size);
        settle();
        ASSERT_TRUE(window.openFile(path).empty());
        settle();
        RecordedPanel& panel = window.recorded();
        const int grid = panel.gridCanvas().height(), timeline = panel.timelineCanvas().height();
        for (int wait = 0; wait < 8; ++wait) {
            panel.runCommand(ViewCommand::nextWait, false);
            settle();
            ASSERT_TRUE(panel.selection().idle);
            EXPECT_EQ(panel.timelineCanvas().height(), timeline) << size.width();
            EXPECT_EQ(panel.gridCanvas().height(), grid) << size.width();
            const auto labels = panel.findChildren<QLabel*>();
            const auto told = std::ranges::find_if(labels, [&](const QLabel* label) {
                return label->isVisible() && label->text().endsWith(QString::fromStdString(panel.selection().idle->why));
            });
            ASSERT_NE(told, labels.end());
            EXPECT_GE((*told)->height(), (*told)->heightForWidth((*told)->width())) << "all of it, or it scrolls";
        }
        keepPicture(QStringLiteral("wait_%1").arg(size.width()));
        panel.runCommand(ViewCommand::clear, false);
        settle();
        EXPECT_EQ(panel.timelineCanvas().height(), timeline) << size.width();
    }
}

TEST_F(ReadablePictures, ComeBackFromARecordedRunAsTheyWereAboveAPlan)
{
    constexpr int kReadable = 115;
    open(kSixteen);
    for (const QSize size : {QSize(1600, 900), QSize(1280, 800), QSize(1280, 720), QSize(1024, 640)}) {
        window.resize(size);
        settle();
        const int alone = heightOf(Picture::grid);
        window.run(CommandId::showPlan);
        settle();
        const std::vector<Picture> front = window.workspace().inFront();
        const int grid = heightOf(Picture::grid), timeline = heightOf(Picture::timeline);
        for (int round = 0; round < 2; ++round) {
            ASSERT_TRUE(window.openFile(path).empty());
            settle();
            window.run(CommandId::gallery);
            settle();
            window.run(CommandId::gallery);
            settle();
            ASSERT_TRUE(window.planner().isVisible()) << size.width();
            for (const Picture picture : window.workspace().inFront())
                EXPECT_GE(heightOf(picture), kReadable) << static_cast<int>(picture) << " at " << size.height();
            EXPECT_EQ(window.workspace().inFront().size(), front.size()) << size.height();
            if (window.workspace().isPictureInFront(Picture::timeline)) {
                EXPECT_NEAR(heightOf(Picture::timeline), timeline, 1) << size.height();
            }
            if (window.workspace().isPictureInFront(Picture::grid)) {
                EXPECT_NEAR(heightOf(Picture::grid), grid, 1) << size.height();
            }
        }
        keepPicture(QStringLiteral("back_%1x%2").arg(size.width()).arg(size.height()));
        window.planner().setFocus();
        window.run(CommandId::showPlan);
        settle();
        EXPECT_FALSE(window.planner().isVisible());
        EXPECT_NEAR(heightOf(Picture::grid), alone, 2) << size.height() << ": as high again without the plan";
    }
}

TEST_F(ReadablePictures, HintsAndMessagesEndInAWholeWordOrInDots)
{
    open(kSixteen);
    window.setMinimumSize(512, 320);
    for (const int width : {1600, 1280, 800, 640, 560}) {
        window.resize(width, 480);
        settle();
        const auto labels = window.statusBar()->findChildren<QLabel*>();
        const auto hint = std::ranges::find_if(
            labels, [](const QLabel* label) { return label->text().startsWith(QStringLiteral("W S zoom")); });
        ASSERT_NE(hint, labels.end());
        EXPECT_LE((*hint)->sizeHint().width(), (*hint)->width()) << width;
        const QString text = (*hint)->text();
        EXPECT_TRUE(text.endsWith(QStringLiteral("shows all keys")) || text.endsWith(QStringLiteral(" · …"))) << qPrintable(text);
        const QString message = QStringLiteral(
            "A message that is longer than what is left of a narrow window's line has room for, whatever its text");
        window.statusBar()->showMessage(message);
        const auto& line = dynamic_cast<const StatusLine&>(*window.statusBar());
        EXPECT_TRUE(line.shownMessage() == message || line.shownMessage().endsWith(QStringLiteral("…")));
        EXPECT_LT(line.fontMetrics().horizontalAdvance(line.shownMessage()), window.width() - 20) << width;
        EXPECT_EQ(line.toolTip().isEmpty(), line.shownMessage() == message);
        keepPicture(QStringLiteral("message_%1").arg(width));
        window.statusBar()->clearMessage();
        settle();
        keepPicture(QStringLiteral("hint_%1").arg(width));
    }
}

} // namespace
} // namespace app
