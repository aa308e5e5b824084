// The page of a recorded run: what is being read, and then the grid and timeline of a step, what was recovered, what was found,
// and the prediction above the measurement. Shows what a RecordedRun tells.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/session/playback.h"
#include "app/session/recorded_run.h"
#include "app/shell/widgets/figure_source.h"
#include "app/step/selection.h"
#include "app/views/common/table.h"
#include "app/views/compare/compared_timelines_view.h"
#include "app/views/grid/grid_view.h"

#include <QWidget>

#include <array>
#include <memory>
#include <optional>
#include <vector>

class QAction;
class QComboBox;
class QFrame;
class QLabel;
class QProgressBar;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QVBoxLayout;

namespace app {

class CacheQuestion;
class ElidedLabel;
class RecordedCards;
class RecordedFacts;
class RecordedFindings;
class RunHeader;
class RecordedSide;
class RecordedSimulated;
class RecordedTable;
class RecordedTabs;
class TransportBar;

/// What stands beside the grid.
enum class RecordedTab { findings, ranks, communication, steps, kernels, path, facts, prediction, simulated, comparison };

class RecordedPanel : public QWidget {
    Q_OBJECT
public:
    explicit RecordedPanel(Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~RecordedPanel() override;

    /// The buttons at the right of the header, from the window's command table.
    void setActions(const QList<QAction*>&);
    /// Another run, which begins to be read; the one before is forgotten, and with it what was selected.
    void open(std::unique_ptr<RecordedRun>);
    RecordedRun* run() const { return m_run.get(); } ///< nullptr: none was opened
    void setTheme(const Theme&, const QString& assets);
    /// Where to look at a finding: its ranks, its time, in its step.
    void showFinding(std::size_t finding);
    /// The same of a stretch of the critical path.
    void showStretch(std::size_t stretch);
    void showStep(std::size_t step);
    void setRows(RecordedRows);
    void setTab(RecordedTab);
    void showCompared(const QString& with, const sim::RunDifference&);

    bool runCommand(ViewCommand, bool fast); ///< false: it changed nothing
    void play() { m_playback.toggle(); }
    /// What plays the step stands below all the rest; whoever scrolls the panel puts it where it stays in sight.
    TransportBar& transport() const { return *m_transport; }
    CanvasWidget& gridCanvas() const { return *m_gridCanvas; }
    CanvasWidget& timelineCanvas() const { return *m_timelinesCanvas; }
    const GridView& grid() const { return m_grid; }
    ComparedTimelinesView& timelines() { return m_timelines; }
    RecordedFacts& facts() const { return *m_facts; }
    RecordedTable& table(RecordedTab) const; ///< of those that are tables
    const RunHeader& header() const { return *m_header; }
    CacheQuestion& cacheQuestion() const { return *m_cacheQuestion; } ///< considered by the window, which knows the settings
    RecordedTable& shapes() const { return *m_shapes; }
    RecordedSimulated& simulated() const { return *m_simulated; }
    const RecordedTabs& tabs() const { return *m_tabs; }
    const Selection& selection() const { return m_selection; }
    CanvasWidget& usedCanvas() const; ///< last, of those that are in front
    View& usedView();
    std::vector<FigureSource> figures(); ///< what was measured, and what is simulated of it
    Table shownTable() const;            ///< that is in front; of findings, facts: their lines
    QString headline() const;
    QString problem() const;      ///< why there is no run, or what else went wrong last; empty: nothing did
    QString findingsText() const; ///< title, tab, detail, a line each
    QProgressBar& progress() const { return *m_progress; }
    /// Everything that was asked for is on screen.
    bool isSettled() const;

Q_SIGNALS:
    void changed(); ///< commands may be enabled otherwise
    void openOtherRequested();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void buildHeader(QVBoxLayout&);
    void buildContent();
    void makeRoomForTwoTimelines();
    void buildReading();
    void forget();
    void forgetAnswers();
    void chooseStep(std::size_t step);
    /// Of the recording's clock; 0, 0: no time.
    struct Place {
        std::vector<int> ranks;
        std::int64_t startNs = 0, endNs = 0;
        std::optional<GridLens> lens = {};
    };
    void showPlace(const Place&);
    void tell(const QString& what, const QString& why);
    void recovered();
    void pictureReady();
    void predicted();
    bool hasStreamsOf(std::optional<int> rank) const;
    void showGrid();
    void showTimelines();
    void showPathOf(const sim::RankPath&);
    void requestPicture(std::size_t step);
    void moveCursor(std::int64_t ns);
    void selectionMayHaveChanged(CanvasWidget* by);
    void requestFrames(const CanvasWidget* except = nullptr);
    RecordedTable* tableAt(RecordedTab tab) const { return m_tables[static_cast<std::size_t>(tab)]; }

    static constexpr std::size_t kTabs = 10;
    Selection m_selection, m_shownSelection;
    GridView m_grid; ///< before the canvases that show them
    ComparedTimelinesView m_timelines;
    Playback m_playback;
    std::optional<Place> m_place; ///< to be shown once its step is there
    std::size_t m_step = 0;       ///< that is shown, or was asked for
    RecordedRows m_wantedRows = RecordedRows::timeUse;
    QString m_problem;

    ElidedLabel *m_name, *m_headline;
    QComboBox *m_steps, *m_rowsBox;
    RunHeader* m_header;
    QStackedWidget* m_pages;
    QFrame* m_notice;
    QLabel* m_noticeText;
    CacheQuestion* m_cacheQuestion;
    QLabel *m_readingText, *m_readingProblem;
    QProgressBar* m_progress;
    QPushButton *m_cancel, *m_openOther;
    RecordedCards* m_cards;
    QSplitter *m_splitRows, *m_upper;
    bool m_isSharedOut = false; ///< m_splitRows, by somebody or for two timelines
    CanvasWidget *m_gridCanvas, *m_timelinesCanvas, *m_lastUsed;
    TransportBar* m_transport;
    RecordedTabs* m_tabs;
    RecordedFindings* m_findings;
    QLabel *m_predictionText, *m_comparisonText, *m_pathText, *m_shapesText;
    RecordedSide* m_side;
    RecordedFacts* m_facts;
    RecordedSimulated* m_simulated;
    RecordedTable* m_shapes;
    std::array<RecordedTable*, kTabs> m_tables{};
    std::unique_ptr<RecordedRun> m_run; ///< last: ends before what it is shown with
};

} // namespace app
