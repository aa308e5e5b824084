// The search for the best layout off the window's thread: it tells what it has found while it goes on, can be stopped and keeps
// that, and ends by itself after a while.
#pragma once

#include "app/session/edit.h"
#include "app/session/worker.h"
#include "sim/planner/guide.h"
#include "sim/planner/planner.h"
#include "sim/planner/robust.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace app {

/// What a search has found.
struct PlanState {
    sim::PlanRequest request;
    std::shared_ptr<const sim::PlanAnswer> answer; ///< never null; while it runs, as if it were stopped now
    std::string proof;                             ///< of the answer, as the command line says it; lines
    sim::PlanProgress progress;                    ///< how far it is
    bool isRunning = false;
};

/// As if somebody had stopped the search there.
PlanState brokenOff(const PlanState&);

/// What a cell is searched with and compared to; no answer: with nothing.
struct PlanFound {
    sim::PlanRequest request;
    std::shared_ptr<const sim::PlanAnswer> answer = nullptr;
};

/// The best layout of one cell of the map: with these sizes held, whatever else is best.
struct PlanCellState {
    int tp = 1, pp = 1;
    sim::PlanRequest request; ///< with tp and pp held
    /// Its best says whether it is a tie with the first of the search that it belongs to.
    std::shared_ptr<const sim::PlanAnswer> answer;
};

class PlanSearch : public QObject {
    Q_OBJECT
public:
    static constexpr double kMostSeconds = 120, kMostCellSeconds = 20, kMostFillSeconds = 60; ///< then it is stopped
    static constexpr double kMostSizeSeconds = 30;

    /// The catalogue outlives it.
    explicit PlanSearch(const sim::Catalogue&, QObject* parent = nullptr);
    ~PlanSearch() override; ///< cancels and joins

    /// The search before is forgotten.
    void start(sim::PlanRequest, double mostSeconds = kMostSeconds);
    /// Ends it with what was found: finished() tells.
    void stop();
    /// Nothing is told any more, of searches, cells, guides or what is robust.
    void drop();
    bool isRunning() const { return m_isRunning; }
    /// What is best with that tp and pp; once the search is over.
    void askCell(const PlanFound&, int tp, int pp);
    bool isAskingCell() const { return m_asksCell; }
    /// The same of many, one after the other, for a while; what is asked for by itself comes first. stop() ends it.
    void fillCells(const PlanFound&, const std::vector<std::pair<int, int>>& tpAndPp, double mostSeconds = kMostFillSeconds);
    int cellsToFill() const { return m_cellsToFill; } ///< that are still to come
    /// The best of other numbers of GPUs, one after the other, for a while. stop() ends it.
    void fillSizes(std::vector<sim::PlanRequest>, double mostSeconds = kMostFillSeconds);
    int sizesToFill() const { return m_sizesToFill; } ///< that are still to come
    /// The path as people teach it, walked with the request's job; beside a search after it.
    void askGuide(const sim::PlanRequest&);
    bool isAskingGuide() const { return m_asksGuide; }
    void dropGuide(); ///< nothing is told of it any more
    /// The layouts near the first where not all goes as planned; after what runs.
    void askRobust(const PlanFound&);
    bool isAskingRobust() const { return m_asksRobust; }
    void dropRobust(); ///< likewise

Q_SIGNALS:
    void progressed(const app::PlanState& state);
    void finished(const app::PlanState& state);
    void failed(const QString& message);                ///< instead: it cannot be searched, and why
    void cellImproved(const app::PlanCellState& state); ///< while cells are filled: better than told before, not the end
    void cellFound(const app::PlanCellState& state);
    void cellFailed(const QString& message);
    void cellsFilled(); ///< the last one was told of, or they were stopped
    void sizeFound(const app::PlanState& state);
    void sizesFilled(); ///< the last one was told of, or they were stopped
    void guideFound(const std::shared_ptr<const sim::PlanGuide>& guide);
    void guideFailed(const QString& message);
    void robustFound(const std::shared_ptr<const sim::RobustChoice>& choice);
    void robustFailed(const QString& message);

private:
    void work(const Task&, const sim::PlanRequest&, double mostSeconds, const std::shared_ptr<std::atomic<bool>>& isStopped);

    const sim::Catalogue& m_catalogue;
    std::shared_ptr<std::atomic<bool>> m_isStopped;       ///< of the search that runs, or of the filling of the map
    std::shared_ptr<std::atomic<bool>> m_areSizesStopped; ///< of what fills the sizes beside it
    /// `improved` is told of each better layout, some times a second.
    PlanCellState searchedCell(const PlanFound&, const PlanCellState&, double mostSeconds,
                               const std::shared_ptr<std::atomic<bool>>&,
                               const std::function<void(const PlanCellState&)>& improved = {}) const;

    int m_cellsToFill = 0, m_sizesToFill = 0;
    bool m_isRunning = false, m_asksCell = false, m_asksGuide = false, m_asksRobust = false;
    Worker m_worker; ///< last: ends before what it uses
};

/// One undoable step that makes a layout the scenario: simulated, it takes stepSeconds.
Edit makePlanEdit(const sim::PlanRequest&, const sim::PlannedLayout&);
/// The same of the layout that a guide leads to.
Edit makeGuideEdit(const sim::PlanRequest&, const sim::PlannedLayout&);

} // namespace app
