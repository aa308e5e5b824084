// The column of durations in the table of ops: for each row how many take how long, on one axis of time that its head tells, and
// beside the bars how many the highest one stands for.
#pragma once

#include <QHeaderView>
#include <QStyledItemDelegate>

namespace app {

/// Its index may be a proxy's of an OpTableModel.
class DurationBarsDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter*, const QStyleOptionViewItem&, const QModelIndex&) const override;
};

/// Draws the axis of the bars beside the column's title, where there is room.
class OpTableHeader : public QHeaderView {
    Q_OBJECT
public:
    explicit OpTableHeader(QWidget* parent = nullptr);

protected:
    void paintSection(QPainter*, const QRect&, int section) const override;
    /// As wide as its title; what stands beside it, that rows are sorted by it, only where they are.
    QSize sectionSizeFromContents(int section) const override;
};

/// Wide enough for the title between both ends of the axis.
int narrowestDurations(const QFontMetrics&);

} // namespace app
