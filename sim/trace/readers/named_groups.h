// Process groups that calls know by name alone.
#pragma once

#include "sim/trace/recording.h"

namespace sim {

/// Of a file, or of all files of a run: calls that name their group and not its members are of the group of that name and size
/// that is listed with the rank in it, where there is one such.
void joinNamedGroups(Recording&);

} // namespace sim
