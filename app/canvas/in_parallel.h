// Short work of a frame on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace app {

/// f(i) for every i below `count`, in any order, on up to `threads` threads and no more than there are cores; the caller's is one
/// of them. Throws what an f threw, once all have come to their end. Starting a thread takes some 30 µs.
template <typename F>
void inParallel(std::size_t count, std::size_t threads, const F& f)
{
    threads = std::min({threads, count, static_cast<std::size_t>(std::max(1U, std::thread::hardware_concurrency()))});
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        try {
            for (std::size_t i = next++; i < count; i = next++)
                f(i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i)
            others.emplace_back(work);
        work();
    }
    if (failure)
        std::rethrow_exception(std::exchange(failure, nullptr));
}

} // namespace app
