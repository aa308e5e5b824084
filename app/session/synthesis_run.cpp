#include "app/session/synthesis_run.h"

#include "sim/analysis/plan_schedule.h"
#include "sim/cancel.h"
#include "sim/error.h"

#include <QMetaObject>

#include <utility>

namespace app {
namespace {

/// Between two looks; on two cores about a tenth of a second.
constexpr std::int64_t kMovesAStep = 200'000;

} // namespace

SynthesisRun::SynthesisRun(sim::Scenario scenario, QObject* parent)
    : QObject(parent), m_scenario(std::move(scenario)), m_thread([this](const std::stop_token& stop) { work(stop); })
{
}

SynthesisRun::~SynthesisRun()
{
    m_thread.request_stop();
    m_cancel = true;
    m_thread.join();
}

void SynthesisRun::pause()
{
    const std::lock_guard lock(m_mutex);
    m_running = false;
    m_cancel = true; // the step ends early; the next one goes on as if nothing had been
}

void SynthesisRun::resume()
{
    {
        const std::lock_guard lock(m_mutex);
        m_running = true;
        m_cancel = false;
    }
    m_wake.notify_one();
}

void SynthesisRun::work(const std::stop_token& stop)
{
    const sim::CancelScope whole([&stop] { return stop.stop_requested(); });
    try {
        sim::Synthesiser search(sim::synthesisRequest(sim::planningRequest(m_scenario)));
        while (true) {
            {
                std::unique_lock lock(m_mutex);
                if (!m_wake.wait(lock, stop, [this] { return m_running; }) || stop.stop_requested())
                    return;
            }
            const bool wasDone = search.done();
            {
                const sim::CancelScope step(m_cancel);
                search.step(kMovesAStep);
            }
            const std::lock_guard lock(m_mutex);
            if (search.done() && !wasDone) // beyond its plan it goes on only when asked to
                m_running = false;
            if (search.result().optimal())
                m_running = false;
            m_state = SynthesisState{
                .best = search.result(), .progress = search.progress(), .done = search.done(), .running = m_running};
            QMetaObject::invokeMethod(this, "deliver", Qt::QueuedConnection);
        }
    } catch (const sim::Cancelled&) {
        // The dialog is closing.
    } catch (const sim::Error& error) {
        const std::lock_guard lock(m_mutex);
        m_failure = QString::fromUtf8(error.what());
        QMetaObject::invokeMethod(this, "deliver", Qt::QueuedConnection);
    }
}

void SynthesisRun::deliver()
{
    std::optional<SynthesisState> state;
    QString failure;
    {
        const std::lock_guard lock(m_mutex);
        state = std::exchange(m_state, std::nullopt);
        failure = std::exchange(m_failure, QString());
    }
    if (state)
        emit progressed(*state);
    if (!failure.isEmpty())
        emit failed(failure);
}

} // namespace app
