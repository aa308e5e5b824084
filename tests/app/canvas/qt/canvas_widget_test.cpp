#include "app/canvas/qt/canvas_widget.h"

#include "app/canvas/qt/canvas_tip.h"
#include "tests/app/canvas/qt/environment.h"
#include "tests/app/canvas/qt/sample_view.h"

#include <QAccessible>
#include <QElapsedTimer>
#include <QHelpEvent>
#include <QImage>
#include <QPaintEvent>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace app;

namespace {

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new test::Environment);

/// What the widget shows, read at logical coordinates, so that the tests hold at every device pixel ratio.
class Shown {
public:
    explicit Shown(QWidget& widget) : m_image(widget.grab().toImage().convertToFormat(QImage::Format_RGB32)) {}
    QRgb at(int x, int y) const
    {
        const qreal ratio = m_image.devicePixelRatio();
        return m_image.pixel(static_cast<int>(std::floor((x + 0.5) * ratio)), static_cast<int>(std::floor((y + 0.5) * ratio)));
    }

private:
    QImage m_image;
};

void processEventsFor(int milliseconds)
{
    QElapsedTimer timer;
    timer.start();
    do {
        QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    } while (timer.elapsed() < milliseconds);
}

void sendMouse(QWidget& widget, QEvent::Type type, QPointF at, Qt::MouseButton button, Qt::MouseButtons held,
               Qt::KeyboardModifiers modifiers = Qt::NoModifier)
{
    QMouseEvent event(type, at, widget.mapToGlobal(at), button, held, modifiers);
    QCoreApplication::sendEvent(&widget, &event);
}

} // namespace

TEST(CanvasWidget, ShowsThePixelsOfItsView)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    const Shown shown(widget);
    EXPECT_EQ(shown.at(25, 20), 0xFF0072B2U);
    EXPECT_EQ(shown.at(9, 20), 0xFFFFFFFFU);
    EXPECT_EQ(shown.at(39, 29), 0xFF0072B2U) << "right and bottom edge are exclusive";
    EXPECT_EQ(shown.at(40, 20), 0xFFFFFFFFU);
    EXPECT_EQ(shown.at(50, 10), 0xFF202020U);
    EXPECT_EQ(shown.at(53, 13), 0xFFFFFFFFU) << "outlines lie inside their rectangle";
    EXPECT_EQ(shown.at(30, 125), 0xFFF2CF7FU) << "half of E69F00 over white, inside the clip";
    EXPECT_EQ(shown.at(30, 132), 0xFFFFFFFFU) << "outside the clip";
    EXPECT_EQ(shown.at(120, 62), 0xFF202020U) << "inside of the triangle";
}

/// Many bars, texts and slanted lines, some of which are others from step to step.
class ChangingView final : public View {
public:
    int step = 0;
    std::string title() const override { return "changing"; }
    void draw(Canvas& canvas) override
    {
        canvas.fillRect(canvas.area(), Color::rgb(0xFFFFFF));
        std::mt19937 fixed(7), changing(static_cast<unsigned>(step));
        const auto part = [&](std::mt19937& random, int count) {
            const auto upTo = [&](float most) { return std::uniform_real_distribution<float>(-20, most)(random); };
            for (int i = 0; i < count; ++i) {
                const float x = upTo(420), y = upTo(320);
                const Color color = Color::rgb(random() & 0xFFFFFFU, i % 3 == 0 ? 0.5F : 1.0F);
                canvas.pushClip({x - 30, y - 30, x + 25, y + 40});
                canvas.fillRect({x, y, x + upTo(40), y + upTo(40)}, color);
                canvas.text({x, y}, "F" + std::to_string(i), color, FontFace::small);
                canvas.line({x, y}, {x + upTo(60), y + upTo(60)}, color, 1, LineStyle::solid);
                canvas.fillConvex({{x, y}, {x + 20, y + 3}, {x + 8, y + 30}}, color);
                canvas.popClip();
            }
        };
        part(fixed, 60);
        part(changing, step % 5);
        ColumnStacks stacks{
            .area = {20, 200, 380, 260}, .columnWidth = 10, .quantum = 1, .colors = {Color::rgb(0x0072B2)}, .tops = {}};
        for (int column = 0; column < 36; ++column)
            stacks.tops.push_back(static_cast<std::uint16_t>(column == step ? 50 : column));
        canvas.stacks(stacks);
        canvas.line({static_cast<float>(step * 7), 0}, {static_cast<float>(step * 7), 300}, Color::rgb(0xD55E00), 2);
    }
};

