// Where things stand in the window after what people do with it.
#include "app/session/settings.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/transport_bar.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QDialog>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QMainWindow>
#include <QPushButton>
#include <QScrollArea>
#include <QTabBar>
#include <QTest>
#include <QVBoxLayout>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class LayoutOfWindow : public testing::Test {
protected:
    LayoutOfWindow() : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1600, 900);
        window.show();
    }
    void open(const char* name)
    {
        ASSERT_TRUE(window.openFile(galleryFile(name)).empty());
        settle();
    }
    void settle()
    {
        ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
        for (int round = 0; round < 10; ++round) // nested layouts
            QCoreApplication::processEvents();
    }
    MainWindow window;
};

/// Qt keeps tab bars of places that are no more, and shows them again where they were.
TEST(DockTabs, ABarWithoutTabsCoversNothing)
{
    QMainWindow window;
    window.resize(400, 300);
    auto* bar = new QTabBar(&window);
    bar->setGeometry(0, 100, 300, 28);
    window.show();
    tidyDockTabs(window);
    EXPECT_FALSE(bar->geometry().intersects(window.rect()));
}

TEST_F(LayoutOfWindow, ADockClosedByItsOwnButtonComesBackAsHighAsItWas)
{
    open(kSixteen);
    auto* timeline = window.findChild<QDockWidget*>(QStringLiteral("picture/timeline"));
    window.resize(1366, 768);
    settle();
    const int before = timeline->height();
    timeline->close();
    settle();
    window.run(CommandId::showTimeline);
    settle();
    constexpr int kRounded = 3;
    EXPECT_NEAR(timeline->height(), before, kRounded);
}

TEST_F(LayoutOfWindow, ThePictureInFrontStaysThereWhateverTheWindowsSize)
{
    open(kSixteen);
    window.resize(1900, 1000);
    settle();
    window.run(CommandId::showStorage);
    settle();
    ASSERT_TRUE(window.workspace().isPictureInFront(Picture::storage));
    window.resize(1024, 640);
    settle();
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::storage)) << "who looks at it goes on looking at it";
    window.resize(1900, 1000);
    settle();
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::storage));
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::grid));
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::timeline));
}

/// Nobody has touched a picture: what a lesson has brought to the front is what is looked at.
TEST_F(LayoutOfWindow, WhatWasBroughtToFrontStaysThereWhateverTheWindowsSize)
{
    open(kSixteen);
    Workspace& pictures = window.workspace();
    pictures.setPictureVisible(Picture::timeline, false);
    pictures.setPictureVisible(Picture::storage, false);
    for (const QSize size : {QSize(1280, 720), QSize(1900, 1000)}) {
        window.resize(size);
        settle();
        pictures.bringToFront({Picture::memory});
        settle();
        ASSERT_TRUE(pictures.isPictureInFront(Picture::memory));
        window.resize(1024, 640);
        settle();
        EXPECT_TRUE(pictures.isPictureInFront(Picture::memory)) << "from " << size.width();
        window.resize(size);
        settle();
        EXPECT_TRUE(pictures.isPictureInFront(Picture::memory)) << "back to " << size.width();
    }
}

TEST_F(LayoutOfWindow, FindingsBelowTheNumbersCanBeRead)
{
    open(kSixteen);
    window.resize(1900, 1000);
    settle();
    auto* findings = window.findChild<QDockWidget*>(QStringLiteral("findings"));
    auto* details = window.findChild<QDockWidget*>(QStringLiteral("details"));
    ASSERT_GT(findings->mapTo(&window, QPoint()).y(), details->mapTo(&window, QPoint()).y());
    constexpr int kReadable = 200;
    for (const CommandId id : {CommandId::showOps, CommandId::showPlan, CommandId::showOps, CommandId::showPlan}) {
        window.run(id);
        settle();
        EXPECT_GE(findings->height(), kReadable);
    }
    window.resizeDocks({details, findings}, {2000, 1}, Qt::Vertical); // as somebody pulls them
    settle();
    EXPECT_GE(findings->height(), kReadable);
}

TEST_F(LayoutOfWindow, ThePlanLeavesPicturesInSightInALowWindow)
{
    open(kSixteen);
    window.setMinimumSize(512, 320); // as at text of 200 %
    window.resize(633, 340);
    settle();
    window.run(CommandId::showPlan);
    settle();
    auto* plan = window.findChild<QDockWidget*>(QStringLiteral("plan"));
    EXPECT_FALSE(plan->visibleRegion().isEmpty() && plan->widget()->visibleRegion().isEmpty());
    EXPECT_GE(window.workspace().height(), 120);
    window.resize(1600, 900);
    settle();
    EXPECT_TRUE(plan->isVisible());
    EXPECT_EQ(window.dockWidgetArea(plan), Qt::BottomDockWidgetArea);
}

