#include "app/shell/widgets/stacked_bar.h"

#include "app/shell/widgets/style.h"
#include "app/views/common/color.h"

#include <QPainter>
#include <QStringList>

#include <algorithm>

namespace app {
namespace {
constexpr int kBarHeight = 10;
constexpr int kBarGap = 8;
constexpr int kLineHeight = 18;
constexpr int kSwatch = 8, kPatternedSwatch = 12;

bool isHighContrast(const Theme& theme)
{
    return theme.name == highContrastTheme().name;
}

/// A part in its colour; where contrast is high with a pattern of its own, for whoever tells no colours apart.
void paintPart(QPainter& painter, const QRectF& rect, const QColor& color, std::size_t place, const Theme& theme)
{
    painter.fillRect(rect, color);
    constexpr std::size_t kPatterns = 6; // the first is plain
    const std::size_t pattern = place % kPatterns;
    if (!isHighContrast(theme) || pattern == 0)
        return;
    constexpr double kStep = 4;
    painter.save();
    painter.setClipRect(rect);
    painter.setPen(QPen(toQColor(theme.canvas), 1.2));
    const auto lines = [&](bool isRising, bool isFalling) {
        for (double x = rect.left() - rect.height(); x < rect.right(); x += kStep) {
            if (isRising)
                painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()));
            if (isFalling)
                painter.drawLine(QPointF(x, rect.top()), QPointF(x + rect.height(), rect.bottom()));
        }
    };
    if (pattern == 1 || pattern == 2 || pattern == 5)
        lines(pattern != 2, pattern != 1);
    for (double y = rect.top() + kStep / 2; pattern == 3 && y < rect.bottom(); y += kStep)
        painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y));
    for (double x = rect.left() + kStep / 2; pattern == 4 && x < rect.right(); x += kStep)
        painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()));
    painter.restore();
}

} // namespace

StackedBar::StackedBar(QWidget* parent) : QWidget(parent), m_theme(&lightTheme())
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StackedBar::setSegments(std::vector<Segment> segments, double capacity)
{
    const bool resized = segments.size() != m_segments.size();
    m_segments = std::move(segments);
    m_capacity = capacity;
    setAccessibleName(summary());
    if (resized)
        updateGeometry();
    update();
}

void StackedBar::setTheme(const Theme& theme)
{
    m_theme = &theme;
    update();
}

QSize StackedBar::sizeHint() const
{
    return {200, kBarHeight + (m_segments.empty() ? 0 : kBarGap + kLineHeight * static_cast<int>(m_segments.size()))};
}

QSize StackedBar::minimumSizeHint() const
{
    return {80, sizeHint().height()};
}

QString StackedBar::summary() const
{
    QStringList parts;
    for (const Segment& s : m_segments)
        parts << s.name + QLatin1Char(' ') + s.text;
    return parts.join(QStringLiteral(", "));
}

Color StackedBar::trackColor(const Theme& theme)
{
    return isHighContrast(theme) ? mix(theme.canvas, theme.text, 0.22F) : theme.border;
}

void StackedBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor text = toQColor(m_theme->text), muted = toQColor(m_theme->mutedText);
    double sum = 0;
    for (const Segment& s : m_segments)
        sum += s.value;
    const double full = std::max({sum, m_capacity, 1e-12});
    const QRectF track(0, 0, width(), kBarHeight);

    painter.setPen(Qt::NoPen);
    // Not the border: where contrast is high, it is as bright as a part.
    painter.setBrush(toQColor(trackColor(*m_theme)));
    painter.drawRoundedRect(track, 3, 3);
    double x = 0;
    for (std::size_t i = 0; i < m_segments.size(); ++i) {
        const double w = track.width() * m_segments[i].value / full;
        if (w > 0.5)
            paintPart(painter, QRectF(x, 0, std::max(1.0, w - 1), kBarHeight), m_segments[i].color, i, *m_theme);
        x += w;
    }
    if (sum > m_capacity && m_capacity > 0) { // over: where it should have ended
        const double limit = track.width() * m_capacity / full;
        painter.fillRect(QRectF(limit - 1, 0, 2, kBarHeight), toQColor(m_theme->error));
    }

    painter.setFont(uiFont(12));
    int y = kBarHeight + kBarGap;
    const int swatch = isHighContrast(*m_theme) ? kPatternedSwatch : kSwatch;
    for (std::size_t i = 0; i < m_segments.size(); ++i) {
        const Segment& s = m_segments[i];
        const QRectF line(0, y, width(), kLineHeight), sign(0, y + (kLineHeight - swatch) / 2.0, swatch, swatch);
        if (isHighContrast(*m_theme)) {
            paintPart(painter, sign, s.color, i, *m_theme);
        } else {
            painter.setPen(Qt::NoPen);
            painter.setBrush(s.color);
            painter.drawRoundedRect(sign, 2, 2);
        }
        painter.setPen(muted);
        painter.drawText(line.adjusted(swatch + 8, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, s.name);
        painter.setPen(text);
        painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, s.text);
        y += kLineHeight;
    }
}

} // namespace app
