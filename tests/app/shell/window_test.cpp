#include "app/canvas/recorder_canvas.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/dialogs/command_palette.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_cards.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/stacked_bar.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/app/shell/cut_labels.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QTemporaryDir>
#include <QToolButton>
#include <QUrl>

#include <QMenu>

#include <QStatusBar>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

TEST_F(WindowTest, BeginsWithTheGallery)
{
    EXPECT_TRUE(window.isGalleryShown());
    EXPECT_GE(window.gallery().shownFiles().size(), 25);
    window.gallery().search(QStringLiteral("405b 131K"));
    EXPECT_EQ(window.gallery().shownFiles(), QStringList{galleryFile("43-llama3-405b-131k-context.json")});
    EXPECT_FALSE(window.isEnabled(CommandId::save));
    EXPECT_TRUE(window.isEnabled(CommandId::open));
    EXPECT_EQ(window.windowTitle(), QStringLiteral("Rankscope"));
}

TEST_F(WindowTest, OneClickOpensAScenarioWithEverythingOnScreen)
{
    window.gallery().search(QStringLiteral("sixteen four dimensions"));
    auto* cards = window.gallery().findChild<CardList*>();
    QTest::mouseClick(cards->viewport(), Qt::LeftButton, {}, cards->visualRect(cards->model()->index(0, 0)).center());
    settle();
    ASSERT_FALSE(window.isGalleryShown());
    ASSERT_TRUE(window.desk().simulation());
    EXPECT_EQ(shownLayout().worldSize(), 16);
    EXPECT_TRUE(window.windowTitle().startsWith(QStringLiteral("Sixteen ranks")));
    const auto cardsShown = window.details().findChildren<MetricCard*>();
    EXPECT_GE(cardsShown.size(), 6);
    for (const MetricCard* card : cardsShown)
        EXPECT_TRUE(card->isHidden() || !card->accessibleDescription().isEmpty()) << card->accessibleName().toStdString();
    EXPECT_GT(window.workspace().canvas(Picture::grid).nodes().size(), 15U);
    EXPECT_FALSE(window.isWindowModified());
}

TEST_F(WindowTest, PointingAtARankShowsItsPlaceAndGroups)
{
    open(kSixteen);
    pointAt(Picture::grid, middleOf(Picture::grid, 13));
    EXPECT_EQ(window.desk().selection().hoveredRank, 13);
    // Megatron's order tp-cp-pp-dp of 2·2·2·2: 13 = tp 1, cp 0, pp 1, dp 1.
    EXPECT_TRUE(window.details().rankText().contains(QStringLiteral("Rank 13")));
    EXPECT_TRUE(window.details().rankText().contains(QStringLiteral("tp 1 · cp 0 · pp 1 · dp 1")))
        << window.details().rankText().toStdString();
    pointAt(Picture::grid, middleOf(Picture::grid, 2));
    EXPECT_TRUE(window.details().rankText().contains(QStringLiteral("Rank 2")));
}

TEST_F(WindowTest, AClickedRankStaysWhenThePointerLeaves)
{
    open(kSixteen);
    QTest::mouseClick(&window.workspace().canvas(Picture::grid), Qt::LeftButton, {}, middleOf(Picture::grid, 5));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&window.workspace().canvas(Picture::grid), &leave);
    QCoreApplication::processEvents();
    EXPECT_EQ(window.desk().selection().selectedRank, 5);
    EXPECT_TRUE(window.details().rankText().contains(QStringLiteral("Rank 5")));
}

TEST_F(WindowTest, PointingAtASpanShowsIt)
{
    open(kSixteen);
    const auto& nodes = window.workspace().canvas(Picture::timeline).nodes();
    const auto widest = std::max_element(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
        return (a.role == "span" ? a.rect.width() : 0) < (b.role == "span" ? b.rect.width() : 0);
    });
    ASSERT_NE(widest, nodes.end());
    ASSERT_EQ(widest->role, "span");
    pointAt(Picture::timeline, middleOf(Picture::timeline, widest->id));
    ASSERT_TRUE(window.desk().selection().hoveredSpan);
    EXPECT_TRUE(window.details().spanText().contains(QStringLiteral("stage"))) << window.details().spanText().toStdString();
    EXPECT_FALSE(window.workspace().pointedText().isEmpty());
}

