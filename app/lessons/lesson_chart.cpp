// A step's numbers beside each other, as bars.
#include "app/lessons/answer_input.h"

#include <QPainter>

#include <algorithm>

namespace app {
namespace {

/// Name, bar and number, a line each.
class ChartBars : public QWidget {
public:
    ChartBars(const std::vector<sim::LessonPlay::Bar>& bars, QWidget* parent) : QWidget(parent), m_bars(bars)
    {
        QStringList spoken;
        for (const sim::LessonPlay::Bar& bar : m_bars) {
            m_longest = std::max(m_longest, bar.value);
            spoken << QString::fromStdString(bar.text + ": " + bar.number);
        }
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        setAccessibleName(spoken.join(QStringLiteral("; ")));
    }
    QSize sizeHint() const override { return {220, line() * static_cast<int>(m_bars.size())}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const QFontMetrics metrics = fontMetrics();
        constexpr int kRounding = 4;
        int names = 0, numbers = 0;
        for (const sim::LessonPlay::Bar& bar : m_bars) {
            names = std::max(names, metrics.horizontalAdvance(QString::fromStdString(bar.text)) + kRounding);
            numbers = std::max(numbers, metrics.horizontalAdvance(QString::fromStdString(bar.number)) + kRounding);
        }
        names = std::min(names, width() / 2);
        constexpr int kGap = 10;
        const double left = names + kGap, across = std::max(0.0, width() - left - kGap - numbers);
        for (std::size_t i = 0; i < m_bars.size(); ++i) {
            const int top = static_cast<int>(i) * line();
            const QRect row(0, top, width(), line());
            painter.setPen(palette().color(QPalette::WindowText));
            painter.drawText(row.adjusted(0, 0, names - width(), 0), Qt::AlignLeft | Qt::AlignVCenter,
                             metrics.elidedText(QString::fromStdString(m_bars[i].text), Qt::ElideRight, names));
            painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, QString::fromStdString(m_bars[i].number));
            const double share = m_longest > 0 ? std::max(0.0, m_bars[i].value) / m_longest : 0;
            painter.fillRect(QRectF(left, top + 4.0, across * share, line() - 8.0), palette().color(QPalette::Link));
        }
    }

private:
    int line() const { return fontMetrics().height() + 8; }
    const std::vector<sim::LessonPlay::Bar> m_bars;
    double m_longest = 0;
};

} // namespace

QWidget* lessonChart(const std::vector<sim::LessonPlay::Bar>& bars, QWidget* parent)
{
    return new ChartBars(bars, parent);
}

} // namespace app
