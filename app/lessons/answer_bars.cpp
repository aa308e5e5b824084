#include "app/lessons/answer_bars.h"

#include <QPainter>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kBarGap = 10;

} // namespace

AnswerBars::AnswerBars(std::vector<Bar> bars, std::pair<double, double> range, QWidget* parent)
    : QWidget(parent), m_bars(std::move(bars)), m_from(range.first), m_to(range.second)
{
    QStringList spoken;
    for (const Bar& bar : m_bars) {
        m_from = std::min({m_from, bar.yours, bar.engines});
        m_to = std::max({m_to, bar.yours, bar.engines});
        spoken << tr("%1: you %2, the engine %3").arg(bar.name, bar.yourText, bar.engineText);
    }
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(spoken.join(QStringLiteral("; ")));
}

int AnswerBars::lineHeight() const
{
    return fontMetrics().height() + 6;
}

QSize AnswerBars::sizeHint() const
{
    return {220, lineHeight() * (static_cast<int>(m_bars.size()) + 1)};
}

/// A line each: its name, the engine's bar with a mark where yours ended, both numbers.
void AnswerBars::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetrics metrics = fontMetrics();
    const QColor ink = palette().color(QPalette::WindowText), accent = palette().color(QPalette::Link);
    const QString yourHead = tr("you"), engineHead = tr("engine");
    int names = 0, yours = metrics.horizontalAdvance(yourHead), engines = metrics.horizontalAdvance(engineHead);
    for (const Bar& bar : m_bars) {
        names = std::max(names, metrics.horizontalAdvance(bar.name));
        yours = std::max(yours, metrics.horizontalAdvance(bar.yourText));
        engines = std::max(engines, metrics.horizontalAdvance(bar.engineText));
    }
    constexpr int kRounding = 4; // of widths in parts of a pixel
    names = std::min(names + kRounding, width() / 3);
    yours += kRounding;
    engines += kRounding;
    const int line = lineHeight(), engineLeft = width() - engines, yourLeft = engineLeft - kBarGap - yours;
    const double left = names + kBarGap, right = yourLeft - kBarGap;
    const auto x = [&](double value) { return left + (right - left) * (value - m_from) / std::max(m_to - m_from, 1e-300); };
    const auto write = [&](int row, int at, int width, const QString& text, const QColor& color, Qt::Alignment align) {
        painter.setPen(color);
        painter.drawText(QRect(at, row * line, width, line), align | Qt::AlignVCenter,
                         metrics.elidedText(text, Qt::ElideRight, width));
    };
    write(0, yourLeft, yours, yourHead, ink, Qt::AlignRight);
    write(0, engineLeft, engines, engineHead, accent, Qt::AlignRight);
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const Bar& bar = m_bars[i];
        const int row = static_cast<int>(i) + 1;
        write(row, 0, names, bar.name, ink, Qt::AlignLeft);
        write(row, yourLeft, yours, bar.yourText, ink, Qt::AlignRight);
        write(row, engineLeft, engines, bar.engineText, accent, Qt::AlignRight);
        if (right - left < kBarGap)
            continue;
        const double top = row * line + 4.0, height = line - 8.0, zero = x(std::clamp(0.0, m_from, m_to));
        painter.fillRect(QRectF(left, top, right - left, height), palette().color(QPalette::Base));
        painter.fillRect(QRectF(QPointF(zero, top), QPointF(x(bar.engines), top + height)).normalized(), accent);
        painter.fillRect(QRectF(x(bar.yours) - 1.5, top - 3, 3, height + 6), ink);
    }
}

} // namespace app
