// Why ranks of a live run wait: its step recovered from what was recorded, as that of a file is.
#pragma once

#include "app/step/shown_step.h"
#include "sim/trace/trace.h"

#include <string>

namespace app {

struct LiveWaits {
    RecordedWaitsPtr waits; ///< of processes and times of the trace
    std::string whyNone;    ///< where they are not known
};
/// Of every span of one step; may be taken to another thread. Throws nothing but sim::Cancelled. O(spans log spans), some
/// microseconds a span.
LiveWaits liveWaits(const sim::Trace& kernels);

} // namespace app
