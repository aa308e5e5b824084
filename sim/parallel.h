// A loop over several cores. What the bodies do must not depend on each other, nor the result on their order.
#pragma once

#include "sim/cancel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sim {
namespace detail {
inline constinit thread_local bool insideParallelLoop = false; ///< a loop inside a loop finds the cores taken
} // namespace detail

/// Threads for many short loops one after the other. A loop ends once its bodies have run: it waits for no thread that was not
/// given a core in time to take one, so that on a busy machine it takes no longer than on the caller's thread alone.
class Crew {
public:
    /// `threads`: the caller's among them; 0: as many as there are cores.
    explicit Crew(std::size_t threads)
    {
        if (threads == 0)
            threads = std::max(1U, std::thread::hardware_concurrency());
        try {
            for (std::size_t i = 1; i < threads; ++i)
                m_helpers.emplace_back([this] { help(); });
        } catch (const std::system_error&) { // the system has no more threads: those there are do the work
        }
    }
    ~Crew()
    {
        {
            const std::lock_guard guard(m_lock);
            m_ends = true;
        }
        m_begun.notify_all();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Calls body(i) for each i below `count`. The caller's CancelScope holds on all threads. The first exception ends the loop,
    /// and is thrown again. Of one thread at a time.
    template <typename Body>
    void forEach(std::size_t count, const Body& body)
    {
        if (m_helpers.empty() || count <= 1 || detail::insideParallelLoop) {
            for (std::size_t i = 0; i < count; ++i)
                body(i);
            return;
        }
        Loop loop{.body = std::cref(body), .count = count, .outer = CancelScope::current()};
        {
            const std::lock_guard guard(m_lock);
            m_loop = &loop;
            ++m_loops;
        }
        m_begun.notify_all();
        loop.run();
        {
            std::unique_lock lock(m_lock);
            m_loop = nullptr; // who wakes up now finds nothing to do
            m_left.wait(lock, [this] { return m_inside == 0; });
        }
        if (loop.problem)
            std::rethrow_exception(loop.problem);
    }

private:
    struct Loop {
        std::function<void(std::size_t)> body;
        std::size_t count = 0;
        const CancelScope* outer = nullptr; ///< the caller's
        std::atomic<std::size_t> next{0};
        std::mutex lock{};
        std::exception_ptr problem{};

        void run()
        {
            detail::insideParallelLoop = true;
            try {
                for (std::size_t i = next++; i < count; i = next++)
                    body(i);
            } catch (...) {
                const std::lock_guard guard(lock);
                if (!problem)
                    problem = std::current_exception();
                next = count;
            }
            detail::insideParallelLoop = false;
        }
    };

    void help()
    {
        std::uint64_t seen = 0;
        std::unique_lock lock(m_lock);
        for (;;) {
            m_begun.wait(lock, [&] { return m_ends || (m_loop != nullptr && m_loops != seen); });
            if (m_ends)
                return;
            seen = m_loops;
            Loop& loop = *m_loop;
            ++m_inside;
            lock.unlock();
            {
                const CancelScope inherited([outer = loop.outer] { return outer != nullptr && outer->isCancelled(); });
                loop.run();
            }
            lock.lock();
            if (--m_inside == 0)
                m_left.notify_all();
        }
    }

    std::mutex m_lock;
    std::condition_variable m_begun, m_left;
    Loop* m_loop = nullptr;
    std::uint64_t m_loops = 0;
    std::size_t m_inside = 0; ///< helpers at work
    bool m_ends = false;
    std::vector<std::jthread> m_helpers; ///< last: they end before what they use
};

/// One such loop, on up to `threads` threads, the caller's among them; 0: as many as there are cores.
template <typename Body>
void forEachInParallel(std::size_t count, std::size_t threads, const Body& body)
{
    if (threads == 0)
        threads = std::max(1U, std::thread::hardware_concurrency());
    Crew(detail::insideParallelLoop ? 1 : std::max<std::size_t>(1, std::min(threads, count))).forEach(count, body);
}

} // namespace sim
