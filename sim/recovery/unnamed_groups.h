// Groups of kernels whose group no file names.
#pragma once

#include "sim/recovery/evidence.h"

namespace sim {

/// Groups by who meets whom, for kernels whose group is unknown: ranks that a chain of transfers joins, and ranks whose streams
/// run the same sequence of kernels and end them together (but for a constant: their clocks). Adds them to `groups` with their
/// evidence and sets CommSpan::group.
void groupByMeetings(RunEvidence&);

} // namespace sim