TEST_F(WindowTest, AWaitThatIsWalkedToIsToldInTheDetailsUntilNothingIsSelected)
{
    open(kSixteen);
    CanvasWidget& timeline = window.workspace().canvas(Picture::timeline);
    QTest::keyClick(&timeline, Qt::Key_G);
    ASSERT_TRUE(waitFor([&] { return window.details().idleText().contains(QStringLiteral("waits for")); }));
    ASSERT_TRUE(window.desk().selection().idle);
    EXPECT_TRUE(window.details().idleText().endsWith(QString::fromStdString(window.desk().selection().idle->why)));
    QTest::keyClick(&timeline, Qt::Key_Escape);
    EXPECT_TRUE(waitFor([&] { return window.details().idleText().trimmed().isEmpty(); })) << "nothing of what was";
}

TEST_F(WindowTest, MarksOfAFileAreNoneOfTheNext)
{
    open(kSixteen);
    window.workspace().timeline().addMark({0, 1000}, "mine");
    open(kTiny);
    EXPECT_TRUE(window.workspace().timeline().marks().empty());
}

TEST_F(WindowTest, AKeyOfTheTimelineFindsItWhereverThePointerRests)
{
    open(kSixteen);
    pointAt(Picture::grid, middleOf(Picture::grid, 3));
    QCursor::setPos(window.workspace().canvas(Picture::grid).mapToGlobal(middleOf(Picture::grid, 3)));
    window.run(CommandId::criticalPath);
    EXPECT_TRUE(window.workspace().timeline().criticalPath());
}

TEST_F(WindowTest, APictureThatAKeyWentToHasTheKeysUntilThePointerMoves)
{
    open(kSixteen);
    const CanvasWidget& grid = window.workspace().canvas(Picture::grid);
    const QPoint onRank = middleOf(Picture::grid, 3);
    QCursor::setPos(grid.mapToGlobal(onRank));
    window.run(CommandId::showTimeline);
    window.run(CommandId::next);
    EXPECT_TRUE(window.desk().selection().selectedSpan) << "the timeline has the focus frame";
    const auto ofSpan = window.desk().selection().selectedRank;
    QCursor::setPos(grid.mapToGlobal(onRank + QPoint(3, 0)));
    window.run(CommandId::next);
    EXPECT_NE(window.desk().selection().selectedRank, ofSpan) << "the grid's now, which lies under the pointer";
}

TEST_F(WindowTest, ThePaletteOffersOnlyWhatCanBeRun)
{
    window.run(CommandId::palette);
    const auto offered = [&] { return window.findChild<CommandPalette*>()->shown(); };
    EXPECT_TRUE(offered().contains(QStringLiteral("Open")));
    EXPECT_FALSE(offered().contains(QStringLiteral("Save"))) << "there is nothing to save in the gallery";
    EXPECT_FALSE(offered().contains(QStringLiteral("Command Palette")));
    delete window.findChild<CommandPalette*>();
    open(kSixteen);
    window.run(CommandId::palette);
    EXPECT_TRUE(offered().contains(QStringLiteral("Save")));
}

TEST(ThePalette, OpensScenariosOfAGalleryThatWasNeverShown)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.show();
    ASSERT_TRUE(window.openFile(galleryFile(kTiny)).empty());
    window.run(CommandId::palette);
    auto* palette = window.findChild<CommandPalette*>();
    palette->setFilter(QStringLiteral("deepseek"));
    ASSERT_FALSE(palette->shown().isEmpty());
    EXPECT_TRUE(palette->shown().front().contains(QStringLiteral("DeepSeek"))) << palette->shown().front().toStdString();
    QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
    QCoreApplication::processEvents();
    EXPECT_TRUE(window.session().displayName().contains(QStringLiteral("DeepSeek")));
}

