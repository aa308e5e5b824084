#include "live/runtime/watchdog.h"

#include "live/record/flight_record.h"
#include "live/runtime/run.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace live {

class Watchdog::Thread {
public:
    Thread(Run& run, std::chrono::milliseconds deadline) : m_run(run), m_deadline(deadline), m_thread([this] { watch(); }) {}
    ~Thread()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_stop = true;
        }
        m_wake.notify_all();
        m_thread.join();
    }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

private:
    void watch()
    {
        std::vector<const FlightRecord*> records;
        for (Rank* rank : m_run.ranks())
            records.push_back(&rank->context().flight);
        const auto interval = std::clamp(m_deadline / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
        std::unique_lock lock(m_mutex);
        while (!m_wake.wait_for(lock, interval, [&] { return m_stop; })) {
            const std::string stall =
                describeStall(records, nowNs(), std::chrono::duration_cast<std::chrono::nanoseconds>(m_deadline).count());
            if (stall.empty())
                continue;
            m_run.abort("nothing moved for too long: " + stall);
            return;
        }
    }

    Run& m_run;
    const std::chrono::milliseconds m_deadline;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    bool m_stop = false;
    std::thread m_thread;
};

Watchdog::Watchdog(Run& run, std::chrono::milliseconds deadline) : m_thread(std::make_unique<Thread>(run, deadline)) {}

Watchdog::~Watchdog() = default;

} // namespace live
