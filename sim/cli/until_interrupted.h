// Ctrl-C that ends some work, and not the program.
#pragma once

#include "sim/cancel.h"

#include <atomic>
#include <csignal>

namespace sim::cli {

/// While it lives Ctrl-C cancels what this thread does.
class UntilInterrupted {
public:
    UntilInterrupted() : m_before((s_isInterrupted = false, std::signal(SIGINT, interrupt))) {}
    ~UntilInterrupted() { std::signal(SIGINT, m_before); }
    UntilInterrupted(const UntilInterrupted&) = delete;
    UntilInterrupted& operator=(const UntilInterrupted&) = delete;

private:
    static void interrupt(int) { s_isInterrupted = true; }
    static inline std::atomic<bool> s_isInterrupted = false;
    void (*m_before)(int);
    CancelScope m_scope{s_isInterrupted};
};

} // namespace sim::cli
