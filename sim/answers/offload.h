// What the hosts hold of a step that offloads.
#pragma once

#include "sim/answers/answers.h"

namespace sim {

/// Adds "offload": in use of a host's memory, what it has, and whether that suffices. Nothing where nothing is offloaded.
void addOffload(Answer&, const Simulation&);

} // namespace sim