/// What was painted of a widget.
class PaintedRegion : public QObject {
public:
    explicit PaintedRegion(QWidget& of) { of.installEventFilter(this); }
    QRegion region;

private:
    bool eventFilter(QObject*, QEvent* event) override
    {
        if (event->type() == QEvent::Paint)
            region += static_cast<QPaintEvent*>(event)->region();
        return false;
    }
};

TEST(CanvasWidget, FillsOnlyWhatIsAnotherAndShowsThePictureWhole)
{
    ChangingView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(400, 300);
    widget.show();
    processEventsFor(20);
    for (view.step = 0; view.step < 40; ++view.step) {
        widget.requestFrame();
        processEventsFor(1);
        CanvasWidget anew(view, Renderer::software);
        anew.resize(400, 300);
        ASSERT_EQ(widget.grab().toImage(), anew.grab().toImage()) << "step " << view.step;
    }
}

TEST(CanvasWidget, PaintsNoMoreThanHasChanged)
{
    ChangingView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(400, 300);
    widget.show();
    processEventsFor(20);
    const int before = widget.framesDrawn();
    PaintedRegion painted(widget);
    widget.requestFrame();
    processEventsFor(20);
    EXPECT_EQ(widget.framesDrawn(), before + 1);
    EXPECT_TRUE(painted.region.isEmpty()) << "nothing was another";
    view.step = 5; // the line and one bar
    widget.requestFrame();
    processEventsFor(20);
    EXPECT_FALSE(painted.region.isEmpty());
    int pixels = 0;
    for (const QRect& rect : painted.region)
        pixels += rect.width() * rect.height();
    EXPECT_LT(pixels, 400 * 300 * 2 / 3);
}

TEST(CanvasWidget, FallsBackToSoftwareWhereThereIsNoOpenGl)
{
    if (QGuiApplication::platformName() != QLatin1String("offscreen"))
        GTEST_SKIP() << "about platforms without OpenGL";
    test::SampleView view;
    EXPECT_FALSE(hardwareOpenGl());
    EXPECT_EQ(CanvasWidget(view).renderer(), Renderer::software);
    EXPECT_EQ(CanvasWidget(view, Renderer::openGl).renderer(), Renderer::software) << "asked for, but it would crash";
    qputenv("RANKSCOPE_RENDERER", "opengl");
    EXPECT_EQ(CanvasWidget(view).renderer(), Renderer::software);
    qunsetenv("RANKSCOPE_RENDERER");
}

TEST(CanvasWidget, DrawsOnlyWhenSomethingChanged)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    widget.show();
    processEventsFor(50);
    const int frames = widget.framesDrawn();
    EXPECT_GE(frames, 1);
    processEventsFor(150);
    widget.update(); // somebody else's window passed over it
    widget.repaint();
    EXPECT_EQ(widget.framesDrawn(), frames) << "the picture is still there";
    for (int i = 0; i < 10; ++i)
        widget.requestFrame();
    processEventsFor(30);
    EXPECT_EQ(widget.framesDrawn(), frames + 1) << "requests are joined";
    widget.resize(220, 140);
    processEventsFor(30);
    EXPECT_EQ(widget.framesDrawn(), frames + 2);
    view.answers = false;
    sendMouse(widget, QEvent::MouseMove, {3, 4}, Qt::NoButton, Qt::NoButton);
    processEventsFor(30);
    EXPECT_EQ(widget.framesDrawn(), frames + 2) << "the view said that nothing changed";
}

TEST(CanvasWidget, DrawsFrameAfterFrameWhileItsViewMoves)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    view.moves = true;
    widget.show();
    QElapsedTimer timer;
    timer.start();
    while (widget.framesDrawn() < 6 && timer.elapsed() < 5000)
        processEventsFor(1);
    EXPECT_GE(widget.framesDrawn(), 6);
    EXPECT_GE(timer.elapsed(), 60) << "not faster than a screen shows";
    view.moves = false;
    processEventsFor(60); // one more may be on its way
    const int frames = widget.framesDrawn();
    processEventsFor(100);
    EXPECT_EQ(widget.framesDrawn(), frames);
}

