// The numbers of a step as tables, seen before they are saved as CSV or copied into a spreadsheet.
#pragma once

#include "app/session/worker.h"
#include "app/step/shown_step.h"
#include "app/views/tables.h"

#include <QDialog>
#include <QString>

class QComboBox;
class QLabel;
class QPushButton;
class QTableView;

namespace app {

class TableModel;

class TableDialog : public QDialog {
    Q_OBJECT
public:
    /// `fileName` is without its ending.
    TableDialog(SimulationPtr, TracePtr, const Selection&, const QString& fileName, QWidget* parent = nullptr);
    ~TableDialog() override;
    void show(const char* table); ///< by its name
    bool isReady() const { return !m_isPreparing; }
    const Table& table() const; ///< empty until it is ready
    /// Whole or not at all; throws sim::Error.
    void save(const QString& path) const;
    void copy() const;

Q_SIGNALS:
    void saved(const QString& path);
    void failed(const QString& path, const QString& reason);

private:
    void tableChanged();
    void showTable(const TableInfo&, Table);
    void showFailure(const QString& why);
    void setPreparing(bool);
    void chooseFile();

    SimulationPtr m_simulation;
    TracePtr m_trace;
    const Selection m_selection; ///< as it was when the dialog opened
    QString m_fileName;
    QComboBox* m_tables;
    QTableView* m_view;
    TableModel* m_model;
    QLabel *m_what, *m_failure;
    QPushButton *m_copy, *m_save;
    bool m_isPreparing = false;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
