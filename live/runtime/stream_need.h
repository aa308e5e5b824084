// Whether a GPU has a hardware queue for each stream of its ranks, known before the run from its plan, and with how many GPUs it
// has.
#pragma once

#include "live/runtime/comm_plan.h"

#include <string>

namespace live {

/// Where neighbouring ranks share so many GPUs, a process each: why the streams of one of them are too many, with the nearest
/// numbers of GPUs with which they are not; "" where they are not. O(requests of a step), where they are for each number that is
/// tried.
std::string whyTooManyStreams(const CommPlan&, int gpus);

} // namespace live
