// The spans of all processes of a run in one history: process 0 attaches to the others' publishers as a viewer does, moves their
// times onto its own clock and writes them into recorders that its collector reads like those of its own ranks.
#pragma once

#include "live/record/recorder.h"
#include "live/stream/viewer.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace live {

struct SpanSource {
    std::string endpoint;           ///< the process's publisher
    std::optional<ViewerKeys> keys; ///< where it is on another machine
    /// This clock = its clock + what this gives for a time of its clock (comm/clock_sync.h). Called on a thread of its own.
    std::function<std::int64_t(std::int64_t)> offsetAt;
};

class SpanGatherer {
public:
    /// recorders: by rank, null for ranks that are not gathered; kinds: those of this process. Both must outlive it.
    SpanGatherer(const std::vector<SpanSource>&, SpanKinds& kinds, std::vector<Recorder*> recorders);
    ~SpanGatherer();
    SpanGatherer(const SpanGatherer&) = delete;
    SpanGatherer& operator=(const SpanGatherer&) = delete;

    /// Waits until all sources have said that they are done, at most so long; returns whether they have.
    bool finish(std::chrono::milliseconds atMost);

private:
    class Thread;
    std::unique_ptr<Thread> m_thread;
};

} // namespace live
