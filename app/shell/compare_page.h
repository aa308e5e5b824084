// The Compare page: the scenario of the session beside the baseline. Shows both, takes single values over; pins nothing itself.
#pragma once

#include "app/canvas/canvas_widget.h"
#include "app/session/baseline.h"
#include "app/session/comparison_rows.h"
#include "app/session/session.h"
#include "app/views/compare_view.h"
#include "app/views/selection.h"

#include <QWidget>

class QAction;
class QHBoxLayout;
class QLabel;
class QSplitter;

namespace app {

class CompareTables;
class ElidedLabel;

class ComparePage : public QWidget {
    Q_OBJECT
public:
    ComparePage(Session&, Baseline&, Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~ComparePage() override;

    /// The buttons at the right of the header, from the window's command table.
    void setActions(const QList<QAction*>&);
    /// The session's newest result; nullptr while there is none, and then `why`.
    void setCurrent(SimulationPtr, TracePtr actions, const QString& why = {});
    void setTheme(const Theme&);
    /// The baseline is A and the session B, or the other way round.
    void swapSides();
    bool isSwapped() const { return m_swapped; }

    void runCommand(ViewCommand, bool fast);
    CompareView& view() { return m_view; }
    CanvasWidget& canvas() const { return *m_canvas; }
    const CompareTables& tables() const { return *m_tables; }
    QString headline() const; ///< the difference as the header has it
    QString csv() const;      ///< empty as long as there is nothing to compare

signals:
    void compared(); ///< another comparison is shown, or none

protected:
    void showEvent(QShowEvent*) override;

private:
    void stepChanged();
    void refresh();
    void showHeader();
    void showProblem();
    std::vector<ComparisonRow> rows() const;
    void adopt(int change);

    Session& m_session;
    Baseline& m_baseline;
    Selection m_selection;
    CompareView m_view; ///< before the canvas that shows it
    SimulationPtr m_simulation;
    QString m_whyNoStep;
    TracePtr m_actions;
    bool m_swapped = false;
    bool m_isStale = true; ///< nobody saw what changed
    std::vector<ScenarioChange> m_changes;

    ElidedLabel *m_nameA, *m_nameB;
    QLabel *m_letterA, *m_letterB, *m_timeA, *m_timeB, *m_difference, *m_ratio, *m_problem;
    QHBoxLayout* m_buttons;
    QSplitter* m_splitter;
    CompareTables* m_tables;
    CanvasWidget* m_canvas;
};

} // namespace app
