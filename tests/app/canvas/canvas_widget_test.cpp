#include "app/canvas/canvas_widget.h"

#include "tests/app/canvas/sample_view.h"

#include <QAccessible>
#include <QApplication>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QTemporaryDir>
#include <QWheelEvent>

#include <gtest/gtest.h>

using namespace app;

namespace {

/// Widgets need an application; one for the whole program.
class Environment : public ::testing::Environment {
public:
    void SetUp() override { m_application = std::make_unique<QApplication>(m_count, m_arguments); }
    void TearDown() override { m_application.reset(); }

private:
    int m_count = 1;
    char m_name[5] = "test";
    char* m_arguments[2] = {m_name, nullptr};
    std::unique_ptr<QApplication> m_application;
};
const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new Environment);

QImage pictureOf(QWidget& widget)
{
    return widget.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

} // namespace

TEST(CanvasWidget, ShowsThePixelsOfItsView)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    const QImage picture = pictureOf(widget);
    EXPECT_EQ(picture.pixel(25, 20), 0xFF0072B2U);
    EXPECT_EQ(picture.pixel(9, 20), 0xFFFFFFFFU);
    EXPECT_EQ(picture.pixel(39, 29), 0xFF0072B2U) << "right and bottom edge are exclusive";
    EXPECT_EQ(picture.pixel(40, 20), 0xFFFFFFFFU);
    EXPECT_EQ(picture.pixel(50, 10), 0xFF202020U);
    EXPECT_EQ(picture.pixel(52, 12), 0xFFFFFFFFU) << "outlines lie inside their rectangle";
    EXPECT_EQ(picture.pixel(30, 125), 0xFFF2CF7FU) << "half of E69F00 over white, inside the clip";
    EXPECT_EQ(picture.pixel(30, 132), 0xFFFFFFFFU) << "outside the clip";
    EXPECT_EQ(picture.pixel(120, 62), 0xFF202020U) << "inside of the triangle";
}

TEST(CanvasWidget, DrawsOnlyWhenSomethingChanged)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    widget.show();
    pictureOf(widget);
    const int frames = widget.framesDrawn();
    pictureOf(widget);
    pictureOf(widget);
    EXPECT_EQ(widget.framesDrawn(), frames);
    widget.requestFrame();
    pictureOf(widget);
    EXPECT_EQ(widget.framesDrawn(), frames + 1);
}

TEST(CanvasWidget, HandsPointerAndCommandsToItsView)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    int changes = 0;
    QObject::connect(&widget, &CanvasWidget::viewChanged, [&changes] { ++changes; });

    QMouseEvent press(QEvent::MouseButtonPress, QPointF(12, 34), QPointF(12, 34), Qt::LeftButton, Qt::LeftButton,
                      Qt::ShiftModifier);
    QApplication::sendEvent(&widget, &press);
    EXPECT_EQ(view.lastEvent.kind, PointerEvent::Kind::press);
    EXPECT_EQ(view.lastEvent.at, (Point{12, 34}));
    EXPECT_EQ(view.lastEvent.button, PointerButton::left);
    EXPECT_TRUE(view.lastEvent.shift);
    EXPECT_EQ(view.lastArea, (Rect{0, 0, 200, 140}));

    QWheelEvent wheel(QPointF(5, 6), QPointF(5, 6), QPoint(), QPoint(0, 240), Qt::NoButton, Qt::ControlModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&widget, &wheel);
    EXPECT_EQ(view.lastEvent.wheelY, 2) << "notches";
    EXPECT_TRUE(view.lastEvent.control);

    widget.runCommand(ViewCommand::zoomIn);
    EXPECT_EQ(view.lastCommand, ViewCommand::zoomIn);
    EXPECT_EQ(changes, 3);
    view.answers = false;
    widget.runCommand(ViewCommand::zoomOut);
    EXPECT_EQ(changes, 3) << "nothing changed, nothing is redrawn";
}

TEST(CanvasWidget, NamesItsNodesToScreenReaders)
{
    test::SampleView view;
    CanvasWidget widget(view, Renderer::software);
    widget.resize(200, 140);
    QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(&widget);
    ASSERT_NE(canvas, nullptr);
    EXPECT_EQ(canvas->text(QAccessible::Name), QStringLiteral("Sample"));
    ASSERT_EQ(canvas->childCount(), 1);
    QAccessibleInterface* cell = canvas->child(0);
    EXPECT_EQ(cell->text(QAccessible::Name), QStringLiteral("blue box"));
    EXPECT_EQ(cell->role(), QAccessible::Cell);
    EXPECT_EQ(cell->rect().size(), QSize(30, 20));
    EXPECT_EQ(canvas->indexOfChild(cell), 0);
    EXPECT_EQ(canvas->child(1), nullptr);
}

TEST(Figure, IsWrittenInEveryFormatAndReplacesWhole)
{
    const QTemporaryDir folder;
    test::SampleView view;
    for (const char* ending : {"svg", "pdf", "png"}) {
        const QString path = folder.filePath(QStringLiteral("figure.") + QLatin1String(ending));
        saveFigure(view, path, {200, 140});
        EXPECT_GT(QFileInfo(path).size(), 500) << ending;
    }
    QImage png(folder.filePath(QStringLiteral("figure.png")));
    EXPECT_EQ(png.size(), QSize(400, 280));
    EXPECT_EQ(png.pixel(50, 40), 0xFF0072B2U);
    QFile svg(folder.filePath(QStringLiteral("figure.svg")));
    ASSERT_TRUE(svg.open(QIODevice::ReadOnly));
    const QByteArray text = svg.readAll();
    EXPECT_TRUE(text.contains("<title>Sample</title>"));
    EXPECT_TRUE(text.contains("Small 0123456789")) << "text stays text";

    EXPECT_THROW(saveFigure(view, folder.filePath(QStringLiteral("figure.bmp")), {200, 140}), std::runtime_error);
    EXPECT_THROW(saveFigure(view, QStringLiteral("/nowhere/figure.svg"), {200, 140}), std::runtime_error);
}
