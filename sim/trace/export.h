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
/// By the ending, .pftrace or .json; atomic. Throws Error for another ending or a failing disk.
void saveTrace(const Trace&, const std::filesystem::path&);

} // namespace sim
