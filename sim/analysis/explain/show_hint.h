// Where to look for what a finding or an explanation speaks of. Plain data: who shows it decides how.
#pragma once

#include "sim/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

struct TimeSpan {
    std::int64_t beginNs = 0, endNs = 0;
    bool operator==(const TimeSpan&) const = default;
};

struct ShowHint {
    std::vector<std::string> pictures = {}; ///< names of pictures, the best first: "memory", "timeline", …
    std::vector<int> ranks = {};            ///< ascending; empty: no matter which
    std::optional<TimeSpan> range = {};     ///< nothing: the whole step
    std::vector<OpClass> classes = {};      ///< empty: all
    bool longestWait = false;               ///< the longest time in which a rank computes nothing, and what it waits for
    /// Whether there is something to select, or a picture to bring up that does not stand there as long as nobody hides it.
    bool pointsSomewhere() const
    {
        return !ranks.empty() || range || !classes.empty() || longestWait ||
               (!pictures.empty() && pictures.front() != "timeline" && pictures.front() != "grid");
    }
    bool operator==(const ShowHint&) const = default;
};

} // namespace sim
