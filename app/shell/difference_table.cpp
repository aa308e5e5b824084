#include "app/shell/difference_table.h"

#include "app/shell/format.h"
#include "app/shell/style.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QVBoxLayout>

#include <cmath>

namespace app {
namespace {

enum Column { what, predicted, measured, difference, columns };
constexpr int kRowHeight = 19;

QString timeText(std::int64_t ns)
{
    return ns == 0 ? QStringLiteral("–") : durationQuantity(static_cast<double>(ns) * 1e-9).text();
}

QString changeText(std::int64_t ns)
{
    if (ns == 0)
        return QStringLiteral("–");
    return (ns > 0 ? QStringLiteral("+") : QStringLiteral("−")) + timeText(std::abs(ns));
}

/// "for rank 3 (62 %)", "for many ranks": who kept the others waiting.
QString waitedFor(const std::vector<live::Straggler>& stragglers)
{
    std::int64_t all = 0;
    for (const live::Straggler& one : stragglers)
        all += one.othersWaitedNs;
    if (all == 0)
        return {};
    constexpr double kStandsOut = 0.25;
    const double share = static_cast<double>(stragglers.front().othersWaitedNs) / static_cast<double>(all);
    return share < kStandsOut ? QObject::tr("for many ranks")
                              : QObject::tr("for rank %1 (%2)").arg(stragglers.front().rank).arg(percentQuantity(share).text());
}

/// All of them, for the tooltip.
QString stragglersText(const std::vector<live::Straggler>& stragglers)
{
    QStringList lines;
    constexpr std::size_t kMostLines = 8;
    for (std::size_t i = 0; i < std::min(kMostLines, stragglers.size()); ++i)
        lines << QObject::tr("rank %1 came last %2 times; others waited %3 for it")
                     .arg(stragglers[i].rank)
                     .arg(stragglers[i].times)
                     .arg(timeText(stragglers[i].othersWaitedNs));
    return lines.join(QLatin1Char('\n'));
}

} // namespace

DifferenceTable::DifferenceTable(QWidget* parent)
    : QFrame(parent), m_title(new QLabel), m_message(new QLabel), m_table(new QTableWidget(0, columns))
{
    setRole(this, "side");
    setRole(m_title, "section");
    setRole(m_message, "muted");
    m_message->setWordWrap(true);
    m_message->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_table->setHorizontalHeaderLabels({tr("Mean of all ranks"), tr("Predicted"), tr("Measured"), tr("Difference")});
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->horizontalHeaderItem(what)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(what, QHeaderView::Stretch);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setMinimumSectionSize(kRowHeight);
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setSelectionMode(QAbstractItemView::NoSelection);
    m_table->setFocusPolicy(Qt::NoFocus);
    m_table->setShowGrid(false);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setAccessibleName(tr("Predicted and measured times"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(14, 8, 10, 4);
    column->setSpacing(4);
    column->addWidget(m_title);
    column->addWidget(m_message, 1);
    column->addWidget(m_table, 1);
    showNothing({});
}

void DifferenceTable::showNothing(const QString& why)
{
    m_title->setText(tr("WHY IT DIFFERS"));
    m_message->setText(why);
    m_message->show();
    m_table->hide();
    m_lines.clear();
}

void DifferenceTable::show(const QString& title, const live::Difference& d)
{
    m_title->setText(tr("WHY IT DIFFERS  ·  %1").arg(title));
    m_message->hide();
    m_table->show();
    m_table->setUpdatesEnabled(false);
    m_table->setRowCount(0);
    m_lines.clear();
    addRow(tr("Step"), d.predicted.stepNs, d.measured.stepNs, {}, true);
    addRow(tr("Computing"), d.predicted.computeNs, d.measured.computeNs, {}, false);
    for (std::size_t comm = 0; comm < live::kCommCount; ++comm) {
        const QString name = QString::fromLatin1(live::kCommNames[comm]).toUpper();
        if (d.predicted.transferNs[comm] != 0 || d.measured.transferNs[comm] != 0)
            addRow(tr("%1 transfer, exposed").arg(name), d.predicted.transferNs[comm], d.measured.transferNs[comm], {}, false);
        if (d.predicted.waitNs[comm] != 0 || d.measured.waitNs[comm] != 0)
            addRow(tr("%1 waiting").arg(name), d.predicted.waitNs[comm], d.measured.waitNs[comm], waitedFor(d.stragglers[comm]),
                   false, stragglersText(d.stragglers[comm]));
    }
    addRow(tr("Host, or nothing"), d.predicted.hostNs, d.measured.hostNs, {}, false);
    m_table->setUpdatesEnabled(true);
}

void DifferenceTable::addRow(const QString& name, std::int64_t predictedNs, std::int64_t measuredNs, const QString& explanation,
                             bool total, const QString& tip)
{
    const int row = m_table->rowCount();
    m_table->insertRow(row);
    const QString texts[columns] = {explanation.isEmpty() ? name : tr("%1 %2").arg(name, explanation), timeText(predictedNs),
                                    timeText(measuredNs), changeText(measuredNs - predictedNs)};
    for (int c = 0; c < columns; ++c) {
        auto* item = new QTableWidgetItem(texts[c]);
        item->setTextAlignment((c == what ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        item->setToolTip(tip.isEmpty() ? texts[c] : tip);
        if (total)
            item->setFont(uiFont(13, QFont::DemiBold));
        m_table->setItem(row, c, item);
    }
    m_lines << QStringList(std::begin(texts), std::end(texts)).join(QLatin1Char('\t'));
}

QString DifferenceTable::text() const
{
    return m_lines.isEmpty() ? m_message->text() : m_lines.join(QLatin1Char('\n'));
}

} // namespace app
