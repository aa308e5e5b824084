// A coroutine that computes a T and may wait for communication on its way. Lazy: runs when awaited. One owner.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace live {

template <class T>
class Task;

namespace detail {

struct TaskPromiseBase {
    std::coroutine_handle<> continuation;
    std::exception_ptr exception;
    /// Who came first: the task to its end, or the one that awaits it to its pause. The second of them goes on.
    std::atomic<bool> met{false};

    struct FinalAwaiter {
        bool await_ready() noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) noexcept
        {
            TaskPromiseBase& promise = handle.promise();
            const std::coroutine_handle<> waiter = promise.continuation;
            return promise.met.exchange(true, std::memory_order_acq_rel) ? waiter : std::noop_coroutine();
        }
        void await_resume() noexcept {}
    };
    std::suspend_always initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    void unhandled_exception() { exception = std::current_exception(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
    std::optional<T> value;
    Task<T> get_return_object();
    void return_value(T result) { value.emplace(std::move(result)); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
    Task<void> get_return_object();
    void return_void() {}
};

} // namespace detail

template <class T = void>
class Task {
public:
    using promise_type = detail::TaskPromise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    Task() = default;
    explicit Task(Handle handle) : m_handle(handle) {}
    Task(Task&& other) noexcept : m_handle(std::exchange(other.m_handle, {})) {}
    Task& operator=(Task&& other) noexcept
    {
        std::swap(m_handle, other.m_handle);
        return *this;
    }
    ~Task()
    {
        if (m_handle)
            m_handle.destroy();
    }

    bool await_ready() const noexcept { return false; }
    /// Runs the task as a call, and pauses only if it does: a chain of tasks that never wait needs no deeper stack than calls
    /// would, whether or not the compiler turns resumptions into jumps (GCC does from -O2 on, and not with all sanitizers).
    bool await_suspend(std::coroutine_handle<> continuation)
    {
        auto& promise = m_handle.promise();
        promise.continuation = continuation;
        m_handle.resume();
        // If it ends on another worker from here on, that one resumes the continuation and this object may be gone.
        return !promise.met.exchange(true, std::memory_order_acq_rel);
    }
    T await_resume() { return result(); }

    Handle handle() const { return m_handle; }
    bool done() const { return m_handle.done(); }
    /// Of a finished task: its value, or throws what it threw.
    T result()
    {
        if (m_handle.promise().exception)
            std::rethrow_exception(m_handle.promise().exception);
        if constexpr (!std::is_void_v<T>)
            return std::move(*m_handle.promise().value);
    }

private:
    Handle m_handle;
};

namespace detail {
template <class T>
Task<T> TaskPromise<T>::get_return_object()
{
    return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object()
{
    return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}
} // namespace detail

} // namespace live