TEST_F(WindowTest, ABadFileTellsAllItsProblemsAndLeavesTheOpenOne)
{
    open(kSixteen);
    const SimulationPtr before = window.desk().simulation();
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("bad.json")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":{"base":"dgx-h100","nodes":1},)"
               R"("layout":{"tp":3,"pp":7},"training":{"sequence_length":4096,"global_batch_size":8},"wrong":1})");
    file.close();
    const Problems problems = window.openFile(file.fileName());
    EXPECT_GE(problems.size(), 2U);
    EXPECT_TRUE(window.banner().isVisible());
    for (const sim::Problem& problem : problems)
        EXPECT_TRUE(window.banner().text().contains(QString::fromStdString(problem.message))) << problem.text();
    QString shown;
    for (const QLabel* label : window.banner().findChildren<QLabel*>())
        shown += label->text();
    EXPECT_TRUE(shown.contains(QStringLiteral("Tensor tp: 3 does not divide the 32 heads"))) << "as the form says it";
    EXPECT_TRUE(shown.contains(QStringLiteral("in the file: /layout/tp"))) << shown.toStdString();
    QStringList offered;
    QPushButton* again = nullptr;
    for (QPushButton* button : window.banner().findChildren<QPushButton*>())
        if (button->isVisible()) {
            offered << button->text();
            again = button->text() == QStringLiteral("Try Again") ? button : again;
        }
    EXPECT_EQ(offered, (QStringList{QStringLiteral("Try Again"), QStringLiteral("Open in Editor"), QStringLiteral("Copy"),
                                    QStringLiteral("Dismiss")}));
    settle();
    EXPECT_EQ(window.desk().simulation(), before);
    EXPECT_EQ(window.session().path(), galleryFile(kSixteen));
    QTest::keyClick(&window, Qt::Key_Escape);
    EXPECT_FALSE(window.banner().isVisible());
    EXPECT_FALSE(window.openFile(file.fileName()).empty());
    QFile::remove(file.fileName()); // somebody mends it
    ASSERT_TRUE(QFile::copy(galleryFile(kTiny), file.fileName()));
    ASSERT_NE(again, nullptr);
    again->click();
    EXPECT_FALSE(window.banner().isVisible());
    EXPECT_EQ(window.session().path(), file.fileName());
}

