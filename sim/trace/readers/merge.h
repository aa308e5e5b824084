// Recordings of several files as one.
#pragma once

#include "sim/trace/recording.h"

namespace sim {

/// Adds what another file told: names, groups and meanings become one. Ranks stand behind those that are there, until
/// arrangeRanks().
void mergeRecording(Recording& into, Recording&& from);
/// Orders by rank, and joins files of one rank: of other recorders, or of other times. Where two of one recorder say they are the
/// same rank at the same time, the second becomes an unknown one, and a problem says so.
void arrangeRanks(Recording&);

/// Members of groups that the world does not have are left out, and said; so are ranks beyond the world said. Files without any
/// event are said to be so.
void checkWorld(Recording&);

} // namespace sim
