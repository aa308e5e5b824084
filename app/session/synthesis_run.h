// A search for a schedule off the GUI thread: it can be watched, paused and gone on with.
#pragma once

#include "app/session/worker.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/synthesis.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace app {

/// How far a search is, and its best schedule.
struct SynthesisState {
    sim::Synthesis best;
    sim::SynthesisProgress progress;
    bool done = false;    ///< proven the best, or the planned moves are spent
    bool running = false; ///< false: paused, or done
};

class SynthesisRun : public QObject {
    Q_OBJECT
public:
    /// Of a scenario of the kind auto. Starts at once.
    explicit SynthesisRun(sim::Scenario, QObject* parent = nullptr);
    ~SynthesisRun() override; ///< cancels and joins

    void pause();
    /// After the planned moves it searches beyond them.
    void resume();

signals:
    void progressed(const app::SynthesisState& state);
    void failed(const QString& message);

private:
    void work(const Task&);

    const sim::Scenario m_scenario;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    bool m_running = true; ///< guarded by m_mutex
    std::atomic<bool> m_endStep{false};
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