TEST_F(WindowTest, AFileCanBeDropped)
{
    QMimeData mime;
    mime.setUrls({QUrl::fromLocalFile(galleryFile(kTiny))});
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent drop({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &drop);
    ASSERT_TRUE(waitFor([this] { return window.desk().simulation() != nullptr; }));
    EXPECT_EQ(window.session().path(), galleryFile(kTiny));
    mime.setUrls({QUrl::fromLocalFile(QStringLiteral("/tmp/picture.png"))});
    QDragEnterEvent other({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, {});
    other.ignore();
    QApplication::sendEvent(&window, &other);
    EXPECT_FALSE(other.isAccepted());
}

TEST_F(WindowTest, KernelsComeAndGo)
{
    open(kTiny);
    const std::size_t actions = window.desk().step().trace->spanCount();
    QTest::keySequence(&window, QKeySequence(QStringLiteral("Ctrl+K")));
    settle();
    EXPECT_GT(window.desk().step().trace->spanCount(), actions);
    window.form().row(Control::pp)->spinBox()->stepBy(-1);
    settle();
    EXPECT_GT(window.desk().step().trace->tracks.size(), window.desk().step().trace->processes.size());
    QTest::keySequence(&window, QKeySequence(QStringLiteral("Ctrl+K")));
    settle();
    EXPECT_EQ(window.desk().step().trace->tracks.size(), window.desk().step().trace->processes.size());
}

TEST_F(WindowTest, EveryRankHasARowOfItsOwnAndTheSameNumbers)
{
    open(kSixteen);
    const double step = window.desk().simulation()->metrics().stepTimeSeconds;
    ASSERT_LT(window.desk().step().trace->processes.size(), 16U);
    window.run(CommandId::showEveryRank);
    settle();
    EXPECT_EQ(window.desk().step().trace->processes.size(), 16U);
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, step);
    open(kLarge);
    EXPECT_FALSE(window.isEnabled(CommandId::showEveryRank));
    EXPECT_LT(window.desk().step().trace->processes.size(), 1000U);
}

TEST_F(WindowTest, CanvasKeysGoToThePictureAndNotIntoTheForm)
{
    open(kSixteen);
    TimelineView& timeline = window.workspace().timeline();
    pointAt(Picture::timeline, window.workspace().canvas(Picture::timeline).rect().center());
    const TimeRange all = timeline.visibleRange();
    QTest::keyClick(&window, Qt::Key_W);
    const TimeRange zoomed = timeline.visibleRange();
    EXPECT_LT(zoomed.endNs - zoomed.beginNs, all.endNs - all.beginNs);
    window.run(CommandId::fitAll);
    EXPECT_EQ(timeline.visibleRange(), all);
    EXPECT_FALSE(window.isWindowModified());
}

TEST_F(WindowTest, EveryCommandIsInAMenu)
{
    QStringList texts; // in a menu of the lenses one is not called a lens once more
    for (const QMenu* menu : window.menuBar()->findChildren<QMenu*>()) {
        const QString title = menu->title().remove(QLatin1Char('&'));
        for (const QAction* action : menu->actions()) {
            const QString text = action->text().section(QLatin1Char('\t'), 0, 0);
            texts << text << title + QStringLiteral(": ") + text;
        }
    }
    for (const Command& c : commands()) {
        if (c.id != CommandId::clearRecent) { // made when the recent files open
            EXPECT_TRUE(texts.contains(QString::fromUtf8(c.text))) << c.text;
        }
    }
}

TEST_F(WindowTest, PicturesSayThatTheyAreOnTheirWay)
{
    ASSERT_TRUE(window.openFile(galleryFile(kSixteen)).empty());
    const auto said = [&](Picture picture) {
        RecorderCanvas canvas({0, 0, 600, 400});
        window.workspace().upToDateView(picture).draw(canvas);
        std::string all;
        for (const std::string& text : canvas.texts())
            all += text + '\n';
        return all;
    };
    ASSERT_FALSE(window.desk().simulation()) << "it is simulated on another thread";
    for (const PictureInfo& info : pictures()) {
        EXPECT_NE(said(info.picture).find("Simulating…"), std::string::npos) << info.name << ": " << said(info.picture);
        EXPECT_EQ(said(info.picture).find("Open a scenario"), std::string::npos) << info.name;
    }
    settle();
}

TEST_F(WindowTest, AFullBarOfExposedCommunicationIsTheStep)
{
    open(kSixteen);
    const double exposed = window.desk().simulation()->metrics().exposedComm.total();
    ASSERT_GT(exposed, 0.02);
    ASSERT_LT(exposed, 0.5);
    const MetricCard* card = nullptr;
    for (const auto* one : window.details().findChildren<MetricCard*>())
        if (one->accessibleName().startsWith(QStringLiteral("Exposed")))
            card = one;
    ASSERT_TRUE(card);
    auto* bar = card->findChild<StackedBar*>();
    const QImage picture = bar->grab().toImage();
    const auto at = [&](double share) { return picture.pixelColor(static_cast<int>(share * (picture.width() - 1)), 5); };
    EXPECT_NE(at(exposed / 2), at(0.99));
    EXPECT_EQ(at(exposed + 0.03), at(0.99)) << "beyond it the bar is empty";
}

TEST_F(WindowTest, OnePictureIsAlwaysShown)
{
    open(kTiny);
    for (const PictureInfo& info : pictures())
        window.workspace().setPictureVisible(info.picture, false);
    EXPECT_TRUE(window.workspace().isPictureVisible(Picture::timeline)) << "comes back in place of the last one";
}

TEST_F(WindowTest, ASingleViewCanBeAskedFor)
{
    window.showOnly(Picture::timeline);
    open(kTiny);
    EXPECT_FALSE(window.workspace().isPictureVisible(Picture::grid));
    EXPECT_TRUE(window.workspace().isPictureVisible(Picture::timeline));
}

TEST_F(WindowTest, TheUsualLayoutCanBeHadBack)
{
    open(kTiny);
    window.showOnly(Picture::timeline);
    window.run(CommandId::resetLayout);
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::grid));
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::timeline));
}

