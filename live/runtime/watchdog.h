// Ends a run that hangs: looks at the ranks' flight records and aborts, with a message that says who waits for whom, when a
// communication or an action takes longer than the deadline.
#pragma once

#include <chrono>
#include <memory>

namespace live {

class Run;

class Watchdog {
public:
    Watchdog(Run&, std::chrono::milliseconds deadline);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    class Thread;
    std::unique_ptr<Thread> m_thread;
};

} // namespace live
