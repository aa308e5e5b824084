// Planning in the window: what is asked for, the search as it goes on, its pictures, and what can be done with a layout that it
// found. Searches on a thread of its own; a change of the scenario ends a search that it makes untrue.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/session/desk.h"
#include "app/session/plan_search.h"
#include "app/shell/plan/plan_part.h"
#include "app/views/plan/plan_cost_view.h"
#include "app/views/plan/plan_guide_view.h"
#include "app/views/plan/plan_robust_view.h"
#include "app/views/plan/plan_sizes_view.h"
#include "app/views/plan/plan_view.h"

#include <QPoint>
#include <QRect>
#include <QSize>
#include <QTimer>
#include <QWidget>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

class QBoxLayout;
class QButtonGroup;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QMenu;
class QProgressBar;
class QPushButton;
class QScrollArea;
class QSlider;
class QSpinBox;
class QSplitter;
class QStackedWidget;
class QToolButton;
class QVBoxLayout;

namespace app {

class RunLengthAsk;

/// Where a menu of that size opens beside a button: on the screen, and not over the button where there is room.
QPoint menuPlace(const QRect& button, QSize menu, const QRect& screen);

/// Numbers of GPUs that a slider stops at: powers of two up to a node, then nodes doubled; and those there are.
std::vector<int> planGpuStops(int gpusPerNode, int present);

class PlanPanel : public QWidget {
    Q_OBJECT
public:
    explicit PlanPanel(Desk&, Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~PlanPanel() override;
    void setTheme(const Theme&);
    void setPrice(double ofAGpuHour); ///< 0: not told, and nothing can be planned by cost

    /// Searches anew for what is asked for now.
    void start();
    void stop(); ///< and keeps what was found
    bool isSearching() const { return m_search.isRunning(); }
    /// Nothing is under way.
    bool isReady() const
    {
        return !m_search.isRunning() && !m_search.isAskingCell() && !m_search.isAskingGuide() && !m_search.isAskingRobust() &&
               m_search.cellsToFill() == 0 && m_search.sizesToFill() == 0 && !m_soon.isActive() && !m_guideSoon.isActive();
    }
    void setObjective(sim::PlanObjective);
    void setFillsMap(bool fills) { m_fillsMap = fills; }                     ///< after the proof, the best of each cell; it does
    void setMostFillSeconds(double seconds) { m_mostFillSeconds = seconds; } ///< then cells that are left stay so, and it is said
    void setGpus(int);
    void setHeld(const std::string& pointer, bool); ///< "layout.tp": at the value that it has
    void planAround(const std::string& pointer);    ///< holds that alone, and starts
    void planAlone(const std::string& pointer);     ///< holds all but that, and what has to follow it, and starts
    bool isHeld(const std::string& pointer) const { return m_held.contains(pointer); }
    /// Chooses a cell, as a click on it does: where nothing of it was simulated, its best is searched for.
    void choose(int tp, int pp);
    bool canOpen() const;
    void openChosen();    ///< as one undoable step
    void compareChosen(); ///< compareRequested()

    const PlanPicture& picture() const { return *m_picture; }
    const std::optional<PlanState>& state() const { return m_state; }
    const std::optional<PlanChoice>& choice() const { return *m_choice; }
    const std::shared_ptr<const sim::PlanGuide>& guide() const { return m_guide; } ///< nullptr: not asked for, or on its way
    const std::string& guideTitle() const { return m_guideView.hintTitle(); }      ///< in the guide's place while there is none
    const std::shared_ptr<const sim::RobustChoice>& robust() const { return m_robust; } ///< likewise
    const std::string& robustTitle() const { return m_robustView.hintTitle(); }         ///< likewise
    CanvasWidget& canvas(PlanPart) const;
    void showPart(PlanPart);
    QString proofText() const;
    QString detailText() const;
    QToolButton& options() const { return *m_options; } ///< its words are what is held and which limits there are
    bool hasCanvasFocus() const;
    void runCommand(ViewCommand, bool fast);

Q_SIGNALS:
    void compareRequested(const QString& name, const sim::ScenarioDocument& document);
    void opened(const QString& layout); ///< it is the scenario now
    void ready();                       ///< isReady() again

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    static constexpr int kLowestPicture = 110; ///< lower, the panel scrolls
    static constexpr int kNarrowestPicture = 160;

    sim::PlanRequest requestNow() const;
    std::string searchedText() const;
    std::string textOf(sim::ScenarioDocument) const;
    void forget();
    void sayWhyEmpty(const QString& title, const QString& hint);
    void forgetPlan();
    void forgetGuide();
    bool isGuideInFront() const;
    void wantGuideSoon();
    int cellsLeft() const;
    QString optionsText() const;
    void scenarioChanged();
    void askedForOther();
    void refill();
    void show(const PlanState&);
    void showFailure(const QString&);
    void cellFound(const PlanCellState&);
    void showPartAt(int place);
    void askGuide();
    void askRobust();
    void forgetRobust();
    void chooseOfRobust(const sim::PlannedLayout&);
    void fillMap();
    void fillSizes();
    bool saysTokens() const;
    void setTokens(double);
    void refreshCostPage();
    sim::PlanRequest requestFor(int gpus) const;
    void showGuide();
    void chooseOfGuide(const sim::PlannedLayout&, bool isPath);
    void choiceChanged();
    void refreshControls();
    void refreshDetail();
    void namePages(bool inWords);
    void placeMap(int mapWidth, int room);
    void fitPictures();
    void refreshFrames();
    void refreshSizes();
    void fillOptions();
    int rampStep(int parts) const;
    void showOptions();
    void showMine();
    void fold();
    void placeSlider();
    void placeWords();
    std::vector<int> gpuStops() const;
    void copyTable();
    int presentGpus() const;
    const sim::PlanRequest* requestOfChosen() const;

    Desk& m_desk;
    const Theme* m_theme;
    double m_price = 0;
    std::set<std::string> m_held;  ///< pointers
    std::set<std::string> m_freed; ///< searched besides what always is
    std::string m_framework;
    double m_marginGib = 0;
    int m_rampParts = 1;                           ///< equal steps in which the batch grows to its size; 1: it does not
    std::string m_plannedOf;                       ///< the scenario but for what is searched, when it was asked for
    std::map<std::string, std::string> m_openedOf; ///< of a layout that was opened: what it was planned of
    std::optional<PlanState> m_state;
    std::map<int, PlanState> m_byGpus; ///< of the same request but for the number of GPUs
    std::map<std::pair<int, int>, PlanCellState> m_cells;
    std::shared_ptr<const sim::PlanGuide> m_guide;
    std::optional<sim::PlanRequest> m_guideRequest; ///< that it was asked for with
    std::string m_guideOf;                          ///< as m_plannedOf
    std::shared_ptr<const sim::RobustChoice> m_robust;
    bool m_fillsMap = true, m_hasFilledMap = false;
    double m_mostFillSeconds = PlanSearch::kMostFillSeconds;
    bool m_choosesPath = false; ///< the choice is the guide's layout
    QString m_failure, m_cellFailure;
    bool m_hasPlanned = false; ///< from then on another number of GPUs is searched by itself

    PlanChoicePtr m_choice;
    PlanPicturePtr m_picture;
    PlanHeatMap m_map; ///< before the canvases that show them
    PlanBestLayouts m_best;
    PlanScatter m_scatter;
    PlanGuideView m_guideView;
    PlanRobustView m_robustView;
    PlanSizesView m_sizesView;
    PlanCostView m_costView;

    QComboBox* m_objective;
    QSlider* m_gpuSlider;
    std::array<int, 3> m_placedFor{}; ///< what the places of map and pages were found for
    QSpinBox* m_gpus;
    QToolButton* m_options;
    QMenu* m_optionsMenu;
    QPushButton* m_start;
    QProgressBar* m_progress;
    QLabel *m_proof, *m_detail;
    QSplitter* m_split;
    CanvasWidget *m_mapCanvas, *m_bestCanvas, *m_scatterCanvas, *m_guideCanvas, *m_robustCanvas, *m_sizesCanvas, *m_costCanvas;
    RunLengthAsk* m_runLength; ///< in the place of days and cost where the scenario does not say how many tokens it trains
    QStackedWidget *m_costPage, *m_side;
    QButtonGroup* m_sideButtons;
    QPushButton *m_open, *m_compare;
    QToolButton* m_copy;
    QScrollArea* m_area; ///< around all of it: a small panel folds, and scrolls where that is not enough
    QBoxLayout *m_head = nullptr, *m_segments = nullptr; ///< of controls; of what is beside the map
    QVBoxLayout* m_page = nullptr;                       ///< what scrolls
    QHBoxLayout* m_reason = nullptr;                     ///< below it: where a low panel leaves room
    bool m_isLow = false;
    QHBoxLayout *m_forWhat = nullptr, *m_sliderLine = nullptr; ///< where the slider stands, and where it has no room beside
    QTimer m_soon;                                             ///< another number of GPUs: dragging goes on
    QTimer m_guideSoon;                                        ///< the same of the path
    PlanSearch m_search;                                       ///< last: ends before what it uses
};

} // namespace app
