// Recorded spans as a sim::Trace of the simulator's shape: one process a rank ("rank 5 (dp0 pp1 cp0 tp1)"), tracks "actions",
// "compute", "tp comm"…, flows from sends to receives, collectives correlated, a counter "memory".
//
// A communication becomes one or two spans: the wait until its last member has arrived ("wait tp", of class other) where that
// took longer than the stamps themselves, and the transfer, which carries the communication's name, class and correlation.
#pragma once
#include "live/stream/history.h"
#include "sim/trace/trace.h"

#include <cstdint>
#include <span>

namespace live {

/// Spans and memory may be of any ranks and come in any order; those of unknown ranks or kinds are an assertion. Times count from
/// the first span; without spans there is no memory either. O(n log n).
sim::Trace makeTrace(const RunDescription&, std::span<const sim::SpanKind> kinds, std::span<const RankSpan> spans,
                     std::span<const RankMemory> memory = {});
/// Of the steps in the range of which spans are kept; all by default.
sim::Trace makeTrace(const RunHistory&);
sim::Trace makeTrace(const RunHistory&, RunHistory::StepRange);

/// A collective's or transfer's id in a trace of several steps.
std::uint64_t correlationInTrace(const SpanRecord&);

} // namespace live
