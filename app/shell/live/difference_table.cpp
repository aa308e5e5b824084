#include "app/shell/live/difference_table.h"

#include "app/session/plain_words.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QEvent>
#include <QFontMetrics>
#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

enum Column { what, predicted, measured, difference, waiting, columns };
constexpr int kLowestFormRow = 15, kHighestRow = 24;

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

/// "rank 3, 12.1 ms": who kept the others waiting most, and for how long; "many ranks, 23 ms": all of them.
QString waitedFor(const std::vector<live::Straggler>& stragglers)
{
    std::int64_t all = 0;
    for (const live::Straggler& one : stragglers)
        all += one.othersWaitedNs;
    if (all == 0)
        return {};
    constexpr double kStandsOut = 0.25;
    const double share = static_cast<double>(stragglers.front().othersWaitedNs) / static_cast<double>(all);
    return share < kStandsOut
               ? QObject::tr("many ranks, %1").arg(timeText(all))
               : QObject::tr("rank %1, %2").arg(stragglers.front().rank).arg(timeText(stragglers.front().othersWaitedNs));
}

/// All of them, for the tooltip.
QString stragglersText(const std::vector<live::Straggler>& stragglers)
{
    QStringList lines;
    constexpr std::size_t kMostLines = 8;
    for (std::size_t i = 0; i < std::min(kMostLines, stragglers.size()); ++i)
        lines << QObject::tr("rank %1 came last %2; others waited %3 for it")
                     .arg(stragglers[i].rank)
                     .arg(counted(stragglers[i].times, "time"))
                     .arg(timeText(stragglers[i].othersWaitedNs));
    return lines.join(QLatin1Char('\n'));
}

} // namespace

DifferenceTable::DifferenceTable(QWidget* parent)
    : QFrame(parent), m_title(new QLabel), m_message(new QLabel), m_table(new QTableWidget(0, columns)),
      m_column(new QVBoxLayout(this))
{
    setRole(this, "side");
    setRole(m_title, "section");
    setRole(m_message, "muted");
    m_message->setWordWrap(true);
    m_message->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_table->setHorizontalHeaderLabels(
        {tr("Mean of ranks"), tr("Predicted"), tr("Measured"), tr("Difference"), tr("Waiting for")});
    m_table->horizontalHeaderItem(waiting)->setToolTip(tr("How long all ranks together waited for others, and for whom most"));
    m_table->horizontalHeaderItem(predicted)->setToolTip(
        tr("Counted as the measured step is: communication is alone while nothing computes beside it, whoever waits "
           "for it. Details and Compare know what waited: what held no kernel up is bubble there, not exposed."));
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->horizontalHeaderItem(what)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(what, QHeaderView::Stretch);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setMinimumSectionSize(kLowestFormRow);
    m_table->viewport()->installEventFilter(this);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setSelectionMode(QAbstractItemView::NoSelection);
    m_table->setFocusPolicy(Qt::NoFocus);
    m_table->setShowGrid(false);
    m_table->setFont(uiFont(12));
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setAccessibleName(tr("Predicted and measured times"));
    m_column->setContentsMargins(12, 6, 8, 2);
    m_column->setSpacing(2);
    m_column->addWidget(m_title);
    m_column->addWidget(m_message);
    m_column->addWidget(m_table, 1);
    showNothing({});
}

void DifferenceTable::showNothing(const QString& why)
{
    m_title->setText(tr("WHY IT DIFFERS"));
    m_message->setText(why);
    m_message->show();
    m_column->setStretchFactor(m_message, 1);
    m_table->hide();
    m_lines.clear();
}

