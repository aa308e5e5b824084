// The schedule families. A family is one file that defines how it places stages and orders actions; families.cpp lists them.
#pragma once

#include "sim/schedule/request.h"
#include "sim/schedule/schedule.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sim {

/// What a family promises; `make` may assume that `unmet` returned nothing.
struct ScheduleFamily {
    std::string_view kind;                  ///< the contract's key
    std::string_view title;                 ///< for people: "Interleaved 1F1B"
    std::string_view character;             ///< one line: what it trades for what
    std::string_view source;                ///< paper or code
    int minVirtualStages, maxVirtualStages; ///< 0 = no upper limit
    /// What the request violates, with the numbers and the nearest legal values; nothing when it can be made.
    std::optional<std::string> (*unmet)(const ScheduleRequest&);
    Schedule (*make)(const ScheduleRequest&);
    bool plansByCost = false; ///< looks at times and memory of the request
};

std::span<const ScheduleFamily> scheduleFamilies();
const ScheduleFamily* findScheduleFamily(std::string_view kind);

/// Throws Error: unknown kind (nearest named), not available yet, or a constraint unmet.
Schedule makeSchedule(const ScheduleRequest&);

} // namespace sim
