// Ctrl-C that ends some work, and not the program.
#pragma once

#include "sim/cancel.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>

namespace sim::cli {

/// While it lives Ctrl-C cancels what this thread does; so do the signals of who ends programs (kill, timeout, batch systems) and
/// of a terminal that closes, but for nohup's.
class UntilInterrupted {
public:
    UntilInterrupted()
    {
        s_isInterrupted = false;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            m_before[i] = std::signal(kSignals[i], interrupt);
            if (kSignals[i] == SIGHUP && m_before[i] == SIG_IGN)
                std::signal(SIGHUP, SIG_IGN);
        }
    }
    ~UntilInterrupted()
    {
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            std::signal(kSignals[i], m_before[i]);
    }
    UntilInterrupted(const UntilInterrupted&) = delete;
    UntilInterrupted& operator=(const UntilInterrupted&) = delete;

private:
    static constexpr std::array kSignals{SIGTERM, SIGHUP, SIGINT};
    static void interrupt(int) { s_isInterrupted = true; }
    static inline std::atomic<bool> s_isInterrupted = false;
    std::array<void (*)(int), kSignals.size()> m_before{};
    CancelScope m_scope{s_isInterrupted};
};

} // namespace sim::cli
