// Ends a run that hangs: in which some rank waits and nothing has moved on any process for as long as the deadline says. A rank
// that computes moves, however long its kernels take.
#pragma once

#include <chrono>
#include <thread>

namespace live {

class Run;
class Store;

class Watchdog {
public:
    /// store: of a run of several processes, which tell each other that they move. Both must outlive it.
    Watchdog(Run&, std::chrono::milliseconds deadline, Store* store = nullptr);

private:
    std::jthread m_thread;
};

} // namespace live
