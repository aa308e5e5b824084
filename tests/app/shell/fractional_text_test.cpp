// Text of 110 to 175 %: a point is one pixel and a part of another, and widgets begin between two.
#include "app/canvas/qt/window_pixels.h"
#include "app/shell/window/text_size.h"

#include <QCoreApplication>
#include <QImage>
#include <QPaintEvent>
#include <QWidget>

#include <gtest/gtest.h>

#include <cmath>

using namespace app;

namespace {

constexpr QRgb kDrawn = 0xFF00A040U, kUntouched = 0xFFFF00FFU;

class Plain final : public QWidget {
public:
    using QWidget::QWidget;

protected:
    void paintEvent(QPaintEvent* event) override
    {
        paintPixels(*this, event->region(), [](const PixelBuffer& out, const PixelRect& only) {
            ASSERT_LE(only.right, out.width);
            ASSERT_LE(only.bottom, out.height);
            for (int y = only.top; y < only.bottom; ++y)
                std::fill(out.row(y) + only.left, out.row(y) + only.right, kDrawn);
        });
    }
};

} // namespace

TEST(FractionalText, LeavesNoPixelOfAPictureOpenAndTouchesNoOther)
{
    QWidget window;
    Plain picture(&window);
    TextSize size;
    window.show();
    for (const int percent : kTextSizes) {
        size.set(percent);
        QCoreApplication::processEvents();
        window.resize(90, 70);
        const qreal ratio = window.devicePixelRatioF();
        ASSERT_NEAR(ratio, percent / 100.0, 1e-4);
        for (int left = 1; left < 12; ++left)
            for (const int wide : {31, 32, 33, 34, 35}) {
                const QRect place(left, 13 - left, wide, wide + 2);
                picture.setGeometry(place);
                QImage image(window.size() * ratio, QImage::Format_RGB32);
                image.setDevicePixelRatio(ratio);
                image.fill(kUntouched);
                window.render(&image, QPoint(), QRegion(), QWidget::DrawChildren);
                const auto edge = [&](int point) { return static_cast<int>(std::round(point * ratio)); };
                for (int y = 0; y < image.height(); ++y)
                    for (int x = 0; x < image.width(); ++x) {
                        const bool isInside = x >= edge(place.left()) && x < edge(place.right() + 1) && y >= edge(place.top()) &&
                                              y < edge(place.bottom() + 1);
                        ASSERT_EQ(image.pixel(x, y), isInside ? kDrawn : kUntouched)
                            << percent << " %, " << left << ", " << wide << ": " << x << ' ' << y;
                    }
            }
    }
}
