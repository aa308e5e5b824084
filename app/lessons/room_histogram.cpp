#include "app/lessons/room_histogram.h"

#include "app/lessons/answer_input.h"

#include <QPainter>

#include <algorithm>

namespace app {
namespace {

constexpr int kMostLabel = 28; ///< characters of an answer beside its bar

QString shortened(const QString& text)
{
    const QString line = QString(text).replace(QLatin1Char('\n'), QLatin1Char(' '));
    return line.size() <= kMostLabel ? line : line.left(kMostLabel - 1) + QChar(0x2026);
}

} // namespace

QString barText(const sim::AskedQuestion& asked, const sim::RoomBar& bar)
{
    if (bar.isRest)
        return RoomHistogram::tr("others");
    if (!bar.answer)
        return RoomHistogram::tr("%1 to %2").arg(answerText(asked, bar.from), answerText(asked, bar.to));
    const bool isLettered = asked.question().input == sim::QuestionInput::choice;
    if (!isLettered)
        return shortened(answerText(asked, *bar.answer));
    QStringList letters;
    for (const auto& place : bar.answer->is_array() ? *bar.answer : sim::LessonValue::array({*bar.answer}))
        letters << QString::fromStdString(sim::letterOf(place.get<std::size_t>()));
    return letters.isEmpty() ? RoomHistogram::tr("none") : letters.join(QStringLiteral(", "));
}

RoomHistogram::RoomHistogram(const sim::AskedQuestion& asked, const sim::RoomVotes& votes, bool revealed, QWidget* parent)
    : QWidget(parent), m_revealed(revealed)
{
    for (int vote = 0; vote < sim::RoomVotes::kVotes; ++vote)
        m_totals.push_back(votes.answers(vote));
    QStringList spoken;
    for (const sim::RoomBar& bar : votes.bars()) {
        Line line{barText(asked, bar), bar.counts, bar.isRight && revealed};
        QString words = tr("%1: %2 at first").arg(line.label).arg(line.counts[0]);
        if (m_totals[1] > 0)
            words += tr(", then %1").arg(line.counts[1]);
        spoken << (line.isRight ? tr("%1, the engine's").arg(words) : words);
        m_lines.push_back(std::move(line));
    }
    setAccessibleName(tr("What the room answered"));
    setAccessibleDescription(spoken.join(QStringLiteral("; ")));
    setToolTip(QStringLiteral("<p>%1</p>").arg(accessibleDescription().toHtmlEscaped()));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void RoomHistogram::setTextPixels(int pixels)
{
    m_text = pixels;
    updateGeometry();
    update();
}

QSize RoomHistogram::sizeHint() const
{
    const int bars = m_totals.back() > 0 ? 2 : 1;
    const int line = m_text * (bars == 2 ? 2 : 3) / (bars == 2 ? 1 : 2);
    return {m_text * 16, static_cast<int>(m_lines.size()) * (line + m_text / 3) + m_text * 2};
}

void RoomHistogram::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QFont font = painter.font();
    font.setPixelSize(m_text);
    painter.setFont(font);
    const QFontMetrics metrics = painter.fontMetrics();
    const bool hasSecond = m_totals.back() > 0;
    int labels = 0;
    for (const Line& line : m_lines)
        labels = std::max(labels, metrics.horizontalAdvance(line.label + QStringLiteral("  ✓")));
    labels = std::min(labels + m_text / 2, width() / 2);
    const int numbers = metrics.horizontalAdvance(QStringLiteral(" 0000"));
    const double across = std::max(10, width() - labels - numbers);
    const double height_ = hasSecond ? m_text : m_text * 1.2;
    const QColor ink = palette().color(QPalette::WindowText), accent = palette().color(QPalette::Link);
    double y = 0;
    for (const Line& line : m_lines) {
        const double all = height_ * (hasSecond ? 2 : 1);
        painter.setPen(line.isRight ? accent : ink);
        font.setBold(line.isRight);
        painter.setFont(font);
        painter.drawText(QRectF(0, y, labels - m_text / 2.0, all), Qt::AlignVCenter | Qt::AlignLeft,
                         metrics.elidedText(line.isRight ? line.label + QStringLiteral(" ✓") : line.label, Qt::ElideRight,
                                            labels - m_text / 2));
        font.setBold(false);
        painter.setFont(font);
        for (std::size_t vote = 0; vote < (hasSecond ? 2U : 1U); ++vote) {
            const double share = m_totals[vote] > 0 ? static_cast<double>(line.counts[vote]) / m_totals[vote] : 0;
            const QRectF bar(labels, y + height_ * static_cast<double>(vote) + 1, std::max(2.0, share * across), height_ - 2);
            // The first vote is hatched, the second full: apart without colour, too.
            painter.setPen(QPen(line.isRight ? accent : ink, 1));
            painter.setBrush(QBrush(line.isRight ? accent : ink, hasSecond && vote == 0 ? Qt::BDiagPattern : Qt::SolidPattern));
            painter.drawRect(bar);
            painter.setPen(ink);
            painter.drawText(QRectF(bar.right(), bar.top(), numbers, bar.height()), Qt::AlignVCenter | Qt::AlignLeft,
                             QStringLiteral(" %1").arg(line.counts[vote]));
        }
        y += all + m_text / 3.0;
    }
    painter.setPen(ink);
    painter.drawText(QRectF(0, y, width(), m_text * 1.6), Qt::AlignVCenter | Qt::AlignLeft,
                     hasSecond ? tr("hatched: the first answers, %1 · full: the second, %2").arg(m_totals[0]).arg(m_totals[1])
                     : m_totals[0] == 1 ? tr("1 answer")
                                        : tr("%1 answers").arg(m_totals[0]));
}

} // namespace app
