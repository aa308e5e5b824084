#include "app/canvas/canvas_widget.h"
#include "app/canvas/qpainter_canvas.h"
#include "app/canvas/svg_canvas.h"
#include "sim/error.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>

namespace app {
namespace {

Rect areaOf(QSize size)
{
    return {0, 0, static_cast<float>(size.width()), static_cast<float>(size.height())};
}

QByteArray svgOf(View& view, QSize size)
{
    SvgCanvas canvas(areaOf(size));
    view.draw(canvas);
    return QByteArray::fromStdString(canvas.document(view.title()));
}

void paint(View& view, QPaintDevice& device, QSize size, qreal scale)
{
    QPainter painter(&device);
    painter.scale(scale, scale);
    QPainterCanvas canvas(painter, areaOf(size));
    view.draw(canvas);
}

QByteArray pdfOf(View& view, QSize size)
{
    constexpr int kDotsPerInch = 1200;
    constexpr qreal kLogicalDotsPerInch = 96;
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter pdf(&buffer);
    pdf.setResolution(kDotsPerInch);
    pdf.setTitle(QString::fromStdString(view.title()));
    pdf.setPageSize(QPageSize(QSizeF(size) / kLogicalDotsPerInch, QPageSize::Inch, QString(), QPageSize::ExactMatch));
    pdf.setPageMargins(QMarginsF());
    paint(view, pdf, size, kDotsPerInch / kLogicalDotsPerInch);
    return bytes;
}

QByteArray pngOf(View& view, QSize size, qreal scale)
{
    QImage image(size * scale, QImage::Format_RGB32);
    if (image.isNull())
        throw sim::Error("no memory for a picture of " + std::to_string(size.width()) + " x " + std::to_string(size.height()) +
                         " at scale " + std::to_string(scale));
    image.fill(Qt::white);
    paint(view, image, size, scale);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

} // namespace

void saveFigure(View& view, const QString& path, QSize logicalSize, qreal scale)
{
    if (logicalSize.isEmpty() || !(scale > 0))
        throw sim::Error(path.toStdString() + ": a figure of " + std::to_string(logicalSize.width()) + " x " +
                         std::to_string(logicalSize.height()) + " pixels at scale " + std::to_string(scale) +
                         " holds nothing; both must be above 0");
    QByteArray bytes;
    if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive))
        bytes = svgOf(view, logicalSize);
    else if (path.endsWith(QLatin1String(".pdf"), Qt::CaseInsensitive))
        bytes = pdfOf(view, logicalSize);
    else if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive))
        bytes = pngOf(view, logicalSize, scale);
    else
        throw sim::Error(path.toStdString() + ": a figure is a .svg, .pdf or .png file");
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
        throw sim::Error(path.toStdString() + ": cannot be written: " + file.errorString().toStdString());
}

} // namespace app