TEST(CanvasWidget, HandsPointerAndCommandsToItsView)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    int changes = 0;
    QObject::connect(&widget, &CanvasWidget::viewChanged, [&changes] { ++changes; });

    sendMouse(widget, QEvent::MouseButtonPress, {12, 34}, Qt::LeftButton, Qt::LeftButton, Qt::ShiftModifier);
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::press);
    EXPECT_EQ(view.lastEvent.at, (Point{12, 34}));
    EXPECT_EQ(view.lastEvent.button, PointerButton::left);
    EXPECT_TRUE(view.lastEvent.shift);
    EXPECT_FALSE(view.lastEvent.control);
    EXPECT_EQ(view.lastArea, (Rect{0, 0, 200, 140}));

    sendMouse(widget, QEvent::MouseMove, {12.5, -3}, Qt::NoButton, Qt::RightButton);
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::move);
    EXPECT_EQ(view.lastEvent.at, (Point{12.5F, -3})) << "a drag goes on outside";
    EXPECT_EQ(view.lastEvent.button, PointerButton::right) << "that is held";

    sendMouse(widget, QEvent::MouseButtonRelease, {1, 2}, Qt::MiddleButton, Qt::NoButton, Qt::AltModifier);
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::release);
    EXPECT_EQ(view.lastEvent.button, PointerButton::middle);
    EXPECT_TRUE(view.lastEvent.alt);

    sendMouse(widget, QEvent::MouseButtonDblClick, {1, 2}, Qt::LeftButton, Qt::LeftButton);
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::doubleClick);

    view.shape = CursorShape::crosshair;
    QEvent leave(QEvent::Leave);
    QCoreApplication::sendEvent(&widget, &leave);
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::leave);
    EXPECT_EQ(widget.cursor().shape(), Qt::CrossCursor);

    EXPECT_EQ(changes, 5);
    widget.runCommand(ViewCommand::zoomIn, true);
    EXPECT_EQ(view.lastCommand, ViewCommand::zoomIn);
    EXPECT_TRUE(view.lastWasFast);
    EXPECT_EQ(changes, 6);
    view.answers = false;
    widget.runCommand(ViewCommand::zoomOut);
    EXPECT_EQ(changes, 6) << "nothing changed, nothing is redrawn";
}

TEST(CanvasWidget, CountsWheelsInNotches)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    const auto send = [&](QPoint pixels, QPoint angle, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QWheelEvent wheel(QPointF(5, 6), QPointF(5, 6), pixels, angle, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(&widget, &wheel);
        EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::wheel);
        EXPECT_EQ(view.lastEvent.at, (Point{5, 6}));
    };
    send({}, {0, 240}, Qt::ControlModifier);
    EXPECT_EQ(view.lastEvent.wheelY, 2);
    EXPECT_TRUE(view.lastEvent.control);
    send({}, {-60, 0});
    EXPECT_EQ(view.lastEvent.wheelX, -0.5F) << "fine wheels turn by parts of a notch";
    EXPECT_EQ(view.lastEvent.wheelY, 0);
    if (QGuiApplication::platformName() != QLatin1String("xcb")) {
        send({0, -25}, {0, -120});
        EXPECT_EQ(view.lastEvent.wheelY, -0.5F) << "touchpads tell pixels";
    }
}

TEST(CanvasWidget, AWheelThatNothingTurnsByIsThePages)
{
    test::SampleView view;
    view.turnsByWheel = false;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    QWheelEvent wheel(QPointF(5, 6), QPointF(5, 6), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&widget, &wheel);
    EXPECT_FALSE(wheel.isAccepted());
    EXPECT_NE(view.lastEvent.kind, PointerEvent::Kind::wheel);
}

TEST(CanvasWidget, ShowsTheTipOfWhatThePointerIsOver)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    widget.show();
    QHelpEvent help(QEvent::ToolTip, {5, 5}, widget.mapToGlobal(QPoint(5, 5)));
    QCoreApplication::sendEvent(&widget, &help);
    EXPECT_EQ(widget.tip(), QStringLiteral("tip"));
    const auto* tip = widget.findChild<CanvasTip*>();
    ASSERT_NE(tip, nullptr);
    EXPECT_TRUE(tip->isWindow());
    EXPECT_TRUE(tip->windowFlags().testFlag(Qt::WindowTransparentForInput)) << "the picture is not left for its tip";
    view.tip = "kernel<b>(half)";
    sendMouse(widget, QEvent::MouseMove, {30, 20}, Qt::NoButton, Qt::NoButton);
    EXPECT_EQ(widget.tip(), QStringLiteral("kernel<b>(half)")) << "follows";
    EXPECT_EQ(tip->textFormat(), Qt::PlainText);
    view.tip.clear();
    sendMouse(widget, QEvent::MouseMove, {60, 20}, Qt::NoButton, Qt::NoButton);
    EXPECT_EQ(widget.tip(), QString());
}

