#include "live/tasks/worker_pool.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace live {

/// One parallelFor. Lives on the caller's stack: the caller leaves only when no helper is inside.
struct WorkerPool::ParallelJob {
    std::int64_t count = 0, grain = 1;
    const std::function<void(std::int64_t, std::int64_t)>* body = nullptr;
    std::atomic<std::int64_t> next{0};
    int helpers = 0; ///< under the pool's mutex
};

WorkerPool::WorkerPool(int workers) : m_workers(std::max(workers, 1)) {}

WorkerPool::~WorkerPool()
{
    assert(m_threads.empty());
}

void WorkerPool::post(std::coroutine_handle<> handle)
{
    {
        const std::lock_guard lock(m_mutex);
        m_ready.push_back(handle);
    }
    m_changed.notify_one();
}

void WorkerPool::wake()
{
    {
        const std::lock_guard lock(m_mutex); // so that a worker about to sleep is not missed
    }
    m_changed.notify_all();
}

void WorkerPool::help(ParallelJob& job)
{
    for (;;) {
        const std::int64_t first = job.next.fetch_add(job.grain, std::memory_order_relaxed);
        if (first >= job.count)
            return;
        (*job.body)(first, std::min(first + job.grain, job.count));
    }
}

void WorkerPool::parallelFor(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body)
{
    if (count <= 0)
        return;
    ParallelJob job;
    job.count = count;
    job.grain = std::max<std::int64_t>(grain, 1);
    job.body = &body;
    const bool alone = count <= job.grain || m_idleHint.load(std::memory_order_relaxed) == 0;
    if (!alone) {
        {
            const std::lock_guard lock(m_mutex);
            m_jobs.push_back(&job);
        }
        m_changed.notify_all();
    }
    help(job);
    if (!alone) {
        std::unique_lock lock(m_mutex);
        std::erase(m_jobs, &job);
        m_changed.wait(lock, [&] { return job.helpers == 0; });
    }
}

bool WorkerPool::runOne(std::unique_lock<std::mutex>& lock)
{
    if (!m_ready.empty()) {
        const auto handle = m_ready.front();
        m_ready.pop_front();
        lock.unlock();
        handle.resume();
        lock.lock();
        return true;
    }
    if (!m_jobs.empty()) {
        ParallelJob& job = *m_jobs.front();
        ++job.helpers;
        lock.unlock();
        help(job);
        lock.lock();
        std::erase(m_jobs, &job); // nothing left of it to start
        if (--job.helpers == 0)
            m_changed.notify_all();
        return true;
    }
    return false;
}

void WorkerPool::work(const std::function<bool()>& finished)
{
    using namespace std::chrono_literals;
    std::unique_lock lock(m_mutex);
    while (!m_stop) {
        if (runOne(lock))
            continue;
        if (finished) { // worker 0
            lock.unlock();
            const bool end = finished();
            lock.lock();
            if (end) {
                m_stop = true;
                m_changed.notify_all();
                return;
            }
            if (!m_ready.empty() || !m_jobs.empty())
                continue;
        }
        bool moved = false;
        if (m_poller) {
            lock.unlock();
            moved = m_poller();
            lock.lock();
        }
        if (moved || !m_ready.empty() || !m_jobs.empty() || m_stop)
            continue;
        ++m_idle;
        m_idleHint.store(m_idle, std::memory_order_relaxed);
        m_changed.wait_for(lock, m_poller ? std::chrono::microseconds(20) : std::chrono::microseconds(2000));
        --m_idle;
        m_idleHint.store(m_idle, std::memory_order_relaxed);
    }
}

void WorkerPool::run(const std::function<bool()>& finished)
{
    m_stop = false;
    for (int i = 1; i < m_workers; ++i)
        m_threads.emplace_back([this] { work(nullptr); });
    work(finished);
    for (std::thread& thread : m_threads)
        thread.join();
    m_threads.clear();
}

} // namespace live
