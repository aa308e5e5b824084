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
constexpr int kSwatch = 8;
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
    return theme.name == highContrastTheme().name ? mix(theme.canvas, theme.text, 0.22F) : theme.border;
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
    for (const Segment& s : m_segments) {
        const double w = track.width() * s.value / full;
        if (w > 0.5)
            painter.fillRect(QRectF(x, 0, std::max(1.0, w - 1), kBarHeight), s.color);
        x += w;
    }
    if (sum > m_capacity && m_capacity > 0) { // over: where it should have ended
        const double limit = track.width() * m_capacity / full;
        painter.fillRect(QRectF(limit - 1, 0, 2, kBarHeight), toQColor(m_theme->error));
    }

    painter.setFont(uiFont(12));
    int y = kBarHeight + kBarGap;
    for (const Segment& s : m_segments) {
        const QRectF line(0, y, width(), kLineHeight);
        painter.setPen(Qt::NoPen);
        painter.setBrush(s.color);
        painter.drawRoundedRect(QRectF(0, y + (kLineHeight - kSwatch) / 2.0, kSwatch, kSwatch), 2, 2);
        painter.setPen(muted);
        painter.drawText(line.adjusted(kSwatch + 8, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, s.name);
        painter.setPen(text);
        painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, s.text);
        y += kLineHeight;
    }
}

} // namespace app
