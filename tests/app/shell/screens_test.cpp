// The window on any screen: folded docks, text of any size, docks that come back as they were, a baseline with its scenario.
#include "app/lessons/lesson_panel.h"
#include "app/session/file_kind.h"
#include "app/session/scenario_name.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/dialogs/key_sheet.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/window/text_size.h"
#include "app/shell/window/transport_bar.h"
#include "app/views/grid/grid_view.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QTabBar>
#include <QTemporaryDir>
#include <QToolBar>
#include <QToolButton>

namespace app {
namespace {

using namespace test;

class ScreensTest : public WindowTest {
protected:
    void resize(QSize size)
    {
        window.resize(size);
        settle();
    }
    QSize sizeOf(Picture picture) { return window.workspace().canvas(picture).size(); }
    static bool isInside(const QWidget& part, const QWidget& whole)
    {
        return whole.rect().contains(QRect(part.mapTo(&whole, QPoint(0, 0)), part.size()));
    }
    /// As dragging the edges of a picture does.
    void enlarge(Picture picture, int byWidth, int byHeight)
    {
        auto* dock = qobject_cast<QDockWidget*>(window.workspace().canvas(picture).parentWidget());
        auto* docks = qobject_cast<QMainWindow*>(dock->parentWidget());
        docks->resizeDocks({dock}, {dock->width() + byWidth}, Qt::Horizontal);
        docks->resizeDocks({dock}, {dock->height() + byHeight}, Qt::Vertical);
        settle();
    }
    /// But for the pixel that does not divide by two.
    static void expectSame(QSize now, QSize before)
    {
        EXPECT_NEAR(now.width(), before.width(), 1);
        EXPECT_NEAR(now.height(), before.height(), 1);
    }
    /// Of every page: what is shown of it lies inside the window.
    void expectInside()
    {
        EXPECT_TRUE(isInside(window.form(), window) || window.form().visibleRegion().isEmpty());
        EXPECT_TRUE(isInside(window.details(), window) || window.details().visibleRegion().isEmpty());
        EXPECT_TRUE(isInside(window.workspace(), window));
        EXPECT_TRUE(isInside(window.workspace().transport(), window));
    }
};

TEST_F(ScreensTest, TheWindowCanBeAsSmallAsItSays)
{
    open(kSixteen);
    for (const QSize size : {QSize(1280, 720), QSize(1366, 768), QSize(1024, 640)}) {
        resize(size);
        EXPECT_EQ(window.size(), size);
        expectInside();
    }
    EXPECT_EQ(window.minimumSize(), QSize(1024, 640));
    EXPECT_GE(sizeOf(Picture::timeline).width(), 600) << "docks share a place at the left";
}

TEST_F(ScreensTest, NarrowWindowsFoldTheirDocksAndWideOnesUnfoldThem)
{
    open(kSixteen);
    const QSize form = window.form().size(), details = window.details().size();
    resize({1024, 640});
    EXPECT_TRUE(window.form().visibleRegion().isEmpty() || window.details().visibleRegion().isEmpty());
    window.run(CommandId::showDetails);
    settle();
    EXPECT_FALSE(window.details().visibleRegion().isEmpty()) << "brought to the front";
    const int folded = window.details().width();
    window.setMinimumSize(512, 320); // as text of 200 % leaves it
    resize({512, 320});
    EXPECT_LT(window.details().width(), folded);
    resize({1024, 640});
    EXPECT_EQ(window.details().width(), folded);
    resize({1600, 900});
    expectSame(window.form().size(), form);
    expectSame(window.details().size(), details);
}

TEST_F(ScreensTest, PicturesWithoutRoomBesideEachOtherLieBehindEachOther)
{
    open(kSixteen);
    resize({1920, 1080});
    const QSize grid = sizeOf(Picture::grid);
    window.setMinimumSize(512, 320); // as at text of 200 %
    resize({640, 360});
    EXPECT_EQ(window.size(), QSize(640, 360));
    EXPECT_GE(sizeOf(Picture::timeline).height(), 100);
    expectInside();
    resize({1920, 1080});
    expectSame(sizeOf(Picture::grid), grid);
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::grid));
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::timeline));
}

