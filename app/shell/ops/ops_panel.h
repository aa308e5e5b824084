// The ops of the selected ranks, time range and classes, added up: by name, class, rank or stage; found by a part of their name
// or by an expression. Made on a thread of its own while it is seen.
#pragma once

#include "app/session/desk.h"
#include "app/session/worker.h"
#include "app/shell/ops/op_table_model.h"
#include "sim/lesson/op_query.h"

#include <QTimer>
#include <QWidget>

class QBoxLayout;
class QComboBox;
class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;

namespace app {

class ElidedLabel;

class OpsPanel : public QWidget {
    Q_OBJECT
public:
    explicit OpsPanel(QWidget* parent = nullptr);
    ~OpsPanel() override;
    /// From now on what the desk's selection leaves of its step. Ends before it.
    void follow(Desk&);
    void setTheme(const Theme&);
    void setGrouping(sim::OpGrouping);
    void setQuery(const QString&);
    /// What was asked for is shown, or why it is not; also while nobody sees it.
    bool isReady() const { return !m_isAsked && !m_soon.isActive(); }

    /// As shown: sorted as on screen; the selected rows, all where none is.
    Table shownTable() const;
    QString summary() const;
    QString failure() const; ///< of the query; empty: nothing is wrong
    QTableView& view() const { return *m_view; }

Q_SIGNALS:
    void spanRequested(app::SpanRef span);
    void kernelsRequested(); ///< it knows passes alone
    void saved(const QString& path);
    void failed(const QString& path, const QString& reason);

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    struct MadeTable {
        std::shared_ptr<const sim::OpTable> table;
        ClassNames names;
        sim::OpQueryExamples examples;
    };
    void refreshSoon() { m_soon.start(); }
    void refresh();
    void show(const MadeTable&);
    void showNothing(const QString& why);
    void tellFailure(const QString&);
    void fitDurations();
    void fold();
    void goToLongest(const QModelIndex&);
    void copy();
    void chooseFile();

    const Desk* m_desk = nullptr;
    Selection m_shownSelection; ///< what was asked for last
    QComboBox* m_grouping;
    QLineEdit* m_query;
    QToolButton *m_kernels, *m_copy, *m_save;
    QBoxLayout* m_found = nullptr; ///< what the table is of, and what can be done with it
    ElidedLabel* m_summary;
    QLabel* m_failure;
    QTableView* m_view;
    OpTableModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QTimer m_soon; ///< many changes, one table
    bool m_isAsked = false;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
