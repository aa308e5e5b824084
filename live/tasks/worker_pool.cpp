#include "live/tasks/worker_pool.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace live {
namespace {

using namespace std::chrono_literals;

/// How long a worker without work looks for some before it sleeps: about what a sleep and a wake-up cost together (measured: 50
/// us in a virtual machine). Communication between two running ranks takes less, so they meet awake.
constexpr std::int64_t kSpinNs = 50'000;
/// While all workers are busy, somebody polls this often all the same: other processes may wait for what is in our buffers.
constexpr std::int64_t kPollEveryNs = 50'000;
/// Sleep of the one worker that goes on polling, and of those that wait for post().
constexpr auto kPollingSleep = 50us;
constexpr auto kSleep = 2ms;

std::int64_t steadyNs()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Tells the processor that this is a waiting loop.
void relax()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

/// One parallelFor. Lives on the caller's stack: the caller leaves only when no helper is inside.
struct WorkerPool::ParallelJob {
    std::int64_t count = 0, grain = 1;
    const std::function<void(std::int64_t, std::int64_t)>* body = nullptr;
    std::atomic<std::int64_t> next{0};
    std::atomic<int> helpers{0}; ///< grows under the pool's mutex while the job is listed; a helper's last access is to shrink it
};

WorkerPool::WorkerPool(int workers) : m_workers(std::max(workers, 1)) {}

WorkerPool::~WorkerPool()
{
    assert(m_threads.empty());
}

void WorkerPool::post(std::coroutine_handle<> handle)
{
    bool mustWake = false;
    {
        const std::lock_guard lock(m_mutex);
        m_ready.push_back(handle);
        const int work = m_work.load(std::memory_order_relaxed) + 1;
        m_work.store(work, std::memory_order_release);
        // A worker that spins takes this mutex before it sleeps, and looks again: it cannot miss the handle.
        mustWake = m_sleeping > 0 && work > m_spinning.load(std::memory_order_relaxed);
    }
    if (mustWake)
        m_changed.notify_one();
}

void WorkerPool::wake()
{
    {
        const std::lock_guard lock(m_mutex); // so that a worker about to sleep is not missed
        m_askAgain = true;
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
    if (count <= job.grain || m_idle.load(std::memory_order_relaxed) == 0) {
        help(job);
        return;
    }
    bool mustWake = false;
    {
        const std::lock_guard lock(m_mutex);
        m_jobs.push_back(&job);
        m_work.store(m_work.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        mustWake = m_sleeping > 0;
    }
    if (mustWake)
        m_changed.notify_all();
    help(job);
    {
        const std::lock_guard lock(m_mutex);
        if (std::erase(m_jobs, &job) > 0)
            m_work.store(m_work.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    // Helpers are within their last piece.
    for (int i = 0; job.helpers.load(std::memory_order_acquire) > 0; ++i)
        if (i < 2000)
            relax();
        else
            std::this_thread::yield();
}

/// Resumes one coroutine or helps with one job, if there is any.
bool WorkerPool::runOne()
{
    std::unique_lock lock(m_mutex);
    if (!m_ready.empty()) {
        const auto handle = m_ready.front();
        m_ready.pop_front();
        m_work.store(m_work.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        lock.unlock();
        handle.resume();
        return true;
    }
    if (m_jobs.empty())
        return false;
    ParallelJob& job = *m_jobs.front();
    job.helpers.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    help(job);
    lock.lock();
    if (std::erase(m_jobs, &job) > 0) // nothing left of it to start
        m_work.store(m_work.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    lock.unlock();
    job.helpers.fetch_sub(1, std::memory_order_release);
    return true;
}

bool WorkerPool::poll()
{
    if (!m_poller || m_polling.exchange(true, std::memory_order_acquire))
        return false;
    const bool moved = m_poller();
    m_moves.fetch_add(moved ? 1 : 0, std::memory_order_relaxed);
    m_lastPollNs.store(steadyNs(), std::memory_order_relaxed);
    m_polling.store(false, std::memory_order_release);
    return moved;
}

/// Looks for work about a microsecond long.
void WorkerPool::spin()
{
    m_idle.fetch_add(1, std::memory_order_relaxed);
    m_spinning.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; i < 32 && !somethingToDo(); ++i)
        relax();
    m_spinning.fetch_sub(1, std::memory_order_relaxed);
    m_idle.fetch_sub(1, std::memory_order_relaxed);
}

void WorkerPool::sleep(bool isWorkerZero)
{
    std::unique_lock lock(m_mutex);
    if (somethingToDo() || (isWorkerZero && m_askAgain)) {
        m_askAgain = m_askAgain && !isWorkerZero;
        return;
    }
    if (!isWorkerZero && !m_askAgain && m_sleeping == m_workers - 1) {
        m_askAgain = true; // all is quiet: that may be the end
        m_changed.notify_all();
    }
    const bool keepsPolling = m_poller && !m_pollerIsKept;
    m_pollerIsKept = m_pollerIsKept || keepsPolling;
    ++m_sleeping;
    m_idle.fetch_add(1, std::memory_order_relaxed);
    m_changed.wait_for(lock, keepsPolling ? std::chrono::microseconds(kPollingSleep) : std::chrono::microseconds(kSleep));
    m_idle.fetch_sub(1, std::memory_order_relaxed);
    --m_sleeping;
    if (keepsPolling)
        m_pollerIsKept = false;
    if (isWorkerZero)
        m_askAgain = false;
}

void WorkerPool::stop()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stop = true;
    }
    m_changed.notify_all();
}

void WorkerPool::work(const std::function<bool()>& finished)
{
    std::int64_t idleSinceNs = 0; // 0: not idle
    while (!m_stop.load(std::memory_order_relaxed)) {
        if (runOne()) {
            idleSinceNs = 0;
            if (m_poller && m_pollsWhileBusy && steadyNs() - m_lastPollNs.load(std::memory_order_relaxed) > kPollEveryNs)
                poll();
            continue;
        }
        if (finished && finished()) {
            stop();
            return;
        }
        if (m_work.load(std::memory_order_acquire) > 0) // finished() has posted some
            continue;
        const std::int64_t now = steadyNs();
        if (poll() || idleSinceNs == 0)
            idleSinceNs = now;
        if (now - idleSinceNs < kSpinNs)
            spin();
        else
            sleep(finished != nullptr);
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
