// The numbers of a step as tables, seen before they are saved as CSV or copied into a spreadsheet.
#pragma once

#include "app/session/tables.h"
#include "app/views/step_view.h"

#include <QDialog>
#include <QString>

class QComboBox;
class QLabel;
class QTableView;

namespace app {

class TableModel;

class TableDialog : public QDialog {
    Q_OBJECT
public:
    /// `fileName` is without its ending.
    TableDialog(SimulationPtr, TracePtr, const Selection&, const QString& fileName, QWidget* parent = nullptr);
    void show(const char* table); ///< by its name
    const Table& table() const;
    /// Whole or not at all; throws sim::Error.
    void save(const QString& path) const;
    void copy() const;

signals:
    void saved(const QString& path);
    void failed(const QString& path, const QString& reason);

private:
    void tableChanged();
    void chooseFile();

    SimulationPtr m_simulation;
    TracePtr m_trace;
    const Selection m_selection; ///< as it was when the dialog opened
    QString m_fileName;
    QComboBox* m_tables;
    QTableView* m_view;
    TableModel* m_model;
    QLabel *m_what, *m_failure;
};

} // namespace app
