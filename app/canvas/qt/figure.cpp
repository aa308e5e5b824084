#include "app/canvas/qt/figure.h"

#include "app/canvas/qt/fonts.h"
#include "app/canvas/qt/qpainter_canvas.h"
#include "app/canvas/qt/save_whole.h"
#include "app/canvas/svg_canvas.h"
#include "sim/error.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>

#include <array>

namespace app {
namespace {

constexpr qreal kInchesPerMetre = 1000 / 25.4;
constexpr std::array kFormats{FigureFormat::svg, FigureFormat::pdf, FigureFormat::png};

Rect areaOf(QSize size)
{
    return {0, 0, static_cast<float>(size.width()), static_cast<float>(size.height())};
}

QByteArray svgOf(View& view, const FigureShape& shape)
{
    SvgCanvas canvas(areaOf(shape.logical), printedType());
    drawOnPaper(view, canvas);
    const std::string document = canvas.document(view.title(), static_cast<float>(shape.pointsPerPixel));
    return QString::fromStdString(document).toUtf8(); // broken UTF-8 in a name would break the whole file
}

void paint(View& view, QPaintDevice& device, QSize size, qreal scale)
{
    QPainter painter(&device);
    painter.scale(scale, scale);
    QPainterCanvas canvas(painter, areaOf(size));
    drawOnPaper(view, canvas);
}

QByteArray pdfOf(View& view, const FigureShape& shape)
{
    constexpr int kDotsPerInch = 1200;
    const qreal inchesPerPixel = shape.pointsPerPixel / kPointsPerInch;
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter pdf(&buffer);
    pdf.setResolution(kDotsPerInch);
    pdf.setTitle(QString::fromStdString(view.title()));
    pdf.setPageSize(QPageSize(QSizeF(shape.logical) * inchesPerPixel, QPageSize::Inch, QString(), QPageSize::ExactMatch));
    pdf.setPageMargins(QMarginsF());
    paint(view, pdf, shape.logical, kDotsPerInch * inchesPerPixel);
    return bytes;
}

QByteArray pngOf(View& view, const FigureShape& shape)
{
    QImage image = figureImage(view, shape.logical, shape.pngScale);
    const qreal dotsPerInch = shape.pngScale * kPointsPerInch / shape.pointsPerPixel; // as large as the same figure in a PDF
    image.setDotsPerMeterX(qRound(dotsPerInch * kInchesPerMetre));
    image.setDotsPerMeterY(image.dotsPerMeterX());
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

} // namespace

const char* figureEnding(FigureFormat format)
{
    return format == FigureFormat::svg ? "svg" : format == FigureFormat::pdf ? "pdf" : "png";
}

std::optional<FigureFormat> figureFormatOf(const QString& path)
{
    for (const FigureFormat format : kFormats)
        if (path.endsWith(QLatin1Char('.') + QLatin1String(figureEnding(format)), Qt::CaseInsensitive))
            return format;
    return {};
}

QByteArray figureBytes(View& view, FigureFormat format, const FigureShape& shape)
{
    if (shape.logical.isEmpty() || !(shape.pngScale > 0) || !(shape.pointsPerPixel > 0))
        throw sim::Error("a figure of " + std::to_string(shape.logical.width()) + " x " + std::to_string(shape.logical.height()) +
                         " pixels at scale " + std::to_string(shape.pngScale) + " holds nothing; both must be above 0");
    return format == FigureFormat::svg   ? svgOf(view, shape)
           : format == FigureFormat::pdf ? pdfOf(view, shape)
                                         : pngOf(view, shape);
}

QImage figureImage(View& view, QSize size, qreal scale)
{
    QImage image(size * scale, QImage::Format_RGB32);
    if (image.isNull())
        throw sim::Error("no memory for a picture of " + std::to_string(size.width()) + " x " + std::to_string(size.height()) +
                         " at scale " + std::to_string(scale));
    image.fill(Qt::white);
    paint(view, image, size, scale);
    return image;
}

void saveFigure(View& view, const QString& path, const FigureShape& shape)
{
    const auto format = figureFormatOf(path);
    if (!format)
        throw sim::Error(path.toStdString() + ": a figure is a .svg, .pdf or .png file");
    saveWhole(path, figureBytes(view, *format, shape));
}

void saveFigure(View& view, const QString& path, QSize logicalSize, qreal scale)
{
    saveFigure(view, path, FigureShape{.logical = logicalSize, .pngScale = scale});
}

} // namespace app
