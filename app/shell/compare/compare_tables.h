// Beside the compared timelines: which keys of the scenarios differ, what that does to the step, and to each stage of it.
#pragma once

#include "app/session/comparison_rows.h"
#include "app/views/common/theme.h"

#include <QFrame>
#include <QStringList>

#include <array>
#include <vector>

class QHBoxLayout;
class QLabel;
class QScrollArea;
class QScrollBar;
class QTableWidget;

namespace app {

class CompareTables : public QFrame {
    Q_OBJECT
public:
    explicit CompareTables(QWidget* parent = nullptr);

    /// `baselineIsA`: the values that can be taken over are A's, else B's.
    void showChanges(const std::vector<ScenarioChange>&, bool baselineIsA);
    void showRows(const std::vector<ComparisonRow>&);
    void showStages(const std::vector<sim::StageComparison>&);
    /// Who is compared with A, and what came of it.
    struct Column {
        QChar letter;
        QString name;
        std::vector<ComparisonRow> toA;
        std::vector<ScenarioChange> changes; ///< of A to it
    };
    /// Instead of the three above: a column each, A's first; nobody: the table is not there. Names of rows and heads of columns
    /// stay in sight, however far the numbers are scrolled.
    void showSeveral(const QString& nameOfA, const std::vector<Column>& others);
    int widthOfSeveral() const; ///< with which they need no scrolling
    int widthOfRows() const;    ///< with which no name or number of rows() is cut
    void clear();
    void setTheme(const Theme&); ///< of what is shown next

    QTableWidget& changes() const { return *m_changes; }
    QTableWidget& rows() const { return *m_rows; }
    QTableWidget& stages() const { return *m_stages; }
    QTableWidget& severalRows() const { return *m_severalRows; }
    QTableWidget& severalKeys() const { return *m_severalKeys; }
    QTableWidget& severalHead() const { return *m_severalHead; } ///< above both; has no rows
    QScrollBar& severalAcross() const { return *m_across; }      ///< scrolls all three
    QScrollArea& pane() const { return *m_pane; }                ///< scrolls all but the head

Q_SIGNALS:
    void adoptRequested(int change); ///< the baseline's value of that change is wanted
    /// Where a number of rows() comes from; column 1 is A's, 2 B's, 3 the difference.
    void becauseRequested(int row, int column);
    /// Where a difference of stages() comes from; a row is a pipeline rank.
    void stageBecauseRequested(int row, int column);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    enum class Tint { none, muted, better, worse };
    struct Cell {
        QString text, tip = {};
        Tint tint = Tint::none;
        bool isBold = false;
    };
    void letAsk(QTableWidget*, void (CompareTables::*requested)(int row, int column));
    void addRow(QTableWidget*, const std::vector<Cell>&);
    void fit(QTableWidget*) const;
    void headSeveral(QTableWidget*, const QString& nameOfA, const std::vector<Column>& others, const QString& first) const;
    void nameRows(QTableWidget*) const;
    void alignSeveral();
    void placeHead();
    std::array<QTableWidget*, 3> severalTables() const { return {m_severalHead, m_severalKeys, m_severalRows}; }

    const Theme* m_theme;
    QLabel *m_changesTitle, *m_changesNote, *m_rowsTitle, *m_sure, *m_stagesTitle;
    QTableWidget *m_changes, *m_rows, *m_stages, *m_severalKeys, *m_severalRows, *m_severalHead;
    QScrollArea* m_pane;
    QHBoxLayout* m_headPlace; ///< as wide as what scrolls below it
    QScrollBar* m_across;
};

} // namespace app
