// Ends a run that hangs: looks at the ranks' flight records and aborts, with a message that says who waits for whom, when a
// communication or an action takes longer than the deadline.
#pragma once

#include <chrono>
#include <thread>

namespace live {

class Run;

class Watchdog {
public:
    Watchdog(Run&, std::chrono::milliseconds deadline);

private:
    std::jthread m_thread;
};

} // namespace live
