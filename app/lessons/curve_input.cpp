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
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Sketch of a curve"));
    setToolTip(tr("Drag to draw. With the keys: Left and Right choose a place, Up and Down its value."));
    speak();
}

QSize CurveInput::sizeHint() const
{
    return {260, m_height};
}

QSize CurveInput::minimumSizeHint() const
{
    return {180, m_height};
}

/// What is read beside it stays on screen with it.
void CurveInput::fitInto(int height)
{
    const int line = fontMetrics().height();
    constexpr int kReason = 4; // lines
    const int wanted = std::clamp(height - kReason * line, 5 * line, kUsualHeight);
    if (wanted == m_height)
        return;
    m_height = wanted;
    updateGeometry();
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
    setCursor(Qt::ArrowCursor);
    setToolTip({});
    speak();
    update();
}

/// Round numbers, as many as the height has room for.
std::vector<double> CurveInput::ticks() const
{
    constexpr double kLinesApart = 1.5;
    const double room = height() - 3.0 * fontMetrics().height();
    const double most = std::clamp(room / (kLinesApart * fontMetrics().height()), 1.0, 10.0);
    const double range = (m_to - m_from) * m_scale, rough = range / most, unit = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * unit;
    for (const double nice : {1.0, 2.0, 2.5, 5.0})
        if (nice * unit >= rough * (1 - 1e-9)) {
            step = nice * unit;
            break;
        }
    std::vector<double> out;
    const double first = std::ceil(m_from * m_scale / step - 1e-9) * step;
    for (int i = 0; i <= most && first + i * step <= m_to * m_scale + step * 1e-9; ++i) { // counted: a sum may stand still
        const double at = first + i * step;
        out.push_back(std::abs(at) < step * 1e-9 ? 0 : at / m_scale);
    }
    return out.size() < 2 ? std::vector{m_from, m_to} : out; // an axis has two ends at least
}

/// Below a line for what is under the pointer, and over one for the places.
QRectF CurveInput::plot() const
{
    const QFontMetrics metrics = fontMetrics();
    int left = 0;
    for (const double tick : ticks())
        left = std::max(left, metrics.horizontalAdvance(shown(tick)));
    return QRectF(rect()).adjusted(left + 8, metrics.height() + 6, -10, -metrics.height() - 6);
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
    m_pointer = event->position();
    if ((event->buttons() & Qt::LeftButton) != 0)
        drawTo(event->position());
    update();
}

void CurveInput::leaveEvent(QEvent* event)
{
    AnswerInput::leaveEvent(event);
    m_pointer.reset();
    update();
}

