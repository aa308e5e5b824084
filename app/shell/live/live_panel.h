// The Live view: how a training goes, which rank holds what, where the time of a step went, and the prediction above the
// measurement. Shows what a LiveRun tells; starts and stops nothing itself.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/session/live_run.h"
#include "app/shell/live/earlier_runs.h"
#include "app/shell/widgets/figure_source.h"
#include "app/step/selection.h"
#include "app/views/compare/compared_timelines_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/live/curves_view.h"

#include <QWidget>

#include <vector>

class QAction;
class QButtonGroup;
class QFrame;
class QLabel;
class QSplitter;
class QToolButton;

namespace app {

class DifferenceTable;
class ElidedLabel;
class MetricCard;
class RunHeader;

enum class LivePicture { grid, curves, timelines };

/// What to say of a measured step, as if parallel, that is not as predicted, in seconds; empty where they agree. A prediction is
/// calibrated if it knows this machine, and can be as long as nothing trains here. `othersCores`: that other programs use of it,
/// or used while something was heard of the run. `isDouble`: it trains in fp64, which predictions do not know.
QString partingText(double measured, double predicted, bool isCalibrated, bool canCalibrate, double othersCores,
                    bool isOver = false, bool isDouble = false);

class LivePanel : public QWidget {
    Q_OBJECT
public:
    explicit LivePanel(Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~LivePanel() override;

    /// The buttons at the right of the header, from the window's command table.
    void setActions(const QList<QAction*>&);
    /// What is offered where prediction and measurement part.
    void setCalibrate(QAction&);
    /// Cores of this machine that other programs use.
    void setOthersCores(double cores);
    /// Forgets the run before.
    void startAnew(const QString& name);
    void show(const LiveUpdate&);
    void setPinned(std::optional<int> step);
    void setKernels(bool);
    void setTheme(const Theme&);
    void setClock(LiveClock);
    LiveClock clock() const { return m_clock; }
    const live::RunDescription* run() const { return m_run.get(); } ///< nullptr: it has not told yet

    bool runCommand(ViewCommand, bool fast); ///< false: it changed nothing
    CanvasWidget& canvas(LivePicture) const;
    CanvasWidget& usedCanvas() const { return *m_lastUsed; }
    View& usedView();
    LivePicture usedPicture() const;
    std::vector<FigureSource> figures(); ///< in the order of LivePicture
    QString runName() const;             ///< as it tells it, else what it was started or found by
    const DifferenceTable& differences() const { return *m_differences; }
    const PredictionPtr& prediction() const { return m_prediction; }
    const StepPicturePtr& picture() const { return m_picture; }
    const LiveStatus& status() const { return m_status; }
    const std::vector<CurvePoint>& steps() const { return m_curves.points(); }
    /// All that a finished picture needs is on screen: a step, both its clocks, the prediction.
    bool isComplete() const;

Q_SIGNALS:
    void stepChosen(int step);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void showStatus(const LiveUpdate&);
    void showClock(LiveClock);
    const CurvePoint* shownPoint() const;
    void showStep();
    void showNumbers(const LiveUpdate&);
    QString lossNote() const;
    void showTimelines();
    const StepPicturePtr& shownPicture() const;
    void showPrediction();
    void showParting();
    QString predictionText(double seconds) const;
    void selectionMayHaveChanged(CanvasWidget& by);

    Selection m_selection, m_shownSelection;
    GridView m_grid; ///< before the canvases that show them
    CurvesView m_curves;
    ComparedTimelinesView m_timelines;
    EarlierRuns m_earlier;
    std::string m_learns; ///< of the run on screen
    LiveStatus m_status;
    std::shared_ptr<const live::RunDescription> m_run;
    PredictionPtr m_prediction;
    std::optional<double> m_uncalibratedSeconds; ///< predicted before this machine was measured
    StepPicturePtr m_picture;                    ///< newest, or pinned
    StepPicturePtr m_wholePicture;               ///< newest of a step that is done and came whole
    std::optional<int> m_pinned;
    LiveClock m_clock = LiveClock::parallel;
    std::optional<LiveClock> m_clockBefore; ///< a run that only the wall clock can show, where nobody chose it
    bool m_kernels = false;
    double m_lastSeconds = 0;
    QString m_runName;
    double m_othersCores = 0; ///< that programs which are not ours use

    QLabel* m_dot;
    ElidedLabel *m_name, *m_headline;
    QLabel* m_detail;
    QWidget* m_detailFrame;
    QLabel* m_parting;
    QFrame* m_partingFrame;
    QToolButton* m_calibrate;
    RunHeader* m_header = nullptr;
    QButtonGroup* m_clocks;
    MetricCard *m_loss, *m_step, *m_parallel, *m_tokens, *m_memory, *m_spans;
    QSplitter *m_rows, *m_upper;
    CanvasWidget *m_gridCanvas, *m_curvesCanvas, *m_timelinesCanvas, *m_lastUsed;
    DifferenceTable* m_differences;
    const Theme* m_theme;
};

} // namespace app