/// 1024 × 640 at text of 200 %: what is asked for lies behind the form, and takes no room from the pictures.
TEST_F(LayoutOfWindow, TheTableOfOpsPushesNoPictureOutOfASmallWindow)
{
    open(kSixteen);
    window.setMinimumSize(512, 320);
    window.resize(512, 320);
    settle();
    const int before = window.workspace().width();
    auto* details = window.findChild<QDockWidget*>(QStringLiteral("details"));
    bringForward(*details);
    settle();
    for (const CommandId id : {CommandId::showOps, CommandId::showPlan}) {
        window.run(id);
        settle();
        EXPECT_EQ(window.width(), 512);
        EXPECT_GE(window.workspace().width(), before - 1);
        EXPECT_TRUE(window.rect().contains(QRect(window.workspace().mapTo(&window, QPoint(0, 0)), window.workspace().size())));
        window.run(id); // it has the focus: it goes
        settle();
        EXPECT_FALSE(details->visibleRegion().isEmpty()) << "what was in front is there again";
    }
}

/// 1280 × 720 at text of 200 %: the page scrolls, what plays its step does not.
TEST_F(LayoutOfWindow, ARecordedRunCanBePlayedInALowWindow)
{
    window.setMinimumSize(512, 320);
    window.resize(636, 345);
    ASSERT_TRUE(window.openFile(QStringLiteral(RANKSCOPE_TEST_DATA "/slow-rank")).empty());
    settle();
    const TransportBar& bar = window.recorded().transport();
    EXPECT_EQ(bar.visibleRegion().boundingRect().size(), bar.size());
    EXPECT_FALSE(bar.visibleRegion().isEmpty());
    EXPECT_GE(window.recorded().parentWidget()->height(), 120) << "and leaves room for the page";
}

TEST_F(LayoutOfWindow, TabsOfALessonAreNotCutInANarrowWindow)
{
    window.resize(1024, 640);
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    settle();
    int bars = 0;
    for (const QTabBar* bar : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (!bar->isVisible() || bar->count() < 4)
            continue;
        ++bars;
        for (int tab = 0; tab < bar->count(); ++tab)
            EXPECT_TRUE(bar->rect().contains(bar->tabRect(tab))) << bar->tabText(tab).toStdString();
    }
    EXPECT_EQ(bars, 1);
}

TEST_F(LayoutOfWindow, TheLinkOfThePriceLeadsToThePrice)
{
    open(kSixteen);
    Q_EMIT window.details().priceRequested();
    settle();
    auto* dialog = window.findChild<QDialog*>();
    ASSERT_NE(dialog, nullptr);
    const auto* asked = qobject_cast<QWidget*>(dialog->focusWidget());
    ASSERT_NE(asked, nullptr);
    EXPECT_EQ(asked->accessibleName(), QStringLiteral("Price of a GPU hour"));
    dialog->reject();
}

TEST_F(LayoutOfWindow, EscGoesBackFromTheGallery)
{
    open(kSixteen);
    window.showGallery();
    settle();
    QTest::keyClick(&window, Qt::Key_Escape);
    settle();
    EXPECT_FALSE(window.isGalleryShown());
    EXPECT_TRUE(window.workspace().isVisible());
}

TEST_F(LayoutOfWindow, HelpHasItsPlaceInALowFormToo)
{
    open(kSixteen);
    window.setMinimumSize(512, 320);
    window.resize(853, 470); // 1280 x 720 at text of 150 %
    settle();
    const auto areas = window.form().findChildren<QScrollArea*>();
    const auto help = std::find_if(areas.begin(), areas.end(), [](const QScrollArea* area) {
        return area->accessibleName() == QStringLiteral("About the setting in focus");
    });
    ASSERT_NE(help, areas.end());
    EXPECT_FALSE((*help)->widget()->visibleRegion().isEmpty()); // its text, which fills it
}

/// What is drawn in a turn is laid out: not what came last in the place of what stood there before.
TEST_F(LayoutOfWindow, NothingIsDrawnBeforeItIsLaidOut)
{
    open(kSixteen);
    auto* label = new QLabel(QStringLiteral("short"), &window);
    auto* box = new QWidget(&window);
    auto* column = new QVBoxLayout(box);
    column->addWidget(label);
    column->addStretch(1);
    box->setGeometry(0, 0, 400, 200);
    box->show();
    settle();
    const int before = label->height();
    label->setText(QStringLiteral("as\nhigh\nas\nfour lines"));
    QEvent update(QEvent::UpdateRequest); // as the window system asks for a picture at any time
    QCoreApplication::sendEvent(&window, &update);
    EXPECT_GT(label->height(), 2 * before);
    delete box;
}

} // namespace
} // namespace app