TEST_F(ScreensTest, AFoldedTimelineComesBackBelowWhereThereIsRoomForIt)
{
    open(kSixteen);
    window.setMinimumSize(512, 320);
    for (const auto& [size, isBelow] : {std::pair(QSize(640, 520), true), std::pair(QSize(640, 330), false),
                                        std::pair(QSize(640, 520), true), std::pair(QSize(640, 330), false)}) {
        resize(size);
        EXPECT_EQ(window.workspace().isPictureInFront(Picture::timeline) && window.workspace().isPictureInFront(Picture::grid),
                  isBelow)
            << size.height() << ", in front " << static_cast<int>(window.workspace().inFront().front()) << " of "
            << window.workspace().inFront().size();
    }
}

TEST_F(ScreensTest, WhatIsShownBelowThePicturesLeavesATimelineThatCanBeRead)
{
    constexpr int kRowsToRead = 115;
    open(kSixteen);
    window.setMinimumSize(1024, 600);
    for (const QSize size : {QSize(1024, 600), QSize(1024, 640), QSize(1280, 720)}) { // the first within a window's frame
        resize(size);
        for (const CommandId below : {CommandId::showPlan, CommandId::showOps, CommandId::stepThrough}) {
            window.run(below);
            settle();
            window.workspace().setPictureVisible(Picture::timeline, true);
            settle();
            EXPECT_GE(sizeOf(Picture::timeline).height(), kRowsToRead) << static_cast<int>(below) << " at " << size.height();
            EXPECT_EQ(window.size(), size);
            expectInside();
            window.run(below);
            settle();
        }
    }
}

TEST_F(ScreensTest, APictureThatIsHiddenUncoversTheOneItCovered)
{
    open(kSixteen);
    resize({1600, 900});
    Workspace& workspace = window.workspace();
    workspace.setPictureVisible(Picture::block, false);
    workspace.setPictureVisible(Picture::memory, true);
    settle();
    ASSERT_TRUE(workspace.isPictureInFront(Picture::memory));
    workspace.setPictureVisible(Picture::block, true);
    settle();
    ASSERT_FALSE(workspace.isPictureInFront(Picture::memory));
    workspace.setPictureVisible(Picture::block, false);
    settle();
    EXPECT_TRUE(workspace.isPictureInFront(Picture::memory));
}

TEST_F(ScreensTest, EveryPictureHasItsTabAtEverySize)
{
    open(kSixteen);
    for (const QSize size : {QSize(1264, 690), QSize(1600, 900), QSize(1050, 690), QSize(1600, 900), QSize(1024, 640)}) {
        resize(size);
        QStringList tabs;
        for (const QTabBar* bar : window.workspace().findChildren<QTabBar*>())
            for (int tab = 0; bar->isVisible() && tab < bar->count(); ++tab)
                tabs << bar->tabText(tab);
        EXPECT_TRUE(tabs.contains(QStringLiteral("Traffic")))
            << size.width() << ": " << tabs.join(QLatin1Char(' ')).toStdString();
        EXPECT_TRUE(tabs.contains(QStringLiteral("Storage")))
            << size.width() << ": " << tabs.join(QLatin1Char(' ')).toStdString();
    }
}

TEST_F(ScreensTest, PicturesKeepTheirSharesWhateverTheWindowsSize)
{
    open(kSixteen);
    resize({1920, 1080});
    const auto share = [&] {
        const double grid = sizeOf(Picture::grid).width(), memory = sizeOf(Picture::memory).width();
        return grid / (grid + memory);
    };
    const auto low = [&] {
        const double grid = sizeOf(Picture::grid).height(), timeline = sizeOf(Picture::timeline).height();
        return grid / (grid + timeline);
    };
    enlarge(Picture::grid, -60, 50);
    const double before = share(), beforeLow = low();
    for (const QSize size : {QSize(1940, 1080), QSize(2200, 1200), QSize(1900, 1000), QSize(1920, 1080)}) {
        resize(size);
        constexpr double kAbout = 0.02;
        EXPECT_NEAR(share(), before, kAbout) << size.width();
        EXPECT_NEAR(low(), beforeLow, kAbout) << size.height();
    }
}