/// Of the place under the pointer, or of the one that the keys have chosen: where, and what would be drawn, or is.
QString CurveInput::readout() const
{
    if (m_values.empty() || (!m_pointer && !hasFocus()))
        return {};
    const int place = m_pointer ? placeAt(m_pointer->x()) : m_place;
    const auto at = static_cast<std::size_t>(place);
    const QString where = m_along.isEmpty() ? m_places[place] : m_places[place] + QLatin1Char(' ') + m_along;
    if (!m_engines.empty())
        return tr("%1: you %2, the engine %3")
            .arg(where, m_values[at] ? shown(*m_values[at]) : QStringLiteral("–"), shown(m_engines[at]));
    if (m_pointer)
        return QStringLiteral("%1: %2").arg(where, shown(valueAt(m_pointer->y())));
    return m_values[at] ? QStringLiteral("%1: %2").arg(where, shown(*m_values[at])) : where;
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
    paintAxes(painter);
    paintCurves(painter);
    const QRectF area = plot();
    const QColor ink = palette().color(QPalette::WindowText), accent = palette().color(QPalette::Link);
    const QRectF above(0, 0, width(), area.top() - 3);
    const bool isEmpty = std::none_of(m_values.begin(), m_values.end(), [](const auto& value) { return value.has_value(); });
    painter.setPen(ink);
    if (const QString read = readout(); !read.isEmpty())
        painter.drawText(above, Qt::AlignRight | Qt::AlignVCenter, read);
    else if (!m_engines.empty())
        painter.drawText(above, Qt::AlignRight | Qt::AlignVCenter, tr("you: solid · engine: dashed"));
    if (isEmpty && m_engines.empty() && !m_pointer) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(area, Qt::AlignCenter, tr("Draw the curve here"));
    }
    if (m_pointer && m_engines.empty() && isEnabled() && area.adjusted(-8, -8, 8, 8).contains(*m_pointer)) {
        const QPointF at = pointOf(static_cast<std::size_t>(placeAt(m_pointer->x())), valueAt(m_pointer->y()));
        painter.setPen(QPen(accent, 1, Qt::DotLine));
        painter.drawLine(QPointF(area.left(), at.y()), QPointF(area.right(), at.y()));
        painter.drawLine(QPointF(at.x(), area.top()), QPointF(at.x(), area.bottom()));
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

/// Lines at round numbers, each named with its unit, and one at each place.
void CurveInput::paintAxes(QPainter& painter) const
{
    const QRectF area = plot();
    const QColor ink = palette().color(QPalette::WindowText), pale = palette().color(QPalette::Mid);
    painter.fillRect(area, palette().color(QPalette::Base));
    const int line = fontMetrics().height();
    for (const double tick : ticks()) {
        const double y = pointOf(0, tick).y();
        painter.setPen(QPen(pale, 1));
        painter.drawLine(QPointF(area.left() - 4, y), QPointF(area.right(), y));
        painter.setPen(ink);
        painter.drawText(QRectF(0, y - line / 2.0, area.left() - 6, line), Qt::AlignRight | Qt::AlignVCenter, shown(tick));
    }
    painter.setPen(QPen(pale, 1));
    for (std::size_t i = 0; i < m_values.size(); ++i)
        painter.drawLine(QPointF(pointOf(i, m_from).x(), area.top()), QPointF(pointOf(i, m_from).x(), area.bottom() + 3));
    painter.setPen(QPen(ink, 1));
    painter.drawLine(area.topLeft(), area.bottomLeft());
    painter.drawLine(area.bottomLeft(), area.bottomRight());
    const double below = area.bottom() + line + 1;
    const auto widthOf = [&](const QString& text) { return static_cast<double>(fontMetrics().horizontalAdvance(text)); };
    double free = 0, end = width();                  // places whose names do not touch
    if (!m_along.isEmpty() && !m_places.isEmpty()) { // stands between the last two, or not at all
        const double right = area.right() - widthOf(m_places.back()) / 2 - 8, left = right - widthOf(m_along);
        const auto last = static_cast<std::size_t>(m_places.size() - 1);
        const double before = last == 0 ? 0 : pointOf(last - 1, m_from).x() + widthOf(m_places[m_places.size() - 2]) / 2 + 8;
        if (left >= before) {
            painter.setPen(palette().color(QPalette::PlaceholderText));
            painter.drawText(QPointF(left, below), m_along);
            end = left;
        }
    }
    painter.setPen(ink);
    for (qsizetype i = 0; i < m_places.size(); ++i) {
        const double x = pointOf(static_cast<std::size_t>(i), m_from).x(), half = widthOf(m_places[i]) / 2;
        if (x - half < free || (x + half > end && i + 1 < m_places.size()))
            continue;
        const double left = std::clamp(x - half, 0.0, std::max(0.0, width() - 2 * half));
        painter.drawText(QPointF(left, below), m_places[i]);
        free = x + half + 6;
    }
}

/// Yours, and the engine's: dashed, with squares and numbers, apart from yours without colour, too.
void CurveInput::paintCurves(QPainter& painter) const
{
    const QColor ink = palette().color(QPalette::WindowText), accent = palette().color(QPalette::Link);
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
    if (m_engines.empty())
        return;
    QPolygonF curve;
    for (std::size_t i = 0; i < m_engines.size(); ++i)
        curve << pointOf(i, m_engines[i]);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(accent, 2, Qt::DashLine));
    painter.drawPolyline(curve);
    painter.setBrush(accent);
    painter.setPen(Qt::NoPen);
    for (const QPointF& at : curve)
        painter.drawRect(QRectF(at.x() - 3, at.y() - 3, 6, 6));
    painter.setPen(accent);
    const QRectF area = plot();
    double free = area.left();
    for (std::size_t i = 0; i < m_engines.size(); ++i) { // on the side of the line where yours is not
        const QString text = shown(m_engines[i]);
        const double width = fontMetrics().horizontalAdvance(text);
        const bool isBelow =
            m_values[i] && *m_values[i] > m_engines[i] && curve[static_cast<qsizetype>(i)].y() + 20 < area.bottom();
        const double left =
            std::clamp(curve[static_cast<qsizetype>(i)].x() - width / 2, area.left() + 4, area.right() - width - 2);
        if (left < free)
            continue;
        const double y = curve[static_cast<qsizetype>(i)].y() + (isBelow ? fontMetrics().ascent() + 6 : -7);
        painter.drawText(QPointF(left, std::max(y, area.top() + fontMetrics().ascent())), text);
        free = left + width + 6;
    }
}

} // namespace app