TEST(CanvasTip, IsNeverOverThePointerAndBesideWhatItTellsAboutWhereThereIsRoom)
{
    const QRect screen(0, 0, 1024, 640);
    for (const QSize size : {QSize(180, 40), QSize(480, 130), QSize(480, 300)})
        for (int x = 0; x < screen.width(); x += 61)
            for (int y = 0; y < screen.height(); y += 29)
                for (const QRect about : {QRect(), QRect(430, 380, 590, 150), QRect(430, 330, 40, 200), QRect(0, 0, 1024, 640)}) {
                    const QPoint pointer(x, y);
                    const QRect tip(placeOfTip(size, pointer, about.isValid() ? std::optional(about) : std::nullopt, screen),
                                    size);
                    ASSERT_FALSE(tip.contains(pointer)) << x << ", " << y;
                    ASSERT_TRUE(screen.contains(tip)) << x << ", " << y;
                    const bool hasRoom = about.top() - size.height() >= 16 || about.left() - size.width() >= 16;
                    if (hasRoom && about.contains(pointer)) {
                        ASSERT_FALSE(tip.intersects(about)) << x << ", " << y;
                    }
                }
}

TEST(CanvasWidget, ShowsWhoHasTheKeyboard)
{
    test::SampleView view;
    QWidget window;
    auto* layout = new QVBoxLayout(&window);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* widget = new CanvasWidget(view, Renderer::software);
    layout->addWidget(widget);
    window.resize(200, 140);
    window.show();
    window.activateWindow();
    processEventsFor(30);
    widget->clearFocus();
    EXPECT_EQ(Shown(*widget).at(0, 70), 0xFFFFFFFFU);
    widget->setFocus(Qt::TabFocusReason);
    EXPECT_EQ(Shown(*widget).at(0, 70), widget->palette().color(QPalette::Highlight).rgb());
    widget->clearFocus();
    widget->setFocus(Qt::MouseFocusReason);
    EXPECT_EQ(Shown(*widget).at(0, 70), 0xFFFFFFFFU) << "who clicks knows";
}

TEST(CanvasWidget, NamesItsNodesToScreenReaders)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    widget.show();
    QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(&widget);
    ASSERT_NE(canvas, nullptr);
    EXPECT_EQ(canvas->role(), QAccessible::Canvas);
    EXPECT_EQ(canvas->text(QAccessible::Name), QStringLiteral("Sample"));
    ASSERT_EQ(canvas->childCount(), 2);
    QAccessibleInterface* cell = canvas->child(0);
    EXPECT_EQ(cell->text(QAccessible::Name), QStringLiteral("blue box"));
    EXPECT_EQ(cell->role(), QAccessible::Cell);
    EXPECT_EQ(cell->rect().size(), QSize(30, 20));
    EXPECT_EQ(cell->rect().topLeft(), widget.mapToGlobal(QPoint(10, 10)));
    EXPECT_EQ(cell->parent(), canvas);
    EXPECT_EQ(canvas->indexOfChild(cell), 0);
    EXPECT_EQ(canvas->child(0), cell) << "the same while it exists";
    EXPECT_EQ(canvas->child(2), nullptr);
    const QPoint inside = widget.mapToGlobal(QPoint(20, 20)), outside = widget.mapToGlobal(QPoint(180, 5));
    EXPECT_EQ(canvas->childAt(inside.x(), inside.y()), cell);
    EXPECT_EQ(canvas->childAt(outside.x(), outside.y()), nullptr);
    EXPECT_FALSE(cell->state().selected);
    ASSERT_NE(cell->actionInterface(), nullptr);
    cell->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::release);
    EXPECT_EQ(view.lastEvent.at, (Point{25, 20}));
    EXPECT_EQ(canvas->focusChild(), nullptr);
    view.selected = true;
    widget.requestFrame();
    EXPECT_TRUE(cell->state().selected);
    EXPECT_EQ(canvas->focusChild(), cell);
}

TEST(CanvasWidget, NodesLieWhereTheScreenShowsThem)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    const int frames = widget.framesDrawn();
    const std::vector<Node>& nodes = widget.nodes();
    ASSERT_EQ(nodes.size(), 2U);
    const Rect label = nodes[1].rect;
    int last = 0; // the label's last column with ink
    const Shown shown(widget);
    for (int x = 0; x < 200; ++x)
        for (int y = 82; y < 94; ++y)
            if (x < 160 && (shown.at(x, y) & 0xFFU) < 0xC0)
                last = x;
    EXPECT_NEAR(static_cast<float>(last + 1), label.right, 2);
    EXPECT_EQ(widget.framesDrawn(), frames + 1) << "asking for nodes is not a frame";
    (void)widget.nodes();
    const int draws = view.draws;
    (void)widget.nodes();
    EXPECT_EQ(view.draws, draws) << "made once";
}
