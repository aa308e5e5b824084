// Before an audience: what clickers' keys do, how large texts are, and that the window beneath is as it was.
#include "app/canvas/qt/canvas_tip.h"
#include "app/canvas/qt/canvas_widget.h"
#include "app/canvas/recorder_canvas.h"
#include "app/canvas/type_metrics.h"
#include "app/shell/presentation/presentation.h"
#include "app/views/grid/grid_view.h"
#include "tests/app/shell/window_fixture.h"

#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QRegularExpression>
#include <QTest>

#include <gmock/gmock.h>

namespace app {
namespace {

using namespace test;
using testing::ElementsAre;

QString wholeText(Talk& talk)
{
    QStringList captions;
    for (int i = 0; i < talk.size(); ++i)
        captions << talk.goTo(i).caption;
    return captions.join(QLatin1Char(' '));
}

TEST(TalkOfScenario, TellsTheWholeDescriptionWithoutItsMarks)
{
    const QString filler(190, QLatin1Char('X'));
    const auto talk = talkOfScenario(QStringLiteral("N"),
                                     QStringLiteral("Two **equal** halves of `tp` 2. %1. *Last* words, e.g. these.").arg(filler));
    EXPECT_EQ(talk->size(), 3);
    EXPECT_EQ(wholeText(*talk), QStringLiteral("Two equal halves of tp 2. %1. Last words, e.g. these.").arg(filler));
    EXPECT_EQ(talk->goTo(2).heading, QStringLiteral("N"));
}

TEST(TalkOfScenario, ShowsWhatAPassageSpeaksOf)
{
    const QString filler(190, QLatin1Char('X'));
    const auto talk =
        talkOfScenario({}, QStringLiteral("The peak of the memory is 20 GiB. %1. The bubble is short. %1. %1.").arg(filler));
    ASSERT_EQ(talk->size(), 5);
    EXPECT_THAT(talk->goTo(0).pictures, ElementsAre(Picture::grid, Picture::timeline)) << "first the whole";
    EXPECT_THAT(talk->goTo(2).pictures, ElementsAre(Picture::timeline));
    EXPECT_THAT(talk->goTo(4).pictures, ElementsAre(Picture::timeline)) << "speaks of nothing else";
}

TEST(TalkOfScenario, OfOneWithoutDescriptionShowsEveryPicture)
{
    const auto talk = talkOfScenario(QStringLiteral("N"), {});
    ASSERT_EQ(talk->size(), 1 + static_cast<int>(pictures().size()));
    EXPECT_THAT(talk->goTo(1).pictures, ElementsAre(pictures().front().picture));
}

/// Whoever hears "look at the memory view" looks for it.
TEST(TalkOfScenario, ShowsEveryPictureThatItNames)
{
    const std::vector<std::pair<Picture, QRegularExpression>> names{
        {Picture::timeline, QRegularExpression(QStringLiteral("\\btimeline\\b"))},
        {Picture::grid, QRegularExpression(QStringLiteral("\\bgrid\\b"))},
        {Picture::memory, QRegularExpression(QStringLiteral("\\b(memory view|[Ll]ook at (the )?memory)\\b"))},
        {Picture::traffic, QRegularExpression(QStringLiteral("\\btraffic\\b"))},
        {Picture::storage, QRegularExpression(QStringLiteral("\\bstorage\\b"))}};
    int named = 0;
    for (const QFileInfo& file :
         QDir(QFileInfo(galleryFile("17-schedule-1f1b.json")).path()).entryInfoList({QStringLiteral("*.json")})) {
        const sim::Scenario scenario = sim::resolvedScenario(readDocument(file.filePath()), catalogue());
        const auto talk = talkOfScenario(file.baseName(), QString::fromStdString(scenario.description));
        for (int i = 0; i < talk->size(); ++i) {
            const Slide slide = talk->goTo(i);
            for (const auto& [picture, name] : names) {
                if (!slide.caption.contains(name))
                    continue;
                ++named;
                EXPECT_THAT(slide.pictures, testing::Contains(picture))
                    << file.baseName().toStdString() << ", slide " << i + 1 << ": " << slide.caption.toStdString();
            }
        }
    }
    EXPECT_GT(named, 5);
}

TEST(TalkOfScenario, WordsThatAreOfManyPicturesCountLeast)
{
    const auto talk = talkOfScenario(
        {}, QStringLiteral("%1. The bubble is shorter, and as rank 0 holds 4 micro-batches, rank 3 one, and rank 1 two, the peak "
                           "falls from 34 to 18 GiB.")
                .arg(QString(190, QLatin1Char('X'))));
    ASSERT_EQ(talk->size(), 2);
    EXPECT_THAT(talk->goTo(1).pictures, ElementsAre(Picture::timeline, Picture::memory)) << "ranks are in every picture";
}

class PresentationTest : public WindowTest {
protected:
    PresentationTest() { open(kSixteen); }
    Presentation& start()
    {
        window.run(CommandId::present);
        settle();
        return *window.presentation();
    }
    /// Offscreen, the cursor itself goes to the window beneath.
    static void pointAt(CanvasWidget& canvas, QPointF at)
    {
        QMouseEvent move(QEvent::MouseMove, at, canvas.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&canvas, &move);
        QCoreApplication::processEvents();
    }
    void press(Qt::Key key)
    {
        QTest::keyClick(window.presentation(), key);
        for (int round = 0; round < 5; ++round)
            QCoreApplication::processEvents();
    }
};

TEST_F(PresentationTest, SixteenStagesAreAllOnThePage)
{
    open("34-sweep-64-tp4-pp16.json");
    Presentation& presentation = start();
    int timelines = 0;
    for (const QSize screen : {QSize(1024, 640), QSize(1280, 720), QSize(1920, 1080)}) {
        presentation.resize(screen);
        press(Qt::Key_Home);
        press(Qt::Key_PageDown); // on a small screen the second of two pictures
        settle();
        for (const CanvasWidget* canvas : presentation.canvases()) {
            if (!canvas->isVisible() || canvas->accessibleName() != QStringLiteral("Timeline"))
                continue;
            ++timelines;
            const auto isWhole = [&](const Node& node) {
                return node.role == "row" && node.rect.bottom < static_cast<float>(canvas->height());
            };
            EXPECT_EQ(std::ranges::count_if(canvas->nodes(), isWhole), 16) << screen.width();
        }
        if (const QString to = qEnvironmentVariable("RANKSCOPE_TEST_PICTURES"); !to.isEmpty())
            presentation.grab().save(QStringLiteral("%1/present_%2.png").arg(to).arg(screen.width()));
    }
    EXPECT_EQ(timelines, 3);
}

TEST_F(PresentationTest, ClickersTurnTheSlides)
{
    const Presentation& presentation = start();
    EXPECT_EQ(presentation.place(), 0);
    const QString first = presentation.caption();
    EXPECT_FALSE(first.isEmpty());
    press(Qt::Key_PageDown);
    EXPECT_EQ(presentation.place(), 1);
    EXPECT_NE(presentation.caption(), first);
    press(Qt::Key_Space);
    EXPECT_EQ(presentation.place(), 2);
    press(Qt::Key_PageUp);
    press(Qt::Key_Left);
    EXPECT_EQ(presentation.place(), 0);
    press(Qt::Key_Up);
    EXPECT_EQ(presentation.place(), 0) << "nothing lies before the first";
    press(Qt::Key_End);
    const int last = presentation.place();
    press(Qt::Key_Right);
    EXPECT_EQ(presentation.place(), last);
}

TEST_F(PresentationTest, EndsWhereAnotherScenarioIsOpened)
{
    start();
    ASSERT_TRUE(window.openFile(galleryFile("18-schedule-interleaved-1f1b.json")).empty());
    EXPECT_TRUE(waitFor([&] { return window.presentation() == nullptr; })) << "it tells of the one before";
}

/// Who watches compares one slide with the next.
TEST_F(PresentationTest, APictureStaysAsItIsFromSlideToSlide)
{
    const Presentation& presentation = start();
    window.presentation()->showNormal();
    window.presentation()->resize(1280, 720);
    press(Qt::Key_Home);
    settle();
    const QSize first = presentation.canvases().front()->size();
    const QString caption = presentation.caption();
    int same = 0;
    for (int slide = 1; slide < 4; ++slide) {
        press(Qt::Key_PageDown);
        settle();
        if (presentation.canvases().size() != 2 || presentation.caption().size() == caption.size())
            continue;
        EXPECT_EQ(presentation.canvases().front()->size(), first) << presentation.caption().toStdString();
        ++same;
    }
    EXPECT_GT(same, 0);
}

TEST_F(PresentationTest, TellsItsKeys)
{
    Presentation& presentation = start();
    EXPECT_FALSE(presentation.tellsKeys());
    press(Qt::Key_Question);
    EXPECT_TRUE(presentation.tellsKeys());
    const auto* keys = [&]() -> const QLabel* {
        for (const QLabel* label : presentation.findChildren<QLabel*>())
            if (label->accessibleName() == QStringLiteral("Keys"))
                return label;
        return nullptr;
    }();
    ASSERT_NE(keys, nullptr);
    EXPECT_EQ(keys->textFormat(), Qt::RichText) << "or its marks are read";
    EXPECT_TRUE(presentation.rect().contains(keys->geometry()));
    press(Qt::Key_Question);
    EXPECT_FALSE(presentation.tellsKeys());
    press(Qt::Key_F1);
    press(Qt::Key_PageDown);
    EXPECT_FALSE(presentation.tellsKeys());
    EXPECT_EQ(presentation.place(), 1) << "the key that was read there does what was said";
    press(Qt::Key_Question);
    press(Qt::Key_Escape);
    EXPECT_NE(window.presentation(), nullptr) << "the keys go first";
}

TEST_F(PresentationTest, BlackHidesAllUntilTheNextKey)
{
    const Presentation& presentation = start();
    press(Qt::Key_B);
    EXPECT_TRUE(presentation.isBlack());
    EXPECT_EQ(window.presentation()->grab().toImage().pixelColor(40, 300), QColor(Qt::black));
    press(Qt::Key_Period);
    EXPECT_FALSE(presentation.isBlack());
    press(Qt::Key_B);
    press(Qt::Key_PageDown);
    EXPECT_FALSE(presentation.isBlack());
    EXPECT_EQ(presentation.place(), 1);
}

TEST_F(PresentationTest, NoTextIsSmallerThanTheBackRowCanRead)
{
    Presentation& presentation = start();
    for (const QSize size : {QSize(1280, 720), QSize(1920, 1080), QSize(3840, 2160)}) {
        presentation.showNormal();
        presentation.resize(size);
        settle();
        const int smallest = std::max(Presentation::kSmallestText, size.height() / 45);
        for (const CanvasWidget* canvas : presentation.canvases())
            EXPECT_GE(canvas->magnification() * static_cast<qreal>(fontPixels(FontFace::small)), smallest - 1e-9);
        for (const QLabel* label : presentation.findChildren<QLabel*>())
            EXPECT_GE(label->fontInfo().pixelSize(), smallest) << label->text().toStdString();
        CanvasTip tip(*presentation.canvases().front());
        tip.tell(QStringLiteral("rank %1").arg(size.width()), {}, {});
        EXPECT_GE(tip.fontInfo().pixelSize(), smallest) << "of what is pointed at";
    }
}

TEST_F(PresentationTest, LargeTextIsNotEnlargedTwice)
{
    Presentation& presentation = start();
    presentation.showNormal();
    presentation.setTextPercent(200); // 1280 x 720 of such a screen
    presentation.resize(640, 360);
    settle();
    for (const CanvasWidget* canvas : presentation.canvases()) {
        EXPECT_GE(2 * canvas->magnification() * static_cast<qreal>(fontPixels(FontFace::small)),
                  Presentation::kSmallestText - 1e-9);
        EXPECT_GE(canvas->height(), presentation.height() / 2);
    }
}

/// The caption speaks of both.
TEST_F(PresentationTest, PicturesThatDoNotFitBesideEachOtherComeAfterEachOther)
{
    Presentation& presentation = start();
    presentation.showNormal();
    presentation.resize(500, 700);
    settle();
    const auto shown = [&] {
        std::vector<std::size_t> out;
        const auto canvases = presentation.canvases();
        for (std::size_t i = 0; i < canvases.size(); ++i)
            if (canvases[i]->isVisible())
                out.push_back(i);
        return out;
    };
    ASSERT_EQ(presentation.canvases().size(), 2U);
    EXPECT_TRUE(presentation.isSplit());
    EXPECT_THAT(shown(), ElementsAre(0U));
    const QString caption = presentation.caption();
    press(Qt::Key_PageDown);
    EXPECT_EQ(presentation.place(), 0);
    EXPECT_THAT(shown(), ElementsAre(1U));
    EXPECT_EQ(presentation.caption(), caption);
    press(Qt::Key_PageDown);
    EXPECT_EQ(presentation.place(), 1);
    press(Qt::Key_Home);
    presentation.resize(1600, 900);
    settle();
    EXPECT_FALSE(presentation.isSplit());
    EXPECT_THAT(shown(), ElementsAre(0U, 1U));
}

TEST_F(PresentationTest, PicturesComeAndGoByTheirDigits)
{
    const Presentation& presentation = start();
    EXPECT_EQ(presentation.canvases().size(), 2U);
    press(Qt::Key_2);
    EXPECT_EQ(presentation.canvases().size(), 1U);
    press(Qt::Key_1);
    EXPECT_EQ(presentation.canvases().size(), 1U) << "the last one stays";
    press(Qt::Key_3);
    press(Qt::Key_4);
    EXPECT_EQ(presentation.canvases().size(), 2U) << "never more than two";
}

TEST_F(PresentationTest, AMagnifiedPictureAnswersWhereItIsSeen)
{
    Presentation& presentation = start();
    CanvasWidget& grid = *presentation.canvases().front();
    const auto& nodes = grid.nodes();
    const auto cell = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.role == "cell"; });
    ASSERT_NE(cell, nodes.end());
    const QPointF middle((cell->rect.left + cell->rect.right) / 2.0, (cell->rect.top + cell->rect.bottom) / 2.0);
    pointAt(grid, middle);
    ASSERT_TRUE(window.desk().selection().hoveredRank);
    EXPECT_NE(cell->name.find("rank " + std::to_string(*window.desk().selection().hoveredRank)), std::string::npos) << cell->name;
}