void DifferenceTable::show(const QString& title, const live::Difference& d)
{
    m_title->setText(tr("WHY IT DIFFERS  ·  %1").arg(title));
    QStringList otherwise;
    for (const std::string& sentence : d.otherwise)
        otherwise << asSentence(QString::fromStdString(sentence));
    m_message->setText(otherwise.join(QLatin1Char('\n')));
    m_message->setVisible(!otherwise.isEmpty());
    m_column->setStretchFactor(m_message, 0); // the room is the table's
    m_table->show();
    m_table->setUpdatesEnabled(false);
    m_table->setRowCount(0);
    m_lines.clear();
    addRow({.name = tr("Step"), .predictedNs = d.predicted.stepNs, .measuredNs = d.measured.stepNs, .isTotal = true});
    addRow({.name = tr("Computing"), .predictedNs = d.predicted.computeNs, .measuredNs = d.measured.computeNs});
    for (std::size_t comm = 0; comm < live::kCommCount; ++comm) {
        const std::int64_t predictedNs = d.predicted.transferNs[comm] + d.predicted.waitNs[comm];
        const std::int64_t measuredNs = d.measured.transferNs[comm] + d.measured.waitNs[comm];
        if (predictedNs != 0 || measuredNs != 0)
            addRow({.name = tr("%1 alone").arg(QString::fromLatin1(live::kCommNames[comm]).toUpper()),
                    .predictedNs = predictedNs,
                    .measuredNs = measuredNs,
                    .waitedNs = d.measured.waitNs[comm],
                    .waitedFor = waitedFor(d.stragglers[comm]),
                    .tip = stragglersText(d.stragglers[comm])});
    }
    const auto& inBubble = d.stragglers[live::kCommCount];
    if (d.predicted.bubbleNs != 0 || d.measured.bubbleNs != 0)
        addRow({.name = tr("Bubble"),
                .predictedNs = d.predicted.bubbleNs,
                .measuredNs = d.measured.bubbleNs,
                .waitedNs = d.measured.bubbleNs,
                .waitedFor = waitedFor(inBubble),
                .tip = stragglersText(inBubble)});
    addRow({.name = tr("Host, or nothing"), .predictedNs = d.predicted.hostNs, .measuredNs = d.measured.hostNs});
    m_lines << otherwise;
    fitRows();
    m_table->setUpdatesEnabled(true);
}

void DifferenceTable::addRow(const Row& entry)
{
    const int row = m_table->rowCount();
    m_table->insertRow(row);
    const QString waited = !entry.waitedFor.isEmpty() ? entry.waitedFor
                           : entry.waitedNs == 0      ? QString()
                                                      : timeText(entry.waitedNs);
    const QString texts[columns] = {entry.name, timeText(entry.predictedNs), timeText(entry.measuredNs),
                                    changeText(entry.measuredNs - entry.predictedNs), waited};
    for (int c = 0; c < columns; ++c) {
        auto* item = new QTableWidgetItem(texts[c]);
        item->setTextAlignment((c == what ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        item->setToolTip(entry.tip.isEmpty() ? texts[c] : entry.tip);
        if (entry.isTotal)
            item->setFont(uiFont(12, QFont::DemiBold));
        m_table->setItem(row, c, item);
    }
    m_lines << QStringList(std::begin(texts), std::end(texts)).join(QLatin1Char('\t'));
}

/// That leaves all its texts whole.
int DifferenceTable::neededWidth() const
{
    constexpr int kAroundText = 16;
    int width = 0;
    for (int c = 0; c < columns; ++c) {
        const QTableWidgetItem* head = m_table->horizontalHeaderItem(c);
        int widest = m_table->horizontalHeader()->fontMetrics().horizontalAdvance(head->text());
        for (int row = 0; row < m_table->rowCount(); ++row)
            if (const QTableWidgetItem* item = m_table->item(row, c))
                widest = std::max(widest, QFontMetrics(item->font()).horizontalAdvance(item->text()));
        width += widest + kAroundText;
    }
    return width;
}

/// As high as leaves them all in sight. Where not all columns have room tooltips alone tell who was waited for.
void DifferenceTable::fitRows()
{
    m_table->setColumnHidden(waiting, m_table->viewport()->width() < neededWidth());
    if (m_table->rowCount() == 0)
        return;
    const int height = std::clamp(m_table->viewport()->height() / m_table->rowCount(), kLowestFormRow, kHighestRow);
    for (int row = 0; row < m_table->rowCount(); ++row)
        m_table->setRowHeight(row, height);
}

bool DifferenceTable::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize)
        fitRows();
    return QFrame::eventFilter(watched, event);
}

QString DifferenceTable::text() const
{
    return m_lines.isEmpty() ? m_message->text() : m_lines.join(QLatin1Char('\n'));
}

} // namespace app
