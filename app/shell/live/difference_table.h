// Where a step's time went, predicted beside measured: computing, communication that nothing hid, the bubble, the host.
#pragma once

#include "live/stream/difference.h"

#include <QFrame>

class QLabel;
class QTableWidget;
class QVBoxLayout;

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
    struct Row {
        QString name;
        std::int64_t predictedNs = 0, measuredNs = 0, waitedNs = 0; ///< waited: of what was measured
        QString waitedFor = {}, tip = {};
        bool isTotal = false;
    };
    void addRow(const Row&);
    void fitRows();
    int neededWidth() const;
    bool eventFilter(QObject*, QEvent*) override;

    QLabel *m_title, *m_message;
    QTableWidget* m_table;
    QVBoxLayout* m_column;
    QStringList m_lines;
};

} // namespace app
