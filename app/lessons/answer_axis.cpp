#include "app/lessons/answer_axis.h"

#include "app/lessons/answer_input.h"

#include <QPainter>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kBarGap = 10; ///< between a bar and what is written beside it

} // namespace

AnswerRange answerRange(const sim::AskedQuestion& asked, std::span<const double> values)
{
    const auto [least, most] = std::ranges::minmax(values);
    const auto [from, to] = asked.question().range.empty() ? std::pair(0.0, 0.0) : asked.range();
    AnswerRange range{.from = std::min(from, least), .to = std::max(to, most), .fromText = {}, .toText = {}};
    range.fromText = endText(asked, range.from);
    range.toText = endText(asked, range.to);
    return range;
}

AnswerAxis::AnswerAxis(AnswerRange range, double yours, double engines, const QString& yourText, const QString& engineText,
                       QWidget* parent)
    : QWidget(parent), m_range(std::move(range)), m_yours(yours), m_engines(engines), m_yourText(yourText),
      m_engineText(engineText)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Your answer %1, the engine's %2").arg(yourText, engineText));
    setAccessibleDescription(tr("From %1 to %2").arg(m_range.fromText, m_range.toText));
}

QSize AnswerAxis::sizeHint() const
{
    return {220, 4 * fontMetrics().height() + 8};
}

/// The ends stand beside the line, both answers above and below it.
void AnswerAxis::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetrics metrics = painter.fontMetrics();
    constexpr double kTip = 6; // half of a mark, which may stand at an end
    const double left = metrics.horizontalAdvance(m_range.fromText) + 2 * kTip;
    const double right = width() - metrics.horizontalAdvance(m_range.toText) - 2 * kTip, middle = height() / 2.0;
    const double span = m_range.to - m_range.from;
    const auto place = [&](double value) {
        return left + (span > 0 ? (value - m_range.from) / span : 0.5) * std::max(0.0, right - left);
    };
    painter.setPen(QPen(palette().color(QPalette::Mid), 2));
    painter.drawLine(QPointF(left, middle), QPointF(right, middle));
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter, m_range.fromText);
    painter.drawText(rect(), Qt::AlignRight | Qt::AlignVCenter, m_range.toText);
    const auto mark = [&](double value, const QString& text, bool above, const QColor& color) {
        const double x = place(value);
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        const double tip = above ? -3 : 3, back = above ? -12 : 12;
        painter.drawPolygon(QPolygonF({{x, middle + tip}, {x - kTip, middle + back}, {x + kTip, middle + back}}));
        painter.setPen(color);
        const double textWidth = metrics.horizontalAdvance(text);
        const double textLeft = std::clamp(x - textWidth / 2, 0.0, std::max(0.0, width() - textWidth));
        painter.drawText(QPointF(textLeft, above ? middle - 18 : middle + 18 + metrics.ascent()), text);
    };
    mark(m_yours, tr("you: %1").arg(m_yourText), true, palette().color(QPalette::Text));
    mark(m_engines, tr("engine: %1").arg(m_engineText), false, palette().color(QPalette::Link));
}

AnswerBars::AnswerBars(std::vector<Bar> bars, AnswerRange range, QWidget* parent)
    : QWidget(parent), m_bars(std::move(bars)), m_range(std::move(range))
{
    QStringList spoken;
    for (const Bar& bar : m_bars)
        spoken << tr("%1: you %2, the engine %3").arg(bar.name, bar.yourText, bar.engineText);
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
    const auto x = [&](double value) {
        return left + (right - left) * (value - m_range.from) / std::max(m_range.to - m_range.from, 1e-300);
    };
    const auto write = [&](int row, int at, int width, const QString& text, const QColor& color, Qt::Alignment align) {
        painter.setPen(color);
        painter.drawText(QRect(at, row * line, width, line), align | Qt::AlignVCenter,
                         metrics.elidedText(text, Qt::ElideRight, width));
    };
    const int across = static_cast<int>(right - left),
              ends = metrics.horizontalAdvance(m_range.fromText + QStringLiteral("  ") + m_range.toText);
    if (ends <= across) { // above the bars
        const QColor pale = palette().color(QPalette::PlaceholderText);
        write(0, static_cast<int>(left), across, m_range.fromText, pale, Qt::AlignLeft);
        write(0, static_cast<int>(left), across, m_range.toText, pale, Qt::AlignRight);
    }
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
        const double top = row * line + 4.0, height = line - 8.0, zero = x(std::clamp(0.0, m_range.from, m_range.to));
        painter.fillRect(QRectF(left, top, right - left, height), palette().color(QPalette::Base));
        painter.fillRect(QRectF(QPointF(zero, top), QPointF(x(bar.engines), top + height)).normalized(), accent);
        painter.fillRect(QRectF(x(bar.yours) - 1.5, top - 3, 3, height + 6), ink);
    }
}

} // namespace app