TEST_F(PresentationTest, TheSpotFollowsThePointer)
{
    Presentation& presentation = start();
    EXPECT_FALSE(presentation.hasSpot());
    press(Qt::Key_S);
    EXPECT_TRUE(presentation.hasSpot());
    CanvasWidget& canvas = *presentation.canvases().front();
    const QImage before = presentation.grab().toImage();
    pointAt(canvas, {200, 150});
    EXPECT_NE(presentation.grab().toImage(), before);
}

TEST_F(PresentationTest, LeavingLeavesEveryDockWhereItWas)
{
    const auto places = [this] {
        std::vector<std::pair<QRect, bool>> out;
        for (const QDockWidget* dock : window.findChildren<QDockWidget*>())
            out.emplace_back(QRect(dock->mapTo(&window, QPoint()), dock->size()), dock->isVisible());
        return out;
    };
    window.workspace().setPictureVisible(Picture::memory, false);
    settle();
    const auto before = places();
    const QByteArray layout = window.workspace().saveLayout();
    start();
    press(Qt::Key_4);
    EXPECT_FALSE(window.workspace().updatesEnabled()) << "nobody sees it";
    press(Qt::Key_Escape);
    ASSERT_TRUE(waitFor([this] { return window.presentation() == nullptr; }));
    settle();
    EXPECT_EQ(places(), before);
    EXPECT_EQ(window.workspace().saveLayout(), layout);
    EXPECT_TRUE(window.workspace().updatesEnabled());
}

