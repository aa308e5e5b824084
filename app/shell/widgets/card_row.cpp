#include "app/shell/widgets/card_row.h"

#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/style.h"

#include <QGridLayout>

#include <algorithm>

namespace app {

CardRow::CardRow(const QList<MetricCard*>& cards, QWidget* parent) : QFrame(parent), m_all(cards), m_grid(new QGridLayout(this))
{
    setRole(this, "header");
    m_grid->setContentsMargins(12, 6, 12, 6);
    m_grid->setSpacing(8);
    arrange(static_cast<int>(m_all.size()));
}

void CardRow::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    const int all = static_cast<int>(m_all.size());
    int widest = 0;
    for (const MetricCard* card : m_all)
        widest = std::max(widest, card->minimumSizeHint().width());
    const auto fits = [&](int columns) { return columns * (widest + m_grid->spacing()) + 16 <= width(); };
    constexpr int kEnoughForAll = 660;
    const int columns = width() >= kEnoughForAll ? all : fits(all / 2) ? all / 2 : std::max(1, all / 3);
    if (columns != m_columns)
        arrange(columns);
}

void CardRow::arrange(int columns)
{
    m_columns = columns;
    int place = 0;
    for (MetricCard* card : m_all) {
        m_grid->addWidget(card, place / columns, place % columns);
        ++place;
    }
    for (int column = 0; column < m_all.size(); ++column)
        m_grid->setColumnStretch(column, column < columns ? 1 : 0);
}

} // namespace app
