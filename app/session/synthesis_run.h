// A search for a schedule off the GUI thread: it can be watched, paused and gone on with.
#pragma once

#include "app/session/worker.h"
#include "sim/simulate/search_schedule.h"
#include "sim/simulate/simulation.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace app {

/// How far a search is, and the order with the shortest simulated step.
struct SynthesisState {
    sim::Synthesis best; ///< that order, and how near to the best possible it is by pass times alone
    sim::SynthesisProgress progress;
    sim::OrderVerdict step, now; ///< simulated: of that order, and of the scenario as it is
    bool done = false;           ///< proven the best by pass times, or the planned moves are spent
    bool running = false;        ///< false: paused, or done

    bool improves() const { return sim::isBetter(step, now); }
    double change() const { return step.stepSeconds / now.stepSeconds - 1; } ///< of the step: -0.03 is 3 % shorter
};

class SynthesisRun : public QObject {
    Q_OBJECT
public:
    /// Of a scenario of the kind auto, to be better than `now`: nothing slower is taken for a result. Starts at once.
    SynthesisRun(sim::Scenario, std::shared_ptr<const sim::Simulation> now, QObject* parent = nullptr);
    ~SynthesisRun() override; ///< cancels and joins

    void pause();
    /// After the planned moves it searches beyond them.
    void resume();

Q_SIGNALS:
    void progressed(const app::SynthesisState& state);
    void failed(const QString& message);

private:
    void work(const Task&);

    const sim::Scenario m_scenario;
    const std::shared_ptr<const sim::Simulation> m_now;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    bool m_running = true; ///< guarded by m_mutex
    std::atomic<bool> m_endStep{false};
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
