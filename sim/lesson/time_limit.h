// A lesson from anybody may name sixty cases that each take seconds: what works one out as a whole ends after a time, and says
// so. The time is the processor's: by the clock a good lesson would be a bad one wherever others want the machine.
#pragma once

#include "sim/cancel.h"
#include "sim/lesson/lesson.h"

#include <chrono>
#include <ctime>
#include <pthread.h>
#include <string>

namespace sim {

/// Forty times what one of the course's may take, on a slow machine.
inline constexpr std::chrono::seconds kLongestLesson{20};

/// Since it was made, of the thread that made it; while that one lives any thread may ask.
class ProcessorTime {
public:
    ProcessorTime()
    {
        pthread_getcpuclockid(pthread_self(), &m_clock);
        m_before = now();
    }
    bool isMoreThan(std::chrono::nanoseconds limit) const
    {
        // A thread has at most the clock's time, which is asked without the system.
        return std::chrono::steady_clock::now() - m_begun > limit && now() - m_before > limit;
    }

private:
    std::chrono::nanoseconds now() const
    {
        std::timespec time{};
        clock_gettime(m_clock, &time);
        return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }

    clockid_t m_clock = CLOCK_THREAD_CPUTIME_ID;
    std::chrono::steady_clock::time_point m_begun = std::chrono::steady_clock::now();
    std::chrono::nanoseconds m_before{};
};

/// What `work` gives. Throws ScenarioError where this thread works longer than `longest`; Cancelled, as ever, where nobody waits
/// for it.
template <typename Work>
auto withinTime(const std::string& fileName, Work&& work, std::chrono::milliseconds longest = kLongestLesson)
{
    const ProcessorTime spent;
    try {
        const CancelScope scope([&] { return spent.isMoreThan(longest); });
        return work();
    } catch (const Cancelled&) {
        if (cancelRequested()) // by those around
            throw;
        throw ScenarioError({{fileName, "/cases",
                              "the lesson takes more than " + std::to_string(longest.count() / 1000) +
                                  " s of processor time to work out, where half a second is usual; take fewer cases, "
                                  "smaller ones, or fewer searched schedules"}});
    }
}

} // namespace sim
