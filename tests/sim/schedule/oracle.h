// A second, slow opinion on schedules, written without the library's walk: a graph of passes, and random requests to ask about.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"

#include <optional>
#include <random>
#include <vector>

namespace oracle {

/// End of every action as the longest path through the graph of dependencies and list order; nothing if the graph has a cycle.
/// The schedule must be complete. O(actions^2) at worst.
std::optional<std::vector<std::vector<double>>> longestPath(const sim::Schedule&, const sim::PassTimes&);

/// A request that a generating family serves.
sim::ScheduleRequest randomRequest(std::mt19937&);

/// The schedule with every backward cut into I and W, the W somewhere later in the rank's list.
sim::Schedule withSplitBackwards(const sim::Schedule&, std::mt19937&);

} // namespace oracle
