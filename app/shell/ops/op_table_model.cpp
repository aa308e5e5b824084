#include "app/shell/ops/op_table_model.h"

#include "app/shell/widgets/style.h"
#include "app/views/common/labels.h"

namespace app {
namespace {

/// "1.20 µs to 3.40 ms, 812 µs in the mean"
QString durationsText(const sim::OpGroup& group)
{
    return QObject::tr("%1 to %2, %3 in the mean")
        .arg(QString::fromStdString(durationText(static_cast<double>(group.shortestNs))),
             QString::fromStdString(durationText(static_cast<double>(group.longestNs))),
             QString::fromStdString(durationText(group.meanNs())));
}

} // namespace

void OpTableModel::setTable(std::shared_ptr<const sim::OpTable> table, const ClassNames& names)
{
    beginResetModel();
    m_table = std::move(table);
    m_units = opUnits(*m_table);
    m_classNames = names;
    endResetModel();
}

void OpTableModel::clear()
{
    beginResetModel();
    m_table.reset();
    m_units.clear();
    m_classNames.reset();
    endResetModel();
}

void OpTableModel::setTheme(const Theme& theme)
{
    m_theme = &theme;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::DecorationRole});
}

int OpTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_table ? 0 : static_cast<int>(m_table->groups.size());
}

int OpTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(opColumns().size());
}

QVariant OpTableModel::data(const QModelIndex& index, int role) const
{
    const sim::OpGroup& of = group(index.row());
    const OpColumn column = columnAt(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return QString::fromStdString(opCell(*m_table, of, column, m_units));
    case kSortRole: // ranks and stages keep their order, other names go by the alphabet
        if (column == OpColumn::name &&
            (m_table->grouping == sim::OpGrouping::rank || m_table->grouping == sim::OpGrouping::stage))
            return index.row();
        return column == OpColumn::name ? QVariant(QString::fromStdString(of.name)) : opValue(*m_table, of, column);
    case Qt::TextAlignmentRole:
        return QVariant(Qt::AlignVCenter | (column == OpColumn::name ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::DecorationRole:
        return column == OpColumn::name ? QVariant(toQColor(m_theme->fill(of.opClass))) : QVariant();
    case Qt::ToolTipRole:
        return column == OpColumn::name        ? QStringLiteral("%1 · %2").arg(QString::fromStdString(of.name),
                                                                               QString::fromStdString((*m_classNames)[of.opClass]))
               : column == OpColumn::durations ? durationsText(of)
                                               : QVariant();
    case Qt::AccessibleTextRole:
        return column == OpColumn::durations ? durationsText(of) : QVariant();
    default:
        return {};
    }
}

QVariant OpTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const OpColumnInfo& info = opColumns()[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole)
        return QString::fromStdString(opHeading(tr(info.title).toStdString(), info.column, m_units));
    if (role == Qt::ToolTipRole)
        return tr(info.what);
    const bool isText = info.column == OpColumn::name || info.column == OpColumn::durations;
    return role == Qt::TextAlignmentRole ? QVariant(Qt::AlignVCenter | (isText ? Qt::AlignLeft : Qt::AlignRight)) : QVariant();
}

} // namespace app
