// Where a step's time went, predicted beside measured: computing, transfers that nothing hid, waiting and for whom, the host.
#pragma once

#include "live/stream/difference.h"

#include <QFrame>

class QLabel;
class QTableWidget;

namespace app {

class DifferenceTable : public QFrame {
    Q_OBJECT
public:
    explicit DifferenceTable(QWidget* parent = nullptr);
    /// `title` says of which step and clock.
    void show(const QString& title, const live::Difference&);
    void showNothing(const QString& why);
    /// As it stands there, a line a row: for tests and the clipboard.
    QString text() const;

private:
    void addRow(const QString& name, std::int64_t predictedNs, std::int64_t measuredNs, const QString& explanation, bool total,
                const QString& tip = {});

    QLabel *m_title, *m_message;
    QTableWidget* m_table;
    QStringList m_lines;
};

} // namespace app
