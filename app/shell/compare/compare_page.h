// The Compare page: the desk's scenario beside the baseline. Shows both, takes single values over; pins nothing itself.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/session/comparison_rows.h"
#include "app/session/desk.h"
#include "app/session/worker.h"
#include "app/shell/compare/compare_tables.h"
#include "app/step/selection.h"
#include "app/views/compare/compare_view.h"

#include <QWidget>

class QAction;
class QFrame;
class QGridLayout;
class QHBoxLayout;
class QLabel;
class QSplitter;

namespace app {

class ElidedLabel;

class ComparePage : public QWidget {
    Q_OBJECT
public:
    explicit ComparePage(Desk&, Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~ComparePage() override;

    /// The buttons at the right of the header, from the window's command table.
    void setActions(const QList<QAction*>&);
    void setTheme(const Theme&);
    void setGpuHourPrice(double); ///< 0: not told
    /// The baseline is A and the session B, or the other way round.
    void swapSides();
    bool isSwapped() const { return m_swapped; }
    /// What Esc would forget.
    bool isSettled() const { return !m_awaitsComparison; } ///< what is shown is of the newest steps

    bool runCommand(ViewCommand, bool fast); ///< false: it changed nothing
    CompareView& view() { return m_view; }
    CanvasWidget& canvas() const { return *m_canvas; }
    const CompareTables& tables() const { return *m_tables; }
    QString names() const;    ///< "A gpipe  ·  B 1f1b"
    QString headline() const; ///< the difference as the header has it
    QString csv() const;      ///< empty as long as there is nothing to compare

Q_SIGNALS:
    void compared(); ///< another comparison is shown, or none

protected:
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void stepChanged();
    void refresh();
    /// What is made on the worker of all that is compared.
    struct Made {
        CompareView::Prepared prepared;
        std::vector<CompareView::Further> further;
    };
    void show(CompareView::Side a, CompareView::Side b, Made);
    void showHeader();
    void placeButtons();
    void placeTables();
    void showProblem();
    std::vector<ComparisonRow> rows() const;
    std::vector<ComparisonRow> rowsOf(const sim::Comparison&, const sim::Simulation& a, const sim::Simulation& b) const;
    void showSeveral();
    void giveTables(int wanted);
    std::vector<CompareTables::Column> others() const;
    void adopt(int change);
    void askOfRow(int row, int column);
    void askOfStage(int row, int column);
    void openOnce(const Becauses&, QTableWidget&, int row, int column);
    ComparedSteps steps() const;

    Desk& m_desk;
    Session& m_session;   ///< of the desk
    Baseline& m_baseline; ///< likewise
    Lineup& m_lineup;     ///< likewise
    Selection m_selection;
    CompareView m_view; ///< before the canvas that shows it
    bool m_swapped = false;
    double m_gpuHourPrice = 0;
    bool m_isSplitByHand = false;
    bool m_isStale = true; ///< nobody saw what changed
    QString m_currentName; ///< of the scenario, as it is shown
    bool m_awaitsComparison = false;
    std::vector<ScenarioChange> m_changes;

    ElidedLabel *m_nameA, *m_nameB;
    QLabel *m_letterA, *m_letterB, *m_timeA, *m_timeB, *m_difference, *m_ratio, *m_problem;
    QFrame* m_header;
    QGridLayout* m_top; ///< names and difference, buttons beside or below them
    QHBoxLayout* m_buttons;
    bool m_buttonsBelow = false;
    QByteArray m_beside;    ///< widths of tables and picture, while they lie above each other
    QLabel* m_namesFurther; ///< of those beyond A and B: all, on as many lines as they need
    QSplitter* m_splitter;
    CompareTables* m_tables;
    CanvasWidget* m_canvas;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
