// A recording as the Trace that everything draws.
#pragma once

#include "sim/trace/recording.h"

#include <functional>

namespace sim {

/// What a span of the recording is: its class, by rank's place and span.
using ClassifySpan = std::function<OpClass(std::size_t rank, std::uint32_t span)>;

/// One process a rank, one track a stream or thread, in the recording's order; spans of a row that was dealt out because they
/// overlap
/// ("compute (2)") come back to it. Times begin at the first span, but for Rankscope's own files, which have their start. Without
/// `classify`: what Rankscope's own files say; of others sends and receives are pp, other collectives dp, copies host transfers.
/// Members of one collective share a correlation where group and sequence, or the file itself, tell who they are.
Trace recordedTrace(const Recording&, const ClassifySpan& classify = {});

/// The same with all that a reader of the file needs to say what the recording says: spans in their recorders' words, collectives
/// with what they moved and among whom, launches, groups, and the times of the recorder. Not kept: forward-backward links,
/// collectives that no span is of, and what reading has left out.
Trace traceToWrite(const Recording&);

} // namespace sim
