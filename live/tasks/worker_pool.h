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

    /// Works until finished() is true. Worker 0 asks it when it has nothing else to do, when the other workers run out of work,
    /// and at least every few milliseconds while idle. Coroutines may be running meanwhile: let it read an atomic count.
    void run(const std::function<bool()>& finished);

    /// Asked again and again while workers are idle and, if `whileBusy`, now and then while all are busy, by one worker at a
    /// time; returns whether anything moved. Set before run().
    void setPoller(std::function<bool()> poller, bool whileBusy = true)
    {
        m_poller = std::move(poller);
        m_pollsWhileBusy = whileBusy;
    }
    /// How often the poller moved something. Any thread.
    std::uint64_t moves() const { return m_moves.load(std::memory_order_relaxed); }
    /// Wakes run() to ask finished() again.
    void wake();

private:
    struct ParallelJob;
    void work(const std::function<bool()>& finished);
    bool runOne();
    bool poll();
    bool somethingToDo() const { return m_work.load(std::memory_order_relaxed) > 0 || m_stop.load(std::memory_order_relaxed); }
    void spin();
    void sleep(bool isWorkerZero);
    void stop();
    static void help(ParallelJob&);

    const int m_workers;
    std::function<bool()> m_poller;
    bool m_pollsWhileBusy = true;
    std::atomic<bool> m_polling{false};
    std::atomic<std::int64_t> m_lastPollNs{0};
    std::atomic<std::uint64_t> m_moves{0};

    std::mutex m_mutex; ///< of the queues and of going to sleep
    std::condition_variable m_changed;
    std::deque<std::coroutine_handle<>> m_ready;
    std::vector<ParallelJob*> m_jobs;
    int m_sleeping = 0;
    bool m_askAgain = false;                    ///< worker 0 is to ask finished()
    bool m_pollerIsKept = false;                ///< a sleeping worker wakes often to poll: the others need not
    alignas(64) std::atomic<int> m_work{0};     ///< entries of the queues; changed under the mutex, read by spinning workers
    alignas(64) std::atomic<int> m_idle{0};     ///< workers with nothing to do: spinning or asleep
    alignas(64) std::atomic<int> m_spinning{0}; ///< of these, those that will see m_work without being woken
    std::atomic<bool> m_stop{false};
    std::vector<std::thread> m_threads;
};

} // namespace live
