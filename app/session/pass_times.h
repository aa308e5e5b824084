// How long the passes of a simulated step take, for timing other orders of them without simulating each.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

#include <vector>

namespace app {

/// Medians over micro-batches of a trace of actions, in nanoseconds; one entry a part of the model. `comm` is the shortest time
/// from the end of a pass to the start of one that waits for it on another rank. Full backwards are halved into input and weight
/// gradient where none is split. Parts without a pass of a kind get 0.
std::vector<sim::PassTimes> measurePasses(const sim::Trace&, const sim::Schedule&);

} // namespace app
