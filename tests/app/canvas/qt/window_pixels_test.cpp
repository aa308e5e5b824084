#include "app/canvas/qt/window_pixels.h"

#include <QImage>
#include <QPaintEvent>
#include <QWidget>

#include <gtest/gtest.h>

using namespace app;

namespace {

/// Every pixel tells where it is.
constexpr QRgb toldBy(int x, int y)
{
    return 0xFF000000U | (static_cast<QRgb>(x) << 12U) | static_cast<QRgb>(y);
}

class Chart final : public QWidget {
public:
    using QWidget::QWidget;
    bool wasDirect = false;

protected:
    void paintEvent(QPaintEvent* event) override
    {
        paintPixels(*this, event->region(), [this](const PixelBuffer& out, const PixelRect& only) {
            wasDirect = out.stride != out.width;
            for (int y = only.top; y < only.bottom; ++y)
                for (int x = only.left; x < only.right; ++x)
                    out.row(y)[x] = toldBy(x, y);
        });
    }
};

/// A chart of 100x60 at (30, 20) of a larger window.
struct Window {
    Window()
    {
        widget.resize(200, 120);
        chart.setParent(&widget);
        chart.setGeometry(30, 20, 100, 60);
    }
    QWidget widget;
    Chart chart;
};

} // namespace

TEST(WindowPixels, LieWhereTheWidgetLies)
{
    Window window;
    QImage picture(window.widget.size(), QImage::Format_RGB32);
    picture.fill(Qt::white);
    window.widget.render(&picture);
    EXPECT_TRUE(window.chart.wasDirect);
    EXPECT_EQ(picture.pixel(30, 20), toldBy(0, 0));
    EXPECT_EQ(picture.pixel(129, 79), toldBy(99, 59));
    for (const QPoint outside : {QPoint(29, 20), QPoint(30, 19), QPoint(130, 79), QPoint(129, 80)})
        EXPECT_NE(picture.pixel(outside), toldBy(outside.x() - 30, outside.y() - 20)) << outside.x() << ' ' << outside.y();
}

TEST(WindowPixels, ComeByAnImageWhereTheWindowHasOthers)
{
    Window window;
    QImage direct(window.widget.size(), QImage::Format_RGB32), other(window.widget.size(), QImage::Format_RGB888);
    direct.fill(Qt::white);
    other.fill(Qt::white);
    window.widget.render(&direct);
    window.widget.render(&other);
    EXPECT_FALSE(window.chart.wasDirect);
    EXPECT_EQ(other.convertToFormat(QImage::Format_RGB32), direct);
}

TEST(WindowPixels, StayWithinWhatThereIsToPaintOn)
{
    Window window;
    QImage small(60, 50, QImage::Format_RGB32); // ends within the chart
    small.fill(Qt::white);
    window.widget.render(&small);
    EXPECT_EQ(small.pixel(59, 49), toldBy(29, 29));
    QImage cut(60, 50, QImage::Format_RGB32); // begins within it
    cut.fill(Qt::white);
    window.chart.render(&cut, QPoint(-10, -5));
    EXPECT_EQ(cut.pixel(0, 0), toldBy(10, 5));
}

TEST(WindowPixels, OfAPartAloneAreTouched)
{
    Window window;
    QImage picture(window.widget.size(), QImage::Format_RGB32);
    picture.fill(Qt::white);
    const QRegion parts = QRegion(40, 30, 10, 5) + QRegion(100, 50, 20, 20);
    window.widget.render(&picture, QPoint(), parts, QWidget::DrawChildren);
    for (int y = 0; y < picture.height(); ++y)
        for (int x = 0; x < picture.width(); ++x) {
            const QPoint from = QPoint(x, y) + parts.boundingRect().topLeft(), inChart = from - window.chart.pos();
            const bool isPart = parts.contains(from) && window.chart.geometry().contains(from);
            ASSERT_EQ(picture.pixel(x, y), isPart ? toldBy(inChart.x(), inChart.y()) : 0xFFFFFFFFU) << x << ' ' << y;
        }
}

TEST(WindowPixels, AtTwiceAsManyPixelsAPoint)
{
    Window window;
    QImage picture(window.widget.size() * 2, QImage::Format_RGB32);
    picture.setDevicePixelRatio(2);
    picture.fill(Qt::white);
    window.widget.render(&picture); // the widget itself draws one a point
    EXPECT_EQ(picture.pixel(61, 41), toldBy(0, 0));
    EXPECT_EQ(picture.pixel(60 + 20, 40 + 20), toldBy(10, 10));
}
