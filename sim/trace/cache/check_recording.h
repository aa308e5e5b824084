// Whether a recording is whole in itself: what readers promise, asked of bytes that no reader of ours need have written.
#pragma once

#include "sim/trace/recording.h"

namespace sim {

/// Throws Error with the first thing that is wrong in what ranks share: places beyond their lists, ranks out of order, flows
/// that end at no span.
void checkShared(const Recording&, const std::vector<std::size_t>& spansOfRank);
/// The same of one rank, which need not be in the recording: columns of one length, places within them, times that can be added
/// and subtracted, rows that follow each other in order of start.
void checkRank(const RankRecording&, const Recording& shared);

} // namespace sim