TEST_F(PresentationTest, LeavingShowsTheMomentAgainWhereTheWindowDid)
{
    const auto& grid = static_cast<GridView&>(window.workspace().view(Picture::grid));
    window.run(CommandId::play);
    window.run(CommandId::play);
    ASSERT_EQ(grid.lens(), GridLens::now);
    start();
    EXPECT_NE(grid.lens(), GridLens::now) << "a slide is of the whole step";
    press(Qt::Key_PageDown);
    press(Qt::Key_Escape);
    ASSERT_TRUE(waitFor([this] { return window.presentation() == nullptr; }));
    EXPECT_EQ(grid.lens(), GridLens::now);
}

TEST_F(PresentationTest, TheWindowSaysWhichPicturesLeaveTheMoment)
{
    Workspace& workspace = window.workspace();
    EXPECT_THAT(workspace.leaveNow(), testing::IsEmpty());
    window.run(CommandId::play);
    EXPECT_THAT(workspace.leaveNow(), testing::IsEmpty()) << "it plays";
    window.run(CommandId::play);
    const int now = workspace.view(Picture::grid).mode();
    EXPECT_THAT(workspace.leaveNow(), ElementsAre(Picture::grid)) << "the traffic's diagram is chosen from then on";
    EXPECT_NE(workspace.view(Picture::grid).mode(), now);
    EXPECT_THAT(workspace.leaveNow(), testing::IsEmpty());
}

