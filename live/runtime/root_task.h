// A rank's step as something the pool can run: starts when posted, frees itself, tells when it is over and how.
#pragma once

#include "live/tasks/task.h"

#include <coroutine>
#include <exception>
#include <functional>

namespace live {

struct RootTask {
    struct promise_type {
        RootTask get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() noexcept { std::terminate(); } // the body catches all
    };
    std::coroutine_handle<> handle;
};

/// over(exception): null when the task ended well. Called on the worker that ran the task's last part.
inline RootTask runToEnd(Task<> task, std::function<void(std::exception_ptr)> over)
{
    std::exception_ptr failure;
    try {
        co_await task;
    } catch (...) {
        failure = std::current_exception();
    }
    task = Task<>(); // gone before anyone hears that it is over
    over(failure);
}

} // namespace live
