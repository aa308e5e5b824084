#include "app/lessons/curve_input.h"

#include "app/shell/widgets/format.h"
#include "sim/lesson/live_text.h"
#include "sim/scenario/json_text.h"

#include <QAccessible>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace app {

CurveInput::CurveInput(const QStringList& places, const QString& unit, std::pair<double, double> range, double scale, double step,
                       QWidget* parent)
    : AnswerInput(parent), m_places(places), m_unit(unit), m_from(range.first), m_to(range.second), m_scale(scale),
      m_step(step > 0 ? step : (range.second - range.first) / 100), m_values(static_cast<std::size_t>(places.size()))
{
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::CrossCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Sketch of a curve"));
    setToolTip(tr("Drag to draw. With the keys: Left and Right choose a place, Up and Down its value."));
    speak();
}

QSize CurveInput::sizeHint() const
{
    return {260, 200};
}

QSize CurveInput::minimumSizeHint() const
{
    return {180, 160};
}

QString CurveInput::shown(double value) const
{
    const QString number = QString::fromStdString(sim::writtenValue(value * m_scale, ""));
    return m_unit.isEmpty() ? number : number + QLatin1Char(' ') + m_unit;
}

/// Where one is, what is there, what is still missing.
void CurveInput::speak()
{
    if (m_places.isEmpty())
        return;
    const auto at = static_cast<std::size_t>(m_place);
    const auto missing = std::count_if(m_values.begin(), m_values.end(), [](const auto& value) { return !value; });
    QString words = tr("At %1: %2").arg(m_places[m_place], m_values[at] ? shown(*m_values[at]) : tr("nothing yet"));
    if (!m_engines.empty())
        words += tr("; the engine: %1").arg(shown(m_engines[at]));
    else if (missing > 0)
        words += tr("; %1 of %2 places are empty").arg(missing).arg(m_places.size());
    setAccessibleDescription(words);
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
}

sim::LessonValue CurveInput::value() const
{
    sim::LessonValue values = sim::LessonValue::array();
    for (const auto& value : m_values) {
        if (!value)
            return {};
        values.push_back(*value);
    }
    return values;
}

void CurveInput::setValue(const sim::LessonValue& value)
{
    const auto values = sim::valueAs<std::vector<double>>(value);
    for (std::size_t i = 0; values && i < std::min(values->size(), m_values.size()); ++i)
        m_values[i] = (*values)[i];
    speak();
    update();
    Q_EMIT changed();
}

void CurveInput::setEngines(const std::vector<double>& values)
{
    m_engines = values;
    m_engines.resize(m_values.size());
    speak();
    update();
}

QRectF CurveInput::plot() const
{
    const QFontMetrics metrics = fontMetrics();
    const int left = std::max(metrics.horizontalAdvance(shown(m_from)), metrics.horizontalAdvance(shown(m_to))) + 8;
    return QRectF(rect()).adjusted(left, metrics.height() / 2.0 + 2, -10, -metrics.height() - 8);
}

QPointF CurveInput::pointOf(std::size_t place, double value) const
{
    const QRectF area = plot();
    const double steps = std::max<double>(1, static_cast<double>(m_values.size()) - 1);
    const double share = std::clamp((value - m_from) / (m_to - m_from), -0.05, 1.05);
    return {area.left() + area.width() * static_cast<double>(place) / steps, area.bottom() - area.height() * share};
}

double CurveInput::valueAt(double y) const
{
    const QRectF area = plot();
    return std::clamp(m_from + (area.bottom() - y) / area.height() * (m_to - m_from), m_from, m_to);
}

int CurveInput::placeAt(double x) const
{
    const QRectF area = plot();
    const auto steps = static_cast<double>(m_values.size()) - 1;
    return static_cast<int>(std::clamp(std::round((x - area.left()) / std::max(1.0, area.width()) * steps), 0.0, steps));
}

void CurveInput::put(int place, double value)
{
    m_place = place;
    m_values[static_cast<std::size_t>(place)] = std::clamp(value, m_from, m_to);
}

/// Also at the places that a fast drag has jumped over.
void CurveInput::drawTo(QPointF at)
{
    if (m_values.empty() || !m_engines.empty())
        return;
    const int to = placeAt(at.x());
    const double value = valueAt(at.y());
    if (m_last && *m_last != to) {
        const int from = *m_last;
        const double before = *m_values[static_cast<std::size_t>(from)];
        for (int place = from; place != to; place += to > from ? 1 : -1)
            put(place, before + (value - before) * (place - from) / (to - from));
    }
    put(to, value);
    m_last = to;
    speak();
    update();
    Q_EMIT changed();
}

void CurveInput::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_last.reset();
    drawTo(event->position());
}

void CurveInput::mouseMoveEvent(QMouseEvent* event)
{
    if ((event->buttons() & Qt::LeftButton) != 0)
        drawTo(event->position());
}

void CurveInput::mouseReleaseEvent(QMouseEvent*)
{
    m_last.reset();
}

