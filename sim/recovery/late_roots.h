// With whom a rank's lateness begins: who comes last somewhere may have been kept by another that came late before.
#pragma once

#include "sim/recovery/arrivals.h"

#include <cstdint>
#include <vector>

namespace sim {

/// For each of the arrivals the rank that it begins with: the last to come, or, where that is late because it waited longer than
/// its fellows in collectives and receives since their last meeting, the one with whom most of that waiting begins. Of what a
/// receive waits only that counts which it waits longer than those of other replicas of its pipeline. `arrivals` by lastStartNs.
/// O(parts log parts).
std::vector<std::uint32_t> lateRoots(const Recovered&, const std::vector<Arrival>& arrivals);

} // namespace sim
