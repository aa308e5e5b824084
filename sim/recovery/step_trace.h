// A recorded step as the Trace that everything draws: passes, streams with kernels by what they are for, communication by axis
// with the wait for the last member apart from the transfer; on one clock, from the step's begin on.
#pragma once

#include "sim/recovery/arrivals.h"
#include "sim/recovery/recover.h"
#include "sim/trace/recording.h"
#include "sim/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

struct StepTraceOptions {
    bool hostThreads = false; ///< rows of the host's threads, too: operators, launches, annotations
    /// Of further ranks only who they are. Above it for one rank alone: throws Error, with how many there are.
    std::size_t mostSpans = 20'000'000;
    /// The rank (index into RunEvidence::ranks) that is drawn whatever their number, with those after it, then those before it.
    std::size_t around = 0;
};

struct StepTrace {
    Trace trace;               ///< process i is RunEvidence::ranks[i]
    std::int64_t originNs = 0; ///< what the recording's one clock says at 0
    std::vector<bool> isDrawn; ///< [process] has rows; not all where these would be too many spans
};

/// `step` is an index into RecoveredSteps::steps. Only what begins within a rank's own step is in it. A kernel is of the pass
/// that it runs in; where no pass is marked, what nodes of autograd launch is backward, what an optimizer's annotation
/// covers is the optimizer's, and the rest of such a rank forward. `arrivals` as arrivalsOf() made them: collectives that are not
/// in it are not cut into wait and transfer. O(spans log spans).
StepTrace stepTrace(const Recording&, const Recovered&, const Arrivals&, std::size_t step, const StepTraceOptions& = {});

/// The same as one lane a rank (sim/trace/time_use.h), of any number of spans: made rank by rank, of which no streams are kept.
StepTrace timeUseOfStep(const Recording&, const Recovered&, const Arrivals&, std::size_t step);
/// The same of several: the run is gone over once.
std::vector<StepTrace> timeUseOfSteps(const Recording&, const Recovered&, const Arrivals&, const std::vector<std::size_t>& steps);

} // namespace sim
