// Ending work that nobody waits for any more. Whoever runs a job opens a CancelScope around it; whatever takes long looks now and
// then whether it still has to go on, and ends with Cancelled if not. The scope belongs to the thread: nothing has to be handed
// through the functions in between, and nothing below can be reached by a call that forgot to.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <utility>

namespace sim {

/// No Error: nobody has to be told anything, and who catches those must not take it for one.
class Cancelled : public std::exception {
public:
    const char* what() const noexcept override { return "cancelled"; }
};

/// While it lives, what this thread does can be cancelled. Scopes nest: an inner one ends with those around it too.
class CancelScope {
public:
    /// `flag` is set by another thread, and outlives the scope.
    explicit CancelScope(const std::atomic<bool>& flag) : CancelScope([&flag] { return flag.load(std::memory_order_relaxed); }) {}
    /// Asked hundreds of times a second or more, by this thread and by those that help it (any of them at once).
    explicit CancelScope(std::function<bool()> isCancelled) : m_isCancelled(std::move(isCancelled)), m_around(s_innermost)
    {
        s_innermost = this;
    }
    ~CancelScope() { s_innermost = m_around; }
    CancelScope(const CancelScope&) = delete;
    CancelScope& operator=(const CancelScope&) = delete;

    bool isCancelled() const
    {
        for (const CancelScope* scope = this; scope != nullptr; scope = scope->m_around)
            if (scope->m_isCancelled())
                return true;
        return false;
    }
    /// Of this thread; null where none was opened. A thread that helps opens one that asks it.
    static const CancelScope* current() { return s_innermost; }

private:
    std::function<bool()> m_isCancelled;
    const CancelScope* m_around;
    static inline constinit thread_local const CancelScope* s_innermost = nullptr;
};

/// False on a thread without a scope. A few nanoseconds.
inline bool cancelRequested()
{
    const CancelScope* scope = CancelScope::current();
    return scope != nullptr && scope->isCancelled();
}

/// Throws Cancelled if so. For loops whose rounds take a microsecond or more.
inline void checkCancelled()
{
    if (cancelRequested())
        throw Cancelled();
}

/// The same for loops of short rounds: looks once in some thousand of them.
class CancelPoll {
public:
    /// `rounds`: how many short rounds this one is as long as.
    void operator()(std::size_t rounds = 1)
    {
        if (rounds < m_left) {
            m_left -= rounds;
            return;
        }
        m_left = kRoundsALook;
        checkCancelled();
    }

private:
    static constexpr std::size_t kRoundsALook = 8192;
    std::size_t m_left = kRoundsALook;
};

} // namespace sim
