// How long the passes of a simulated step take, for weighing other schedules of the same job without simulating each.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

#include <vector>

namespace app {

struct MeasuredPasses {
    std::vector<sim::PassTimes> times; ///< nanoseconds; one entry a part of the model
    /// False: the schedule has full backwards only, and each was halved into input and weight gradient.
    bool splitIsMeasured = false;
};

/// Medians over micro-batches of a trace of actions; `comm` is the shortest time from the end of a pass to the start of one that
/// waits for it on another rank. Parts without a pass of a kind get 0.
MeasuredPasses measurePasses(const sim::Trace&, const sim::Schedule&);

/// The same work cut as another schedule cuts it. Where the number of parts is the same each keeps its times; else they are
/// spread evenly.
std::vector<sim::PassTimes> passTimesFor(const MeasuredPasses&, const sim::Schedule&);

} // namespace app
