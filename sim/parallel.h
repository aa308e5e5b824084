// A loop over several cores. What the bodies do must not depend on each other, nor the result on their order.
#pragma once

#include "sim/cancel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sim {
namespace detail {
inline constinit thread_local bool insideParallelLoop = false; ///< a loop inside a loop finds the cores taken
} // namespace detail

/// Calls body(i) for each i below `count`, on up to `threads` threads, the caller's among them; 0: as many as there are cores.
/// The caller's CancelScope holds on all of them. The first exception ends the loop, and is thrown again.
template <typename Body>
void forEachInParallel(std::size_t count, std::size_t threads, const Body& body)
{
    if (threads == 0)
        threads = std::max(1U, std::thread::hardware_concurrency());
    threads = std::min(threads, count);
    if (threads <= 1 || detail::insideParallelLoop) {
        for (std::size_t i = 0; i < count; ++i)
            body(i);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr problem;
    std::mutex lock;
    const CancelScope* const outer = CancelScope::current();
    const auto work = [&] {
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
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i)
            others.emplace_back([&] {
                const CancelScope inherited([outer] { return outer != nullptr && outer->isCancelled(); });
                work();
            });
        work();
    }
    if (problem)
        std::rethrow_exception(problem);
}

} // namespace sim
