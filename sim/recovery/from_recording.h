// What recovery goes by, out of what a reader has read.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/trace/recording.h"

namespace sim {

/// Ranks that nobody can number are left out, and said. O(spans log spans).
RunEvidence evidenceOf(const Recording&);

} // namespace sim
