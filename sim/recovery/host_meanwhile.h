// What the host of a rank was in while its device idled and others waited.
#pragma once

#include "sim/recovery/busy_time.h"
#include "sim/recovery/evidence.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

/// As toldMark() has it, the innermost annotation that covers most of what the rank's device idles in `when`; "" where it does
/// not idle, or none does. O(spans log spans).
std::string hostMeanwhile(const RunEvidence&, std::size_t rank, std::vector<BusyTime::Span> when);

} // namespace sim