void CurveInput::keyPressEvent(QKeyEvent* event)
{
    if (m_values.empty())
        return AnswerInput::keyPressEvent(event);
    const int last = static_cast<int>(m_values.size()) - 1;
    constexpr double kPage = 10;
    const auto change = [&](double by) {
        if (!m_engines.empty())
            return;
        const auto& here = m_values[static_cast<std::size_t>(m_place)];
        const auto& before = m_values[static_cast<std::size_t>(std::max(0, m_place - 1))];
        put(m_place, here ? *here + by : before ? *before : (m_from + m_to) / 2); // an empty one begins where the curve is
        Q_EMIT changed();
    };
    switch (event->key()) {
    case Qt::Key_Left:
        m_place = std::max(0, m_place - 1);
        break;
    case Qt::Key_Right:
        m_place = std::min(last, m_place + 1);
        break;
    case Qt::Key_Home:
        m_place = 0;
        break;
    case Qt::Key_End:
        m_place = last;
        break;
    case Qt::Key_Up:
        change(m_step);
        break;
    case Qt::Key_Down:
        change(-m_step);
        break;
    case Qt::Key_PageUp:
        change(m_step * kPage);
        break;
    case Qt::Key_PageDown:
        change(-m_step * kPage);
        break;
    default:
        return AnswerInput::keyPressEvent(event);
    }
    speak();
    update();
}

void CurveInput::focusInEvent(QFocusEvent* event)
{
    AnswerInput::focusInEvent(event);
    update();
}

void CurveInput::focusOutEvent(QFocusEvent* event)
{
    AnswerInput::focusOutEvent(event);
    update();
}

void CurveInput::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF area = plot();
    const QColor ink = palette().color(QPalette::WindowText), pale = palette().color(QPalette::Mid),
                 accent = palette().color(QPalette::Link);
    painter.fillRect(area, palette().color(QPalette::Base));
    painter.setPen(QPen(pale, 1));
    painter.drawRect(area);
    for (std::size_t i = 0; i < m_values.size(); ++i)
        painter.drawLine(QPointF(pointOf(i, m_from).x(), area.top()), QPointF(pointOf(i, m_from).x(), area.bottom()));
    painter.setPen(ink);
    const int line = fontMetrics().height();
    painter.drawText(QRectF(0, area.top() - line / 2.0, area.left() - 4, line), Qt::AlignRight | Qt::AlignVCenter, shown(m_to));
    painter.drawText(QRectF(0, area.bottom() - line / 2.0, area.left() - 4, line), Qt::AlignRight | Qt::AlignVCenter,
                     shown(m_from));
    double free = 0; // places whose names do not touch
    for (qsizetype i = 0; i < m_places.size(); ++i) {
        const double x = pointOf(static_cast<std::size_t>(i), m_from).x(),
                     half = fontMetrics().horizontalAdvance(m_places[i]) / 2.0;
        if (x - half < free)
            continue;
        const double left = std::clamp(x - half, 0.0, std::max(0.0, width() - 2 * half));
        painter.drawText(QPointF(left, area.bottom() + line), m_places[i]);
        free = x + half + 6;
    }
    // The engine's is dashed, with squares: apart from yours without colour, too.
    if (!m_engines.empty()) {
        QPolygonF curve;
        for (std::size_t i = 0; i < m_engines.size(); ++i)
            curve << pointOf(i, m_engines[i]);
        painter.setPen(QPen(accent, 2, Qt::DashLine));
        painter.drawPolyline(curve);
        painter.setBrush(accent);
        painter.setPen(Qt::NoPen);
        for (const QPointF& at : curve)
            painter.drawRect(QRectF(at.x() - 3, at.y() - 3, 6, 6));
    }
    QPolygonF stretch;
    const auto finish = [&] {
        painter.setPen(QPen(ink, 2));
        painter.drawPolyline(stretch);
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        for (const QPointF& at : stretch)
            painter.drawEllipse(at, 3, 3);
        stretch.clear();
    };
    for (std::size_t i = 0; i < m_values.size(); ++i)
        if (m_values[i])
            stretch << pointOf(i, *m_values[i]);
        else
            finish();
    finish();
    if (!m_engines.empty()) {
        painter.setPen(ink);
        painter.drawText(area.adjusted(6, 2, -6, 0), Qt::AlignTop | Qt::AlignLeft, tr("you: solid · engine: dashed"));
    } else if (std::none_of(m_values.begin(), m_values.end(), [](const auto& value) { return value.has_value(); })) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(area, Qt::AlignCenter, tr("Draw the curve here"));
    }
    if (hasFocus() && !m_values.empty()) {
        const auto at = static_cast<std::size_t>(m_place);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(accent, 2));
        const double x = pointOf(at, m_from).x();
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        if (m_values[at])
            painter.drawEllipse(pointOf(at, *m_values[at]), 6, 6);
    }
}

} // namespace app
