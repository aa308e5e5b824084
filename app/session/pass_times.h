// How long the passes of a simulated step take, for weighing other schedules of the same job without simulating each.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

#include <vector>

namespace app {

struct MeasuredPasses {
    std::vector<sim::PassTimes> times; ///< nanoseconds; one entry a part of the model
    std::vector<int> layers;           ///< of each part
    /// False: the schedule has full backwards only, and each was halved into input and weight gradient.
    bool splitIsMeasured = false;
};

/// Medians over micro-batches of a trace of actions; `comm` is the shortest time from the end of a pass to the start of one that
/// waits for it on another rank. Parts without a pass of a kind get 0.
MeasuredPasses measurePasses(const sim::Trace&, const sim::Schedule&, std::vector<int> layersOfParts);

/// The same model cut into other parts. Where the cut is the same each part keeps its times; else a layer takes what it takes
/// where that is least, and what the first and last part need beyond their layers (embedding, head) stays at the ends.
std::vector<sim::PassTimes> passTimesFor(const MeasuredPasses&, const sim::Schedule&, const std::vector<int>& layersOfParts);

} // namespace app
