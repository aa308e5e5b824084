// Needs a screen with OpenGL (a virtual one will do); skipped on platforms that have none.
#include "app/canvas/qt/canvas_widget.h"
#include "tests/app/canvas/qt/sample_view.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QMainWindow>
#include <QOpenGLWidget>

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

using namespace app;

namespace {

void processEventsUntil(const std::function<bool()>& done)
{
    QElapsedTimer timer;
    timer.start();
    while (!done() && timer.elapsed() < 5000)
        QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
}

QImage pictureOf(CanvasWidget& widget)
{
    auto* gl = widget.findChild<QOpenGLWidget*>();
    return (gl != nullptr ? gl->grabFramebuffer() : widget.grab().toImage()).convertToFormat(QImage::Format_RGB32);
}

/// Share of pixels that are clearly not the same.
double difference(const QImage& a, const QImage& b)
{
    int differing = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x)
            differing += std::abs(qGreen(a.pixel(x, y)) - qGreen(b.pixel(x, y))) > 48 ? 1 : 0;
    return static_cast<double>(differing) / (a.width() * a.height());
}

class GlCanvas : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (CanvasWidget(m_view, Renderer::openGl).renderer() != Renderer::openGl)
            GTEST_SKIP() << "no OpenGL on the platform " << QGuiApplication::platformName().toStdString();
    }
    test::SampleView m_view;
};

} // namespace

TEST_F(GlCanvas, ShowsWhatTheSoftwareShows)
{
    CanvasWidget hardware(m_view, Renderer::openGl), software(m_view, Renderer::software);
    for (CanvasWidget* widget : {&hardware, &software}) {
        widget->resize(200, 140);
        widget->show();
    }
    processEventsUntil([&] { return hardware.framesDrawn() > 0 && software.framesDrawn() > 0; });
    const QImage a = pictureOf(hardware), b = pictureOf(software);
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(a.pixel(25, 20), 0xFF0072B2U);
    EXPECT_EQ(a.pixel(30, 132), 0xFFFFFFFFU) << "outside the clip";
    EXPECT_LT(difference(a, b), 0.01);
}

TEST_F(GlCanvas, SurvivesItsWindow)
{
    QMainWindow first, second;
    auto* widget = new CanvasWidget(m_view, Renderer::openGl);
    first.setCentralWidget(widget);
    first.resize(200, 140);
    first.show();
    processEventsUntil([&] { return widget->framesDrawn() > 0; });
    const QImage before = pictureOf(*widget);
    first.takeCentralWidget();
    second.setCentralWidget(widget); // another window, another context
    second.resize(200, 140);
    second.show();
    const int frames = widget->framesDrawn();
    widget->requestFrame();
    processEventsUntil([&] { return widget->framesDrawn() > frames; });
    const QImage after = pictureOf(*widget);
    ASSERT_EQ(after.size(), before.size());
    EXPECT_LT(difference(before, after), 0.001);
}

TEST_F(GlCanvas, DrawsOnlyWhenSomethingChanged)
{
    CanvasWidget widget(m_view, Renderer::openGl);
    widget.resize(200, 140);
    widget.show();
    processEventsUntil([&] { return widget.framesDrawn() > 0; });
    QElapsedTimer timer;
    timer.start();
    processEventsUntil([&] { return timer.elapsed() > 200; });
    const int frames = widget.framesDrawn();
    timer.restart();
    processEventsUntil([&] { return timer.elapsed() > 200; });
    EXPECT_EQ(widget.framesDrawn(), frames);
    m_view.moves = true;
    widget.requestFrame();
    processEventsUntil([&] { return widget.framesDrawn() > frames + 3; });
    EXPECT_GT(widget.framesDrawn(), frames + 3) << "animations run here, too";
}
