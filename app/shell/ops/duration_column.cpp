#include "app/shell/ops/duration_column.h"

#include "app/shell/ops/op_table_model.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/views/common/labels.h"

#include <QAbstractProxyModel>
#include <QPainter>

#include <algorithm>

namespace app {
namespace {

constexpr int kBesideBars = 10, kGap = 1, kNarrowestBar = 3, kScaleText = 11;

const OpTableModel& tableModel(const QAbstractItemModel& model)
{
    const auto* proxy = qobject_cast<const QAbstractProxyModel*>(&model);
    return static_cast<const OpTableModel&>(proxy ? *proxy->sourceModel() : model);
}

/// Where the bars of a cell stand: right of the numbers of the axis of counts, of which the table's largest has room.
QRect barsIn(const QRect& cell, const sim::OpTable& table)
{
    const int counts = QFontMetrics(uiFont(kScaleText)).horizontalAdvance(separated(table.all.count));
    return cell.adjusted(kBesideBars + counts + 4, 0, -kBesideBars, 0);
}

DurationBars barsOf(const sim::OpTable& table, const sim::OpGroup& group, const QRect& room)
{
    return durationBars(table, group, std::max(1, room.width() / (kNarrowestBar + kGap)));
}

} // namespace

void DurationBarsDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QStyledItemDelegate::paint(painter, option, index); // its background, and that it is selected
    const OpTableModel& model = tableModel(*index.model());
    const auto* proxy = qobject_cast<const QAbstractProxyModel*>(index.model());
    const sim::OpGroup& group = model.group((proxy ? proxy->mapToSource(index) : index).row());
    constexpr int kPadding = 3;
    const QRect room = barsIn(option.rect, *model.table()).adjusted(0, kPadding, 0, -kPadding);
    if (room.width() < kNarrowestBar)
        return;
    const DurationBars bars = barsOf(*model.table(), group, room);
    const double step = static_cast<double>(room.width()) / static_cast<double>(bars.heights.size());
    painter->save();
    painter->setPen(toQColor(model.theme().border));
    painter->drawLine(room.left() - 2, room.top(), room.left() - 2, room.bottom());
    painter->drawLine(room.left() - 2, room.bottom(), room.right(), room.bottom());
    painter->setFont(uiFont(kScaleText));
    painter->setPen(option.state & QStyle::State_Selected ? option.palette.color(QPalette::HighlightedText)
                                                          : toQColor(model.theme().mutedText));
    painter->drawText(QRect(option.rect.left(), option.rect.top(), room.left() - 5 - option.rect.left(), option.rect.height()),
                      Qt::AlignRight | Qt::AlignTop, separated(bars.highest));
    for (std::size_t i = 0; i < bars.heights.size(); ++i) {
        if (bars.heights[i] <= 0)
            continue;
        const double height = std::max(2.0, bars.heights[i] * room.height());
        painter->fillRect(
            QRectF(room.left() + static_cast<double>(i) * step, room.bottom() + 1 - height, std::max(1.0, step - kGap), height),
            toQColor(model.theme().fill(group.opClass)));
    }
    painter->restore();
}

OpTableHeader::OpTableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent)
{
    setSectionsClickable(true);
    setHighlightSections(false);
    connect(this, &QHeaderView::sortIndicatorChanged, this, [this] { resizeSections(); });
}

QSize OpTableHeader::sectionSizeFromContents(int section) const
{
    const QSize roomy = QHeaderView::sectionSizeFromContents(section);
    if (section == sortIndicatorSection() || model() == nullptr)
        return roomy;
    const QString title = model()->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString();
    constexpr int kPadding = 8; // as the style sheet has it
    const int width = QFontMetrics(uiFont(kScaleText)).size(0, title).width() + 2 * kPadding + 2;
    return {std::min(width, roomy.width()), roomy.height()};
}

void OpTableHeader::paintSection(QPainter* painter, const QRect& rect, int section) const
{
    painter->save(); // a style sheet leaves its clip behind
    QHeaderView::paintSection(painter, rect, section);
    painter->restore();
    if (OpTableModel::columnAt(section) != OpColumn::durations)
        return;
    const OpTableModel& of = tableModel(*model());
    if (of.rowCount() == 0)
        return;
    const QRect room = barsIn(rect, *of.table());
    const DurationBars bars = barsOf(*of.table(), of.table()->all, room);
    const QString from = QString::fromStdString(durationText(bars.beginNs)),
                  to = QString::fromStdString(durationText(bars.endNs));
    painter->save();
    painter->setFont(uiFont(kScaleText));
    painter->setPen(toQColor(of.theme().mutedText));
    const QFontMetrics metrics = painter->fontMetrics();
    const int title = metrics.horizontalAdvance(of.headerData(section, Qt::Horizontal, Qt::DisplayRole).toString());
    const int fromLeft = std::max(room.left(), rect.left() + kBesideBars + title + 12);
    if (fromLeft + metrics.horizontalAdvance(from) + 12 + metrics.horizontalAdvance(to) <= room.right()) {
        painter->drawText(QRect(fromLeft, rect.top(), room.right() - fromLeft, rect.height()), Qt::AlignVCenter | Qt::AlignLeft,
                          from);
        painter->drawText(room.adjusted(0, 0, 1, 0), Qt::AlignVCenter | Qt::AlignRight, to);
    }
    painter->restore();
}

int narrowestDurations(const QFontMetrics& metrics)
{
    constexpr int kLetters = 27; // of the title and both ends
    return metrics.horizontalAdvance(QLatin1Char('0')) * kLetters;
}

} // namespace app
