// A table of ops as Qt's views want it: cells, and what they are sorted by.
#pragma once

#include "app/step/class_names.h"
#include "app/views/common/op_columns.h"
#include "app/views/common/theme.h"

#include <QAbstractTableModel>

#include <memory>
#include <optional>

namespace app {

class OpTableModel : public QAbstractTableModel {
public:
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;
    void setTable(std::shared_ptr<const sim::OpTable>, const ClassNames&);
    void clear();
    void setTheme(const Theme&);
    const std::shared_ptr<const sim::OpTable>& table() const { return m_table; } ///< nullptr: there is none
    const sim::OpGroup& group(int row) const { return m_table->groups[static_cast<std::size_t>(row)]; }
    static OpColumn columnAt(int column) { return opColumns()[static_cast<std::size_t>(column)].column; }
    const Theme& theme() const { return *m_theme; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex&, int role) const override;
    QVariant headerData(int section, Qt::Orientation, int role) const override;

private:
    std::shared_ptr<const sim::OpTable> m_table;
    OpUnits m_units;                        ///< of its columns
    std::optional<ClassNames> m_classNames; ///< of the step that it is of
    const Theme* m_theme = &lightTheme();
};

} // namespace app