TEST_F(WindowTest, TellsWhatTheWholeRunTakesAndCosts)
{
    open("42-llama3-405b-16384-gpus.json");
    const auto cardOf = [&]() -> const MetricCard* {
        for (const auto* card : window.details().findChildren<MetricCard*>())
            if (card->accessibleName().endsWith(QStringLiteral(" tokens")))
                return card;
        return nullptr;
    };
    const auto noteOf = [&] {
        QString all;
        for (const auto* label : cardOf()->findChildren<QLabel*>())
            all += label->text() + QLatin1Char('\n');
        return all;
    };
    ASSERT_TRUE(cardOf());
    const double said = window.desk().simulation()->scenario().training.tokens;
    const sim::WholeRun run = sim::lastingRun(*window.desk().simulation(), said > 0 ? said : sim::kTokensUnlessSaid);
    EXPECT_TRUE(noteOf().contains(countQuantity(run.gpuHours).text())) << noteOf().toStdString();
    EXPECT_TRUE(noteOf().contains(QString::fromStdString(run.energyText()))) << noteOf().toStdString();
    EXPECT_FALSE(noteOf().contains(QStringLiteral("costs")));
    window.details().setGpuHourPrice(2.5);
    EXPECT_TRUE(noteOf().contains(QStringLiteral("costs %1").arg(countQuantity(run.gpuHours * 2.5).text())))
        << noteOf().toStdString();
    open(kTiny); // on a machine without a published power limit
    EXPECT_TRUE(noteOf().contains(QStringLiteral("power limit of the GPU, in the hardware details"))) << noteOf().toStdString();
}

TEST_F(WindowTest, DocksComeBackAsTheyWere)
{
    open(kTiny);
    QTest::keySequence(&window, QKeySequence(QStringLiteral("Alt+4")));
    EXPECT_TRUE(window.details().isVisible()) << "it has the focus now";
    QTest::keySequence(&window, QKeySequence(QStringLiteral("Alt+4")));
    EXPECT_FALSE(window.details().isVisible());
    window.run(CommandId::gallery);
    EXPECT_FALSE(window.form().isVisible());
    window.run(CommandId::gallery);
    EXPECT_TRUE(window.form().isVisible());
    EXPECT_FALSE(window.details().isVisible());
}

TEST_F(WindowTest, NoTextIsCut)
{
    const QSize small(1280, 720), large(1600, 900);
    const auto look = [this](const QSize& size, const char* what) {
        window.resize(size);
        settle();
        EXPECT_EQ(window.size(), size) << what;
        EXPECT_EQ(cutLabels(window).join(QLatin1Char('\n')).toStdString(), "") << what << " " << size.width();
    };
    for (const char* name : {kSixteen, kLarge, "54-deepseek-v3-2048-h800.json"}) {
        window.resize(small); // opened where there is less room
        window.run(CommandId::gallery);
        open(name);
        window.desk().selectRank(13);
        settle();
        look(small, name);
        look(large, name);
    }
    window.form().row(Control::tp)->spinBox()->setValue(7);
    settle();
    look(large, "what is not legal");
    look(small, "what is not legal");
}

/// How often a widget was given another style.
class StyleChanges : public QObject {
public:
    int heard = 0;

protected:
    bool eventFilter(QObject*, QEvent* event) override
    {
        heard += event->type() == QEvent::StyleChange ? 1 : 0;
        return false;
    }
};

TEST_F(WindowTest, WarningsAreListedWhereTheyAreCountedAndLeadToTheirSetting)
{
    open("54-deepseek-v3-2048-h800.json");
    auto* problems = window.statusBar()->findChild<QToolButton*>(QStringLiteral("problems"));
    ASSERT_TRUE(problems->isVisible());
    EXPECT_EQ(problems->text(), QStringLiteral("1 warning"));
    ASSERT_EQ(problems->menu()->actions().size(), 1);
    QAction* warning = problems->menu()->actions().front();
    EXPECT_TRUE(warning->text().contains(QStringLiteral("expert parallel group"))) << warning->text().toStdString();
    EXPECT_FALSE(warning->text().contains(QStringLiteral(".json"))) << "there is only one file";
    warning->trigger();
    EXPECT_TRUE(window.form().rowAt(Control::ep)->isVisible());
    EXPECT_FALSE(window.form().rowAt(Control::tp)->isVisible()) << "only what it is about";
    window.form().search({});
    window.run(CommandId::pinBaseline);
    window.showCompare();
    settle();
    ASSERT_TRUE(window.isCompareShown());
    ASSERT_TRUE(problems->isVisible());
    problems->menu()->actions().front()->trigger();
    EXPECT_FALSE(window.isCompareShown()) << "which has no form";
    EXPECT_TRUE(window.form().rowAt(Control::ep)->isVisible());
}

