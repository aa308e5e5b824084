// A chain of what was waited for, one after the other, as lines for a person.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// What ran for a part of a wait, and how long.
struct WaitedFor {
    std::string text; ///< "B0 of pp 1, 2 ms"
    std::int64_t ns = 0;
};

/// "waits for A", "which waits for B", …: a line each, from the wait's end back; of a long chain the middle is one line.
/// `isStepsEnd`: nothing follows the wait.
std::vector<std::string> waitLines(const std::vector<WaitedFor>&, bool isStepsEnd);

} // namespace sim
