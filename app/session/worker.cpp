#include "app/session/worker.h"

#include "app/session/failure.h"
#include "sim/cancel.h"

#include <QMetaObject>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace app {

struct Worker::State {
    explicit State(Job of) : job(std::move(of)) {}

    const Job job;
    std::atomic<bool> cancelled{false}; ///< written under m_mutex, read anywhere
    std::stop_source stop;              ///< says the same to who waits
    bool isDropped = false;             ///< guarded by m_mutex, as are `stop` and the next: cancelled for good
    bool hasTold = false;               ///< something that must not be told twice

    void cancel()
    {
        cancelled = true;
        stop.request_stop();
    }
    void beginAnew()
    {
        cancelled = false;
        stop = std::stop_source();
    }
};

bool Task::isCancelled() const
{
    return m_state->cancelled;
}

std::stop_token Task::stopToken() const
{
    const std::lock_guard lock(m_worker.m_mutex);
    return m_state->stop.get_token();
}

void Task::tell(std::function<void()> call) const
{
    m_worker.tell(m_state, std::move(call));
}

Worker::Worker(QObject* parent) : QObject(parent), m_thread([this](const std::stop_token& stop) { run(stop); }) {}

Worker::~Worker()
{
    stop();
}

void Worker::submit(Job job)
{
    {
        auto state = std::make_shared<State>(std::move(job));
        const std::lock_guard lock(m_mutex);
        if (m_running && !m_running->hasTold && state->job.kind < m_running->job.kind)
            m_running->cancel();
        m_jobs.push_back(std::move(state));
    }
    m_wake.notify_one();
}

void Worker::drop(int kind)
{
    dropWhere([kind](const State& state) { return state.job.kind == kind; });
}

void Worker::dropAll()
{
    dropWhere([](const State&) { return true; });
}

void Worker::dropWhere(const std::function<bool(const State&)>& isMeant)
{
    // What they hold may be large, and is freed when the lock is open again.
    std::vector<std::shared_ptr<State>> dropped;
    std::deque<Told> unheard;
    const std::lock_guard lock(m_mutex);
    for (const auto& state : m_jobs) {
        if (isMeant(*state)) {
            state->isDropped = true;
            state->cancel();
            dropped.push_back(state);
        }
    }
    std::erase_if(m_jobs, [](const auto& state) { return state->isDropped; });
    for (Told& told : m_told) {
        if (isMeant(*told.of)) {
            told.of->isDropped = true;
            unheard.push_back(std::move(told));
        }
    }
    std::erase_if(m_told, [](const Told& told) { return !told.call; });
}

void Worker::stop()
{
    dropAll();
    finish();
}

void Worker::finish()
{
    m_thread.request_stop();
    if (m_thread.joinable())
        m_thread.join();
    dropAll();
}

bool Worker::isBusy() const
{
    const std::lock_guard lock(m_mutex);
    return m_running || !m_jobs.empty() || !m_told.empty();
}

void Worker::run(const std::stop_token& stop)
{
    while (runNext(stop)) {
    }
}

bool Worker::runNext(const std::stop_token& stop)
{
    std::shared_ptr<State> state;
    {
        std::unique_lock lock(m_mutex);
        if (!m_wake.wait(lock, stop, [this] { return !m_jobs.empty(); }))
            return false;
        state = *std::min_element(m_jobs.begin(), m_jobs.end(),
                                  [](const auto& a, const auto& b) { return a->job.kind < b->job.kind; });
        state->beginAnew();
        m_running = state;
    }
    try {
        const sim::CancelScope scope(state->cancelled);
        state->job.work(Task(*this, state));
    } catch (const sim::Cancelled&) { // as was wished
    } catch (...) {
        try {
            tell(state, [state, why = QString::fromStdString(failureText())] {
                if (state->job.failed)
                    state->job.failed(why);
            });
        } catch (...) {
            // Not even the words could be had: what was freed since serves the next job, and the window asks for it.
        }
    }
    const std::lock_guard lock(m_mutex);
    m_running.reset();
    if (!state->cancelled || state->isDropped) // else it made room, and is done anew
        std::erase(m_jobs, state);
    return true;
}

void Worker::tell(const std::shared_ptr<State>& state, std::function<void()> call)
{
    {
        const std::lock_guard lock(m_mutex);
        if (state->cancelled)
            return;
        state->hasTold = true;
        m_told.push_back({state, std::move(call)});
    }
    // By name, so that nothing of ours but the queue crosses the threads; one event for each, so that what is thrown while one is
    // heard does not silence the others.
    QMetaObject::invokeMethod(this, "deliverOne", Qt::QueuedConnection);
}

void Worker::deliverOne()
{
    Told told;
    {
        const std::lock_guard lock(m_mutex);
        if (m_told.empty()) // dropped
            return;
        told = std::move(m_told.front());
        m_told.pop_front();
    }
    told.call();
}

} // namespace app