TEST_F(PresentationTest, LeavingGivesBackTheLensThatWasThere)
{
    auto& grid = static_cast<GridView&>(window.workspace().view(Picture::grid));
    View& traffic = window.workspace().upToDateView(Picture::traffic);
    constexpr Rect kPage{0, 0, 900, 600};
    const auto modes = [&] { // of the traffic: matrix, diagram, load
        RecorderCanvas canvas(kPage);
        traffic.draw(canvas);
        return canvas.nodesOf("mode");
    };
    const auto leave = [this] {
        press(Qt::Key_Escape);
        ASSERT_TRUE(waitFor([this] { return window.presentation() == nullptr; }));
    };
    const GridLens before = grid.lens();
    ASSERT_NE(before, GridLens::now);
    start();
    press(Qt::Key_P);
    press(Qt::Key_P);
    ASSERT_EQ(grid.lens(), GridLens::now);
    leave();
    EXPECT_EQ(grid.lens(), before) << "the moment was the talk's";

    window.run(CommandId::play);
    window.run(CommandId::play);
    ASSERT_EQ(grid.lens(), GridLens::now);
    ASSERT_EQ(modes().size(), 3U);
    const Rect matrix = modes().front().rect;
    const Point at{(matrix.left + matrix.right) / 2, (matrix.top + matrix.bottom) / 2};
    for (const auto kind : {PointerEvent::Kind::press, PointerEvent::Kind::release})
        traffic.pointer({.kind = kind, .at = at, .button = PointerButton::left}, kPage);
    ASSERT_TRUE(modes().front().selected);
    start();
    leave();
    EXPECT_EQ(grid.lens(), GridLens::now);
    EXPECT_TRUE(modes().front().selected) << "chosen after the step was played";

    start();
    ASSERT_NE(grid.lens(), GridLens::sent);
    grid.setLens(GridLens::sent);
    leave();
    EXPECT_EQ(grid.lens(), GridLens::sent) << "a slide's own";

    window.run(CommandId::play);
    window.run(CommandId::play);
    ASSERT_EQ(grid.lens(), GridLens::now);
    start();
    open(kTiny);
    ASSERT_TRUE(waitFor([this] { return window.presentation() == nullptr; }));
    EXPECT_NE(grid.lens(), GridLens::now) << "of another scenario";
}

TEST_F(PresentationTest, PlaysTheStep)
{
    start();
    press(Qt::Key_P);
    EXPECT_TRUE(window.desk().playback().isPlaying());
    press(Qt::Key_P);
    EXPECT_FALSE(window.desk().playback().isPlaying());
}

} // namespace
} // namespace app
