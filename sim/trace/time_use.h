// What every rank spends its time on, one lane each: a step's picture where streams and kernels are too many to be seen.
#pragma once

#include "sim/trace/trace.h"

#include <cstdint>

namespace sim {

/// One lane a process, on which every instant counts once: for computing (under the name of the action it belongs to), else for a
/// transfer that nothing hides, else for a wait; what is empty went to the host. Gaps within an action that are too short to be
/// seen beside the whole step are closed, so processes say how long something computed. Without flows. O(spans log spans).
Trace timeUseTrace(const Trace&);

/// How long from 0 to `wholeNs`, in a step, something computed on any of a process's rows of computing, each instant once; -1: it
/// has no such row. O(spans log spans).
std::int64_t computingNs(const Trace&, int process, std::int64_t wholeNs);

/// The lane of one process. `wholeNs`: of the step, beside which gaps are to be seen.
Track timeUseTrack(const Trace&, int process, std::int64_t wholeNs);

} // namespace sim
