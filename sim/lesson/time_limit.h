// A lesson from anybody may name sixty cases that each take seconds: what works one out as a whole ends after a time, and says
// so.
#pragma once

#include "sim/cancel.h"
#include "sim/lesson/lesson.h"

#include <chrono>
#include <string>

namespace sim {

/// Forty times what one of the course's may take, on a slow machine.
inline constexpr std::chrono::seconds kLongestLesson{20};

/// What `work` gives. Throws ScenarioError where it takes longer than `longest`; Cancelled, as ever, where nobody waits for it.
template <typename Work>
auto withinTime(const std::string& fileName, Work&& work, std::chrono::milliseconds longest = kLongestLesson)
{
    const auto end = std::chrono::steady_clock::now() + longest;
    try {
        const CancelScope scope([end] { return std::chrono::steady_clock::now() > end; });
        return work();
    } catch (const Cancelled&) {
        if (cancelRequested()) // by those around
            throw;
        throw ScenarioError(
            {{fileName, "/cases",
              "the lesson takes more than " + std::to_string(longest.count() / 1000) +
                  " s to work out, where half a second is usual; take fewer cases, smaller ones, or fewer searched "
                  "schedules"}});
    }
}

} // namespace sim