TEST_F(WindowTest, AWarningOfNoSettingIsReadAndNotClicked)
{
    open(kTiny);
    Edit edit;
    edit.assignments.push_back({"/nonsense", "1"});
    window.session().edit(edit);
    settle();
    auto* problems = window.statusBar()->findChild<QToolButton*>(QStringLiteral("problems"));
    ASSERT_FALSE(problems->menu()->actions().isEmpty());
    ASSERT_TRUE(problems->menu()->actions().front()->text().contains(QStringLiteral("nonsense")));
    EXPECT_FALSE(problems->menu()->actions().front()->isEnabled());
}

TEST_F(WindowTest, DarkIsDark)
{
    open(kTiny);
    StyleChanges changes;
    window.form().findChild<QLineEdit*>()->installEventFilter(&changes); // it lies in many others
    const auto lightness = [this] {
        return window.grab().toImage().scaled(1, 1, Qt::IgnoreAspectRatio, Qt::SmoothTransformation).pixelColor(0, 0).lightness();
    };
    EXPECT_GT(lightness(), 150);
    window.run(CommandId::themeDark);
    EXPECT_LT(lightness(), 100);
    EXPECT_LE(changes.heard, 2) << "as the old sheet goes, and as the new one comes";
    window.run(CommandId::switchTheme);
    EXPECT_GT(lightness(), 150);
}

TEST_F(WindowTest, ExactlyOneThemeIsMarkedAndChoosingItAgainKeepsIt)
{
    open(kTiny);
    const auto isOfMenu = [](const QAction* action, const QString& title) {
        const auto holders = action->associatedObjects();
        return std::any_of(holders.begin(), holders.end(), [&](const QObject* holder) {
            const auto* menu = qobject_cast<const QMenu*>(holder);
            return menu != nullptr && QString(menu->title()).remove(QLatin1Char('&')) == title;
        });
    };
    const auto marked = [&] {
        QStringList out;
        for (const QAction* action : window.findChildren<QAction*>())
            if (action->actionGroup() && action->isChecked() && isOfMenu(action, QStringLiteral("Theme")))
                out << QString(action->text()).remove(QLatin1Char('&'));
        return out.join(QLatin1Char(','));
    };
    for (const auto& [id, name] : {std::pair{CommandId::themeSystem, "As the Desktop"},
                                   {CommandId::themeLight, "Light"},
                                   {CommandId::themeDark, "Dark"},
                                   {CommandId::themeHighContrast, "High Contrast"}})
        for (const char* time : {"first", "again"}) {
            window.run(id);
            EXPECT_EQ(marked().toStdString(), name) << time;
        }
    window.run(CommandId::switchTheme);
    EXPECT_EQ(marked().toStdString(), "Light") << "from high contrast";
    window.run(CommandId::switchTheme);
    EXPECT_EQ(marked().toStdString(), "Dark");
}

TEST_F(WindowTest, AnIdleWindowDrawsNothing)
{
    open(kSixteen);
    const CanvasWidget& timeline = window.workspace().canvas(Picture::timeline);
    window.grab();
    const int before = timeline.framesDrawn();
    for (int i = 0; i < 20; ++i) {
        QTest::qWait(5);
    }
    EXPECT_EQ(timeline.framesDrawn(), before);
}

TEST_F(WindowTest, NothingIsToldOfTheRowsOfATimelineThatIsNotThere)
{
    open(kSixteen);
    window.workspace().setPictureVisible(Picture::timeline, false);
    settle();
    window.run(CommandId::groupRows);
    EXPECT_FALSE(window.statusBar()->currentMessage().contains(QStringLiteral("not now"))) << "no rows were asked";
}

} // namespace
} // namespace app