TEST_F(ScreensTest, ALayoutOfAnotherScreenKeepsItsShares)
{
    open(kSixteen);
    resize({1920, 1080});
    enlarge(Picture::grid, -60, 50);
    const QSize grid = sizeOf(Picture::grid), memory = sizeOf(Picture::memory);
    QByteArray kept = window.workspace().saveLayout();
    for (const QSize size : {QSize(2000, 1100), QSize(1900, 1000), QSize(1920, 1080)}) {
        MainWindow next(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
        next.resize(size);
        next.workspace().restoreLayout(kept);
        next.show();
        ASSERT_TRUE(next.openFile(galleryFile(kSixteen)).empty());
        ASSERT_TRUE(waitFor([&] { return next.isSettled(); }));
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        kept = next.workspace().saveLayout();
        if (size == QSize(1920, 1080)) {
            constexpr int kAbout = 8;
            EXPECT_NEAR(next.workspace().canvas(Picture::grid).width(), grid.width(), kAbout);
            EXPECT_NEAR(next.workspace().canvas(Picture::grid).height(), grid.height(), kAbout);
            EXPECT_NEAR(next.workspace().canvas(Picture::memory).width(), memory.width(), kAbout);
        }
    }
}

namespace {

/// Of what is in front beside others: names do not run into numbers.
constexpr int kReadable = 360;

} // namespace

TEST_F(ScreensTest, APictureThatIsAskedForNeverSqueezesOthersNorIsSqueezed)
{
    open(kSixteen);
    for (const QSize size : {QSize(1280, 720), QSize(1366, 768), QSize(1600, 900), QSize(1920, 1080)}) {
        resize(size);
        window.workspace().setPictureVisible(Picture::block, false);
        window.run(CommandId::showBlock);
        settle();
        EXPECT_TRUE(window.workspace().isPictureInFront(Picture::block));
        for (const PictureInfo& info : pictures())
            if (window.workspace().isPictureInFront(info.picture)) {
                EXPECT_GE(sizeOf(info.picture).width(), kReadable) << info.name << " at " << size.width();
            }
    }
}

TEST_F(ScreensTest, ALayoutOfAWideScreenIsTabsOnANarrowOne)
{
    open(kSixteen);
    resize({1920, 1080});
    ASSERT_TRUE(window.workspace().isPictureInFront(Picture::memory)) << "beside the grid";
    const QByteArray kept = window.workspace().saveLayout();
    for (const QSize size : {QSize(1024, 640), QSize(1366, 768), QSize(1600, 900)}) {
        MainWindow next(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
        next.resize(size);
        next.workspace().restoreLayout(kept);
        next.show();
        ASSERT_TRUE(next.openFile(galleryFile(kSixteen)).empty());
        ASSERT_TRUE(waitFor([&] { return next.isSettled(); }));
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        EXPECT_TRUE(next.workspace().isPictureInFront(Picture::grid)) << size.width();
        EXPECT_FALSE(next.workspace().isPictureInFront(Picture::memory)) << size.width() << ": behind the grid";
        next.workspace().setPictureVisible(Picture::block, true);
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        EXPECT_GE(next.workspace().canvas(Picture::block).width(), kReadable) << size.width();
    }
}

TEST_F(ScreensTest, TheViewThatIsAskedForIsInFrontWhateverIsRemembered)
{
    open(kSixteen);
    window.workspace().setPictureVisible(Picture::block, false);
    const QByteArray kept = window.workspace().saveLayout();
    for (const Picture asked : {Picture::block, Picture::memory, Picture::storage}) {
        MainWindow next(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
        next.resize(1366, 768);
        next.workspace().restoreLayout(kept);
        next.showInFront(asked);
        ASSERT_TRUE(next.openFile(galleryFile(kSixteen)).empty());
        next.show();
        ASSERT_TRUE(waitFor([&] { return next.isSettled(); }));
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        EXPECT_TRUE(next.workspace().isPictureInFront(asked)) << pictureInfo(asked).name;
        EXPECT_TRUE(next.workspace().isPictureVisible(Picture::grid)) << "the others are still there";
    }
}

TEST_F(ScreensTest, TabsOfDocksAreWholeAlsoInARestoredLayout)
{
    open(kSixteen);
    resize({1280, 720});
    window.run(CommandId::gallery);
    settle();
    window.run(CommandId::gallery);
    settle();
    int seen = 0;
    for (const QTabBar* bar : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
        if (bar->isVisible()) {
            ++seen;
            EXPECT_EQ(bar->elideMode(), Qt::ElideNone);
            EXPECT_FALSE(bar->drawBase()) << "a line in another colour at the right of the tabs";
        }
    EXPECT_GT(seen, 0);
}

TEST_F(ScreensTest, ADockAloneInItsPlaceHasItsTitle)
{
    resize({1280, 720});
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    window.run(CommandId::gallery);
    open(kSixteen); // the lesson is over; its dock keeps its place behind the numbers
    resize({1600, 900});
    auto* details = window.findChild<QDockWidget*>(QStringLiteral("details"));
    for (const QDockWidget* other : window.tabifiedDockWidgets(details))
        ASSERT_TRUE(other->isHidden()) << other->windowTitle().toStdString();
    EXPECT_EQ(details->titleBarWidget(), nullptr) << "nothing else says what it is";
}

TEST_F(ScreensTest, TheKeysHaveAsManyColumnsAsTheScreenHasRoomFor)
{
    open(kSixteen);
    window.run(CommandId::keys);
    settle();
    const auto* sheet = window.findChild<KeySheet*>();
    ASSERT_NE(sheet, nullptr);
    ASSERT_LE(sheet->width(), sheet->screen()->availableSize().width());
    EXPECT_EQ(sheet->findChild<QScrollArea*>()->horizontalScrollBar()->maximum(), 0) << "a column is cut";
}

TEST_F(ScreensTest, EveryToolHasItsPlaceInTheNarrowestWindow)
{
    open(kSixteen);
    window.setMinimumSize(500, 300); // as at text of 200 %
    resize({506, 300});
    auto* bar = window.findChild<QToolBar*>(QStringLiteral("tools"));
    for (const CommandId id : {CommandId::newScenario, CommandId::trainScenario, CommandId::palette, CommandId::keys}) {
        const QString text = textOf(command(id)).remove(QLatin1Char('&'));
        const auto buttons = bar->findChildren<QToolButton*>();
        const auto found = std::find_if(buttons.begin(), buttons.end(), [&](const QToolButton* b) {
            return b->defaultAction() && b->defaultAction()->text().remove(QLatin1Char('&')) == text;
        });
        ASSERT_NE(found, buttons.end()) << text.toStdString();
        EXPECT_TRUE((*found)->isVisible() && isInside(**found, *bar)) << text.toStdString();
    }
    EXPECT_GE(sizeOf(Picture::timeline).width(), 200);
    expectInside();
}

TEST_F(ScreensTest, ThePicturesComeBackFromOtherPagesAsTheyWere)
{
    open(kSixteen);
    const QSize grid = sizeOf(Picture::grid), timeline = sizeOf(Picture::timeline);
    for (int round = 0; round < 2; ++round) {
        for (const CommandId page : {CommandId::showCompare, CommandId::gallery}) {
            window.run(page);
            settle();
            window.run(page);
            settle();
            expectSame(sizeOf(Picture::grid), grid);
            expectSame(sizeOf(Picture::timeline), timeline);
        }
    }
}

TEST_F(ScreensTest, APictureIsHiddenOnlyWhenItHasTheFocus)
{
    open(kSixteen);
    Workspace& workspace = window.workspace();
    const QSize grid = sizeOf(Picture::grid);
    workspace.canvas(Picture::timeline).setFocus();
    window.run(CommandId::showTimeline); // the ring had not been there: nobody saw that it has the keyboard
    EXPECT_TRUE(workspace.isPictureVisible(Picture::timeline));
    EXPECT_TRUE(workspace.canvas(Picture::timeline).hasFocusRing());
    window.run(CommandId::showGrid);
    EXPECT_TRUE(workspace.isPictureVisible(Picture::grid));
    EXPECT_TRUE(workspace.canvas(Picture::grid).hasFocus());
    window.run(CommandId::showGrid);
    EXPECT_FALSE(workspace.isPictureVisible(Picture::grid));
    window.run(CommandId::showGrid);
    settle();
    EXPECT_TRUE(workspace.isPictureVisible(Picture::grid));
    expectSame(sizeOf(Picture::grid), grid);
    window.run(CommandId::showStorage);
    settle();
    EXPECT_TRUE(workspace.isPictureInFront(Picture::storage));
    window.run(CommandId::showStorage);
    window.run(CommandId::showStorage);
    settle();
    expectSame(sizeOf(Picture::grid), grid);
}

TEST_F(ScreensTest, TheUsualLayoutHasEveryPictureButThoseThatWaitToBeAskedFor)
{
    open(kSixteen);
    for (const Picture hidden : {Picture::storage, Picture::memory, Picture::grid}) {
        window.workspace().setPictureVisible(hidden, false);
        window.run(CommandId::resetLayout);
        settle();
        for (const PictureInfo& info : pictures()) {
            EXPECT_EQ(window.workspace().isPictureVisible(info.picture), !info.whenAsked) << info.name;
            window.workspace().setPictureVisible(info.picture, true);
            settle();
            EXPECT_TRUE(window.workspace().isPictureInFront(info.picture)) << info.name << " has a tab of its own";
        }
    }
}

TEST(TextSize, GrowsAtOnceAndGoesBack)
{
    EXPECT_EQ(nextTextSize(100, +1), 110);
    EXPECT_EQ(nextTextSize(100, -1), 100);
    EXPECT_EQ(nextTextSize(130, -1), 125);
    EXPECT_EQ(nextTextSize(200, +1), 200);
    QWidget shown;
    shown.resize(800, 600);
    shown.show();
    QCoreApplication::processEvents();
    {
        TextSize size;
        size.set(200);
        QCoreApplication::processEvents();
        EXPECT_DOUBLE_EQ(shown.devicePixelRatioF(), 2);
        EXPECT_EQ(shown.size(), QSize(400, 300)) << "the same pixels";
    }
    QCoreApplication::processEvents();
    EXPECT_DOUBLE_EQ(shown.devicePixelRatioF(), 1);
    EXPECT_EQ(shown.size(), QSize(800, 600));
}

TEST_F(ScreensTest, TheBaselineBelongsToItsScenario)
{
    open(kSixteen);
    window.run(CommandId::pinBaseline);
    ASSERT_TRUE(window.desk().baseline().isPinned());
    window.run(CommandId::pinBaseline);
    EXPECT_TRUE(window.desk().baseline().isPinned()) << "the key that pins never forgets";
    open(kTiny);
    EXPECT_FALSE(window.desk().baseline().isPinned()) << "it was of another scenario";
    window.run(CommandId::pinBaseline);
    window.run(CommandId::forgetBaseline);
    EXPECT_FALSE(window.desk().baseline().isPinned());
}

TEST_F(ScreensTest, DetailsSayWhatTheyTellChangesAgainst)
{
    open(kSixteen);
    const auto says = [&](const char* words) {
        const auto labels = window.details().findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* l) { return l->isVisible() && l->text().contains(QString::fromUtf8(words)); });
    };
    EXPECT_FALSE(says("▲▼ against"));
    window.form().rowAt(Control::tp)->chosen(QStringLiteral("4"), 0);
    settle();
    EXPECT_TRUE(says("▲▼ against the step before"));
    window.run(CommandId::pinBaseline);
    settle();
    EXPECT_TRUE(says("▲▼ against the baseline “Sixteen ranks, four dimensions, now"));
}

TEST(Changes, AreTimesWhereTheyAreLarge)
{
    EXPECT_EQ(ratioText(12.97), QStringLiteral("13 ×"));
    EXPECT_EQ(ratioText(4.24), QStringLiteral("4.2 ×"));
    EXPECT_EQ(ratioText(1.042), QStringLiteral("4.2 %"));
    EXPECT_EQ(ratioText(0.5), QStringLiteral("50 %"));
}

TEST_F(ScreensTest, ANameSaysWhatHasChanged)
{
    open("16-schedule-gpipe.json");
    EXPECT_EQ(window.session().displayName(), QStringLiteral("Pipeline schedules 1: GPipe"));
    window.session().edit(makeScheduleEdit(window.session().document(), window.session().scenario(), "1f1b"));
    settle();
    const sim::Scenario& now = *window.session().scenario();
    EXPECT_EQ(window.session().displayName(),
              QStringLiteral("Pipeline schedules 1: GPipe, now 1F1B, pp %1, m %2").arg(now.layout.pp).arg(now.microbatches()));
    window.session().edit({{{"/name", std::nullopt}}, "name", 0});
    EXPECT_EQ(window.session().displayName(), generatedName(now)) << "and follows the settings";
}

TEST_F(ScreensTest, HelpStandsInItsOwnPlace)
{
    open(kSixteen);
    NumberRow* tp = window.form().row(Control::tp);
    window.form().focusSearch();
    const QPoint before = window.form().row(Control::pp)->mapTo(&window, QPoint());
    tp->spinBox()->setFocus();
    settle();
    EXPECT_EQ(window.form().row(Control::pp)->mapTo(&window, QPoint()), before) << "nothing moves";
    EXPECT_TRUE(window.form().helpText().contains(QStringLiteral("Possible: 1, 2, 4")));
}

/// However large the text, and wherever it is scrolled to, by the wheel or by its bar.
TEST_F(ScreensTest, HelpShowsWholeLines)
{
    open(kSixteen);
    auto* area = window.form().findChild<QScrollArea*>(QStringLiteral("formHelp"));
    ASSERT_TRUE(area);
    window.form().row(Control::dp)->spinBox()->setFocus();
    settle();
    for (int larger = 0; larger < 3; ++larger) {
        const auto* text = qobject_cast<QLabel*>(area->widget());
        const int line = QFontMetrics(text->font()).lineSpacing();
        EXPECT_EQ(area->viewport()->height() % line, 0);
        QScrollBar* bar = area->verticalScrollBar();
        EXPECT_GT(bar->maximum(), 0) << "longer than its place";
        for (int wheel = 0; wheel < 4; ++wheel) {
            EXPECT_EQ(bar->value() % line, 0) << bar->value();
            bar->triggerAction(QAbstractSlider::SliderSingleStepAdd);
        }
        EXPECT_EQ(bar->maximum() % line, 0);
        for (int dragged = 0; dragged <= bar->maximum(); ++dragged) { // its bar, or a touchpad
            bar->setSliderPosition(dragged);
            EXPECT_EQ(text->y() % line, 0) << dragged << " of " << bar->maximum();
            EXPECT_LT(std::abs(text->y() + dragged), line);
        }
        EXPECT_EQ(text->y(), -bar->maximum()) << "the last line is in sight";
        bar->setValue(0);
        window.run(CommandId::textLarger);
        settle();
    }
    window.run(CommandId::textUsual);
    settle();
}

TEST_F(ScreensTest, APressOnTheGrooveIsOneGesture)
{
    open(kSixteen);
    QSlider* slider = window.form().row(Control::tp)->slider();
    ASSERT_GE(slider->maximum(), 2);
    const int steps = window.session().undoStack().count();
    const int y = slider->height() / 2;
    QTest::mousePress(slider, Qt::LeftButton, {}, {slider->width() - 12, y});
    QTest::mouseMove(slider, {slider->width() / 2, y});
    QTest::mouseMove(slider, {slider->width() - 4, y});
    QTest::mouseRelease(slider, Qt::LeftButton, {}, {slider->width() - 4, y});
    settle();
    EXPECT_EQ(slider->value(), slider->maximum()) << "the handle comes to the pointer";
    EXPECT_EQ(window.session().undoStack().count(), steps + 1);
}

TEST_F(ScreensTest, FindingsAreNeverOfTheStepBefore)
{
    open(kSixteen);
    QString atStep;
    QObject::connect(&window.desk(), &Desk::stepChanged, &window, [&] { atStep = window.findings().text(); });
    window.form().rowAt(Control::tp)->chosen(QStringLiteral("4"), 0);
    settle();
    EXPECT_EQ(atStep, QStringLiteral("Looking at this step…"));
    EXPECT_NE(window.findings().text(), atStep);
}

TEST_F(ScreensTest, SteppingMovesTheTimeCursorAndTheLensAndLeavesWithEsc)
{
    open(kSixteen);
    Workspace& workspace = window.workspace();
    auto& grid = static_cast<GridView&>(workspace.view(Picture::grid));
    const GridLens before = grid.lens();
    window.run(CommandId::stepThrough);
    EXPECT_EQ(grid.lens(), GridLens::now);
    const auto buttons = workspace.transport().findChildren<QToolButton*>();
    const auto next = std::find_if(buttons.begin(), buttons.end(),
                                   [](const QToolButton* b) { return b->accessibleName() == QLatin1String("Next action"); });
    ASSERT_NE(next, buttons.end());
    EXPECT_TRUE((*next)->isVisible());
    for (int step = 0; step < 8; ++step)
        (*next)->click();
    EXPECT_GT(window.desk().selection().cursorNs, 0);
    QTest::keyClick(&workspace.canvas(Picture::timeline), Qt::Key_Escape);
    EXPECT_FALSE(workspace.isStepping());
    EXPECT_EQ(grid.lens(), before);
    EXPECT_FALSE((*next)->isVisible());
}

TEST_F(ScreensTest, TheNarrowestWindowTellsTheTimeAndTheScenario)
{
    open(kSixteen);
    window.setMinimumSize(512, 320); // 1024 × 640 at text of 200 %
    resize({512, 320});
    TransportBar& transport = window.workspace().transport();
    window.workspace().transport().slider()->setValue(transport.slider()->maximum() / 2);
    settle();
    bool tellsTime = false;
    for (const QLabel* label : transport.findChildren<QLabel*>())
        tellsTime = tellsTime || (label->isVisible() && !label->text().isEmpty() && label->text() == transport.timeText() &&
                                  label->fontMetrics().horizontalAdvance(label->text()) <= label->width());
    EXPECT_TRUE(tellsTime) << transport.timeText().toStdString();
    EXPECT_GE(transport.slider()->width(), 40);
    for (const QWidget* part : transport.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
        EXPECT_TRUE(!part->isVisible() || isInside(*part, transport)) << part->metaObject()->className();
    bool isNamed = false;
    for (const ElidedLabel* label : window.findChildren<ElidedLabel*>())
        isNamed =
            isNamed || (label->isVisible() && label->accessibleName() == window.session().displayName() && label->width() >= 110);
    EXPECT_TRUE(isNamed) << "more than two letters of its name";
    window.run(CommandId::stepThrough);
    settle();
    for (const QWidget* part : transport.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
        if (part->isVisible()) {
            EXPECT_TRUE(isInside(*part, transport)) << part->metaObject()->className() << " while stepping";
            EXPECT_GE(part->width(), part->minimumSizeHint().width()) << part->metaObject()->className() << " is cut";
        }
}

TEST_F(ScreensTest, WhatIsSearchedForGoesWithItsScenario)
{
    open(kSixteen);
    auto* search = window.form().findChild<QLineEdit*>();
    ASSERT_EQ(search->accessibleName(), QStringLiteral("Find a setting"));
    search->setText(QStringLiteral("batch"));
    EXPECT_GT(window.workspace().findSpans(QStringLiteral("F1")), 0U);
    EXPECT_TRUE(window.workspace().timeline().findNext());
    open(kTiny);
    EXPECT_TRUE(search->text().isEmpty());
    EXPECT_FALSE(search->isUndoAvailable()) << "Ctrl+Z is of the scenario's changes again";
    EXPECT_FALSE(window.workspace().timeline().findNext()) << "nothing is lit any more";
}

TEST_F(ScreensTest, PlayingShowsWhatRanksDoNow)
{
    open(kSixteen);
    auto& grid = static_cast<GridView&>(window.workspace().view(Picture::grid));
    ASSERT_NE(grid.lens(), GridLens::now);
    window.run(CommandId::play);
    EXPECT_EQ(grid.lens(), GridLens::now);
    window.desk().playback().pause();
}

TEST_F(ScreensTest, MenusAreShortEnoughToBeRead)
{
    for (const QAction* top : window.menuBar()->actions()) {
        const QList<QAction*> entries = top->menu()->actions();
        const auto count = std::count_if(entries.begin(), entries.end(), [](const QAction* a) { return !a->isSeparator(); });
        const QString name = top->text().remove(QLatin1Char('&'));
        EXPECT_LE(count, 12) << name.toStdString();
        EXPECT_GE(count, 3) << top->text().toStdString();
    }
    for (const QMenu* menu : window.menuBar()->findChildren<QMenu*>()) {
        QString letters;
        for (const QAction* entry : menu->actions())
            if (const qsizetype at = entry->text().indexOf(QLatin1Char('&')); at >= 0)
                letters += entry->text()[at + 1].toLower();
        for (const QChar letter : letters)
            EXPECT_EQ(letters.count(letter), 1) << menu->title().toStdString() << ": " << QString(letter).toStdString();
    }
}

TEST_F(ScreensTest, APictureKeepsTheKeyboardWhateverTheSizeOfItsWindow)
{
    open(kSixteen);
    QApplication::setActiveWindow(&window);
    window.setMinimumSize(512, 320);
    for (const Picture picture : {Picture::timeline, Picture::grid}) {
        resize({1366, 768});
        CanvasWidget& canvas = window.workspace().canvas(picture);
        canvas.setFocus();
        for (const QSize size : {QSize(1024, 640), QSize(1366, 768), QSize(1600, 900)}) {
            resize(size);
            ASSERT_TRUE(window.workspace().isPictureInFront(picture)) << size.width();
            EXPECT_EQ(window.focusWidget(), &canvas) << static_cast<int>(picture) << " at " << size.width();
        }
    }
}

/// 1366 × 768 and 1024 × 640 with text of 150 %.
TEST_F(ScreensTest, AToolBarThatHadNoRoomForAllOfItHasItAgain)
{
    open(kSixteen);
    auto* bar = window.findChild<QToolBar*>(QStringLiteral("tools"));
    ASSERT_TRUE(bar);
    window.setMinimumSize(512, 320);
    for (const QSize size : {QSize(910, 512), QSize(682, 426), QSize(600, 426), QSize(682, 426), QSize(910, 512)}) {
        resize(size);
        if (size.width() < 682) // narrower than any screen of the least size
            continue;
        for (QAction* action : bar->actions()) {
            if (const auto* tool = qobject_cast<QToolButton*>(bar->widgetForAction(action))) {
                EXPECT_TRUE(tool->isVisible() && isInside(*tool, *bar)) << tool->text().toStdString() << " at " << size.width();
            }
        }
    }
}

/// Once round by Tab: each stop is in sight and looks otherwise with the keyboard than without.
TEST_F(ScreensTest, EveryTabStopIsSeenToHaveTheKeyboard)
{
    open(kSixteen);
    resize({1280, 720}); // numbers and findings are tabs of one place
    QApplication::setActiveWindow(&window);
    const auto look = [this](const QWidget& at) {
        constexpr int kAround = 3; // of a stepper the frame shows it
        return window.grab(QRect(at.mapTo(&window, QPoint(0, 0)), at.size()).adjusted(-kAround, -kAround, kAround, kAround))
            .toImage();
    };
    std::set<const QWidget*> seen;
    for (QWidget* at = window.focusWidget(); seen.insert(at).second; at = window.focusWidget()) {
        QTest::keyClick(at, Qt::Key_Tab);
        QWidget* const stop = window.focusWidget();
        const std::string name = stop->metaObject()->className() + (" “" + stop->accessibleName() + "”").toStdString();
        QCoreApplication::processEvents(); // what scrolls brings it into sight
        EXPECT_FALSE(stop->visibleRegion().isEmpty()) << name;
        const QImage with = look(*stop);
        stop->clearFocus();
        const QImage without = look(*stop);
        stop->setFocus(Qt::TabFocusReason);
        int differ = 0;
        for (int y = 0; y < with.height(); ++y)
            for (int x = 0; x < with.width(); ++x)
                differ += with.pixel(x, y) != without.pixel(x, y) ? 1 : 0;
        constexpr int kAHandle = 60; // of a slider, filled
        EXPECT_GE(differ, kAHandle) << name;
    }
    EXPECT_GT(seen.size(), 40U);
    for (const Picture picture : {Picture::grid, Picture::timeline}) // of which one covers all of its dock
        EXPECT_TRUE(seen.contains(&window.workspace().canvas(picture))) << static_cast<int>(picture);
}

TEST(FileKind, TellsPicturesAndTextsFromScenarios)
{
    EXPECT_EQ(otherKind("\x89PNG\r\n"), "a picture (PNG)");
    EXPECT_EQ(otherKind("Dear reader,\nthis is no scenario"), "a text, not JSON");
    EXPECT_EQ(otherKind("  { \"format\": \"rankscope-scenario\" }"), "");
    EXPECT_EQ(otherKind("{\"traceEvents\": []}"), "a trace (Chrome trace events)");
    EXPECT_EQ(otherKind(std::string_view("\xff\xfe{\0", 4)), ""); // whose reader names the encoding
    EXPECT_EQ(otherKind(std::string_view("\xfe\xff\0{", 4)), "");
    EXPECT_EQ(otherKind(std::string_view("\0\1\2", 3)), "neither text nor a file known here");
}

TEST_F(ScreensTest, LargeFilesAreReadBesideTheWindow)
{
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("large.json")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(document(kTiny).text()) + QByteArray(6 << 20, ' '));
    file.close();
    int heard = 0; // while it is read, the window's thread goes on
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [&] { ++heard; });
    timer.start(0);
    ASSERT_TRUE(window.openFile(file.fileName()).empty());
    EXPECT_GT(heard, 0);
    settle();
    EXPECT_EQ(shownLayout().tp, 2);
}

} // namespace
} // namespace app
