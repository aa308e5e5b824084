#include "app/shell/widgets/severity_icon.h"

#include "app/shell/widgets/style.h"

#include <QObject>
#include <QPainter>
#include <QPainterPath>
#include <QPolygonF>

#include <cmath>
#include <numbers>

namespace app {
namespace {

constexpr int kSide = 18;

QPolygonF octagon(QPointF middle, double radius)
{
    QPolygonF out;
    for (int corner = 0; corner < 8; ++corner) {
        const double angle = (corner + 0.5) * std::numbers::pi / 4;
        out << middle + radius * QPointF(std::cos(angle), std::sin(angle));
    }
    return out;
}

} // namespace

QString severityName(const sim::Finding& finding)
{
    switch (finding.severity) {
    case sim::FindingSeverity::broken: // what misses its cap fits the GPU all the same
        return finding.kind == sim::FindingKind::capMissed ? QObject::tr("Cap not kept") : QObject::tr("Does not run");
    case sim::FindingSeverity::costly:
        return QObject::tr("Costly");
    case sim::FindingSeverity::hint:
        return QObject::tr("Hint");
    case sim::FindingSeverity::note:
        break;
    }
    return QObject::tr("Note");
}

SeverityIcon::SeverityIcon(const sim::Finding& finding, const Theme& theme, QWidget* parent)
    : QWidget(parent), m_severity(finding.severity), m_theme(theme)
{
    setFixedSize(kSide, kSide);
    setAccessibleName(severityName(finding));
    setToolTip(severityName(finding));
}

void SeverityIcon::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF middle(kSide / 2.0, kSide / 2.0);
    const QColor back = toQColor(m_theme.panel);
    painter.setPen(Qt::NoPen);
    const auto line = [&](const QColor& color) { painter.setPen(QPen(color, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin)); };
    switch (m_severity) {
    case sim::FindingSeverity::broken:
        painter.setBrush(toQColor(m_theme.error));
        painter.drawPolygon(octagon(middle, 8.6));
        line(back);
        painter.drawLine(middle + QPointF(-2.8, -2.8), middle + QPointF(2.8, 2.8));
        painter.drawLine(middle + QPointF(-2.8, 2.8), middle + QPointF(2.8, -2.8));
        break;
    case sim::FindingSeverity::costly:
        painter.setBrush(toQColor(m_theme.warning));
        painter.setPen(QPen(toQColor(m_theme.warning), 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.drawPolygon(QPolygonF{QPointF(9, 2.2), QPointF(16.4, 15.2), QPointF(1.6, 15.2)});
        line(back);
        painter.drawLine(QPointF(9, 6.8), QPointF(9, 10.2));
        painter.drawPoint(QPointF(9, 13));
        break;
    case sim::FindingSeverity::hint:
        painter.setBrush(Qt::NoBrush);
        line(toQColor(m_theme.accent));
        painter.drawEllipse(middle, 7.4, 7.4);
        painter.drawLine(QPointF(9, 8.6), QPointF(9, 12.4));
        painter.drawPoint(QPointF(9, 5.6));
        break;
    case sim::FindingSeverity::note:
        painter.setBrush(Qt::NoBrush);
        line(toQColor(m_theme.mutedText));
        painter.drawPolyline(QPolygonF{QPointF(3.6, 9.6), QPointF(7.4, 13.2), QPointF(14.6, 5)});
        break;
    }
}

} // namespace app
