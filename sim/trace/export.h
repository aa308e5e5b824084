// Trace files that others open: Perfetto protobuf and Chrome trace events.
#pragma once

#include "sim/trace/trace.h"

#include <filesystem>
#include <iosfwd>

namespace sim {

/// ui.perfetto.dev: one process a rank, one thread a track, flows, correlation ids, counters.
void writePerfetto(const Trace&, std::ostream&);
/// chrome://tracing, Perfetto, TensorBoard: complete events (ts, dur in microseconds with 3 decimals), s/f flows, C counters, M
/// names.
void writeChromeJson(const Trace&, std::ostream&);
/// Throws the Error that saveTrace() would: for another ending, a folder that is not there or cannot be written to. For those who
/// work long before they save.
void checkTraceDestination(const std::filesystem::path&);
/// What is wrong with the name of a trace to be written; empty if nothing is.
std::string traceNameProblem(const std::filesystem::path&);
/// By the ending, .pftrace or .json; atomic. Throws Error for another ending or a failing disk.
void saveTrace(const Trace&, const std::filesystem::path&);

} // namespace sim
