// Runs coroutines: as many workers as cores, however many ranks there are. A worker without a coroutine to run helps the others
// with the parallel parts of their kernels, and polls what must be polled (sockets, MPI).
#pragma once

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace live {

class WorkerPool {
public:
    /// The thread that calls run() is worker 0; `workers` - 1 threads are started.
    explicit WorkerPool(int workers);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    int workers() const { return m_workers; }

    /// Will be resumed by some worker, in the order of posting where that is free. Any thread.
    void post(std::coroutine_handle<>);

    /// Calls body(first, last) on pieces of [0, count) of `grain` elements (the last may be shorter), by this thread and by idle
    /// workers; returns when all are done. Pieces do not depend on how many workers there are. Body must not throw. From a
    /// coroutine or kernel running on a worker, or from any other thread.
    void parallelFor(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

    /// Works until finished() is true: it is asked when a coroutine has paused or ended, and at least every few milliseconds.
    void run(const std::function<bool()>& finished);

    /// Asked again and again while workers are idle; returns whether anything moved. Set before run().
    void setPoller(std::function<bool()> poller) { m_poller = std::move(poller); }
    /// Wakes run() to ask finished() again.
    void wake();

private:
    struct ParallelJob;
    void work(const std::function<bool()>& finished);
    bool runOne(std::unique_lock<std::mutex>&);
    static void help(ParallelJob&);

    const int m_workers;
    std::function<bool()> m_poller;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::coroutine_handle<>> m_ready;
    std::vector<ParallelJob*> m_jobs;
    bool m_stop = false;
    int m_idle = 0;
    std::atomic<int> m_idleHint{0};
    std::vector<std::thread> m_threads;
};

} // namespace live
