#include "app/session/synthesis_run.h"

#include "sim/analysis/plan_schedule.h"
#include "sim/cancel.h"

#include <utility>

namespace app {
namespace {

/// Between two looks; on two cores about a tenth of a second.
constexpr std::int64_t kMovesAStep = 200'000;

} // namespace

SynthesisRun::SynthesisRun(sim::Scenario scenario, QObject* parent) : QObject(parent), m_scenario(std::move(scenario))
{
    m_worker.submit({.kind = 0,
                     .work = [this](const Task& task) { work(task); },
                     .failed = [this](const QString& why) { emit failed(why); }});
}

SynthesisRun::~SynthesisRun()
{
    m_worker.stop();
}

void SynthesisRun::pause()
{
    const std::lock_guard lock(m_mutex);
    m_running = false;
    m_endStep = true; // the next one goes on as if nothing had been
}

void SynthesisRun::resume()
{
    {
        const std::lock_guard lock(m_mutex);
        m_running = true;
        m_endStep = false;
    }
    m_wake.notify_one();
}

void SynthesisRun::work(const Task& task)
{
    sim::Synthesiser search(sim::synthesisRequest(sim::planningRequest(m_scenario)));
    while (true) {
        {
            std::unique_lock lock(m_mutex);
            if (!m_wake.wait(lock, task.stopToken(), [this] { return m_running; }) || task.isCancelled())
                return;
        }
        const bool wasDone = search.done();
        {
            const sim::CancelScope untilPaused(m_endStep);
            search.step(kMovesAStep);
        }
        SynthesisState state{.best = search.result(), .progress = search.progress(), .done = search.done()};
        {
            const std::lock_guard lock(m_mutex);
            // Beyond its plan it goes on only when asked to.
            if ((state.done && !wasDone) || state.best.optimal())
                m_running = false;
            state.running = m_running;
        }
        task.tell([this, state = std::move(state)] { emit progressed(state); });
    }
}

} // namespace app
