#include "app/canvas/qt/window_pixels.h"

#include <QImage>
#include <QPaintEngine>
#include <QPainter>
#include <QRegion>
#include <QWidget>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace app {
namespace {

/// Each of them is a walk through all that is drawn.
constexpr int kMostClipRectangles = 12;

/// What a painter on a widget writes into, if that is an image as the rasteriser knows it.
QImage* imageBehind(const QPainter& painter)
{
    const QPaintEngine* engine = painter.paintEngine();
    QPaintDevice* device = engine != nullptr ? engine->paintDevice() : nullptr;
    if (device == nullptr || engine->type() != QPaintEngine::Raster || device->devType() != QInternal::Image)
        return nullptr;
    auto* image = static_cast<QImage*>(device);
    // Opaque pixels are the same in both.
    return image->format() == QImage::Format_RGB32 || image->format() == QImage::Format_ARGB32_Premultiplied ? image : nullptr;
}

/// Edges of widgets lie where rounding puts them, so that two that touch share no pixel.
QRect roundedRect(const QRectF& rect)
{
    const auto left = static_cast<int>(std::round(rect.left())), top = static_cast<int>(std::round(rect.top()));
    return {QPoint(left, top),
            QPoint(static_cast<int>(std::round(rect.right())) - 1, static_cast<int>(std::round(rect.bottom())) - 1)};
}

PixelRect toPixelRect(const QRect& rect)
{
    return {rect.left(), rect.top(), rect.right() + 1, rect.bottom() + 1};
}

} // namespace

PixelBuffer pixelsOf(QImage& image)
{
    return {reinterpret_cast<std::uint32_t*>(image.bits()), image.width(), image.height(),
            image.bytesPerLine() / static_cast<qsizetype>(sizeof(std::uint32_t))};
}

void paintPixels(QWidget& widget, const QRegion& region, const FillPixels& fill)
{
    const QSize pixels = widget.size() * widget.devicePixelRatioF();
    if (pixels.isEmpty())
        return;
    QPainter painter(&widget);
    const QTransform toDevice = painter.deviceTransform();
    QImage* const image = imageBehind(painter);
    const bool asItIs = toDevice.type() <= QTransform::TxScale && toDevice.m11() == widget.devicePixelRatioF() &&
                        toDevice.m22() == widget.devicePixelRatioF() && region.rectCount() <= kMostClipRectangles;
    const QPoint origin(static_cast<int>(std::round(toDevice.dx())), static_cast<int>(std::round(toDevice.dy())));
    if (image == nullptr || !asItIs || origin.x() < 0 || origin.y() < 0) {
        QImage between(pixels, QImage::Format_RGB32);
        between.setDevicePixelRatio(widget.devicePixelRatioF());
        fill(pixelsOf(between), {0, 0, pixels.width(), pixels.height()});
        painter.drawImage(0, 0, between);
        return;
    }
    const PixelBuffer all = pixelsOf(*image);
    const PixelBuffer out{all.row(origin.y()) + origin.x(), pixels.width(), pixels.height(), all.stride};
    // Where a point is one and a half pixels, the widget may take one more than the picture has.
    const QRect picture(QPoint(0, 0), pixels), window = image->rect().translated(-origin);
    const QRect there = roundedRect(toDevice.mapRect(QRectF(widget.rect()))).translated(-origin) & window;
    for (const QRect& rect : region) {
        const QRect part = roundedRect(toDevice.mapRect(QRectF(rect))).translated(-origin) & there;
        if (const QRect drawn = part & picture; !drawn.isEmpty())
            fill(out, toPixelRect(drawn));
        for (int y = part.top(); y <= part.bottom(); ++y)
            for (int x = y < pixels.height() ? std::max(part.left(), pixels.width()) : part.left(); x <= part.right(); ++x)
                out.row(y)[x] = out.row(std::min(y, pixels.height() - 1))[std::min(x, pixels.width() - 1)];
    }
}

} // namespace app
