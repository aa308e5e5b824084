// An operation as a line of JSON, in the words of NCCL's own Inspector where it has them, so that readers of its files read
// these; what it has no words for stands under "rankscope".
#pragma once

#include "live/nccl_profiler/recorder.h"

#include <cstdint>
#include <string>

namespace live::nccl_profiler {

/// The process, as far as it knows itself.
struct ProcessWords {
    std::string host;
    long pid = 0;
    int rank = -1, worldSize = 0; ///< as the launcher's environment says; -1, 0: it does not
    std::int64_t epochNs = 0;     ///< what to add to the host's steady clock for nanoseconds since 1970
};

/// Each appends to `to`, a line with its end.
void appendProcessLine(std::string& to, const ProcessWords&, int interfaceVersion, const Recorder::Lost&, std::int64_t nowNs);
/// Whose what follows is.
void appendCommunicatorLine(std::string& to, const Communicator&);
void appendOperationLine(std::string& to, const ProcessWords&, const Communicator&, const Finished&);

/// From when to when it ran and how much of that it waited for its peers, on the host's steady clock.
struct RunTimes {
    std::int64_t startNs = kNoTime, stopNs = kNoTime; ///< kNoTime: not begun, not ended
    std::int64_t waitNs = kNoTime; ///< from the start to the first message of the last peer; kNoTime: not known
    const char* source = "none";   ///< "kernel_gpu", "kernel_cpu", "proxy": whose times these are
};
RunTimes timesOf(const Execution&);

} // namespace live::nccl_profiler
