#include "app/canvas/qt/qpainter_canvas.h"

#include "app/canvas/qt/fonts.h"
#include "app/canvas/strokes.h"

#include <QPainter>
#include <QPolygonF>

#include <algorithm>

namespace app {
namespace {

QColor toQt(Color color)
{
    const std::uint32_t v = color.value;
    return {static_cast<int>(v & 0xFFU), static_cast<int>((v >> 8U) & 0xFFU), static_cast<int>((v >> 16U) & 0xFFU),
            static_cast<int>(v >> 24U)};
}

QRectF toQt(Rect rect)
{
    return {QPointF(rect.left, rect.top), QPointF(rect.right, rect.bottom)};
}

QPolygonF toQt(const std::vector<Point>& points, float shift)
{
    QPolygonF polygon;
    polygon.reserve(static_cast<qsizetype>(points.size()));
    for (const Point& point : points)
        polygon << QPointF(point.x + shift, point.y + shift);
    return polygon;
}

QPen penOf(Color color, float thickness, LineStyle style)
{
    QPen pen(toQt(color), thickness);
    pen.setCapStyle(Qt::FlatCap);
    pen.setJoinStyle(Qt::MiterJoin);
    if (style == LineStyle::dashed)
        pen.setDashPattern({4, 3}); // in units of the thickness
    else if (style == LineStyle::dotted)
        pen.setDashPattern({1, 2});
    return pen;
}

QString toQt(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

QPainterCanvas::QPainterCanvas(QPainter& painter, Rect area) : m_painter(painter), m_area(area) {}

void QPainterCanvas::fillRect(Rect rect, Color color)
{
    m_painter.fillRect(toQt(rect), toQt(color));
}

void QPainterCanvas::strokeRect(Rect rect, Color color, float thickness, LineStyle style)
{
    const double t = std::min<double>(thickness, std::min(rect.width(), rect.height()) / 2);
    if (t <= 0)
        return;
    m_painter.setPen(penOf(color, static_cast<float>(t), style));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRect(toQt(rect).adjusted(t / 2, t / 2, -t / 2, -t / 2));
}

void QPainterCanvas::line(Point from, Point to, Color color, float thickness, LineStyle style)
{
    m_painter.setPen(penOf(color, thickness, style));
    const Point shift = strokeShift(from, to, thickness);
    const bool isSlanted = from.x != to.x && from.y != to.y;
    m_painter.setRenderHint(QPainter::Antialiasing, isSlanted);
    m_painter.drawLine(QPointF(from.x + shift.x, from.y + shift.y), QPointF(to.x + shift.x, to.y + shift.y));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
}

void QPainterCanvas::polyline(const std::vector<Point>& points, Color color, float thickness)
{
    m_painter.setPen(penOf(color, thickness, LineStyle::solid));
    m_painter.setRenderHint(QPainter::Antialiasing);
    m_painter.drawPolyline(toQt(points, polylineShift(thickness)));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
}

void QPainterCanvas::fillConvex(const std::vector<Point>& points, Color color)
{
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(toQt(color));
    m_painter.setRenderHint(QPainter::Antialiasing);
    m_painter.drawConvexPolygon(toQt(points, 0));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
}

void QPainterCanvas::text(Point at, std::string_view text, Color color, FontFace face, Align align)
{
    const float width = align == Align::left ? 0 : textWidth(text, face);
    const float left = at.x - (align == Align::center ? width / 2 : width);
    m_painter.setFont(qtFont(face));
    m_painter.setPen(toQt(color));
    m_painter.drawText(QPointF(left, at.y + lineMetrics(face).ascent), toQt(text));
}

float QPainterCanvas::textWidth(std::string_view text, FontFace face)
{
    return printedWidth(text, face);
}

float QPainterCanvas::textHeight(FontFace face)
{
    return lineMetrics(face).height;
}

void QPainterCanvas::pushClip(Rect rect)
{
    m_painter.save();
    m_painter.setClipRect(toQt(rect), Qt::IntersectClip);
}

void QPainterCanvas::popClip()
{
    m_painter.restore();
}

} // namespace app
