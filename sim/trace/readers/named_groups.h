// Process groups that calls know by name alone.
#pragma once

#include "sim/trace/recording.h"

namespace sim {

/// Of a whole file: calls that name their group and not its members are of the group of that name and size that the file lists
/// with the rank in it, where there is one such.
void joinNamedGroups(Recording&);

} // namespace sim
