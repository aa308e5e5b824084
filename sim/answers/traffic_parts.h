// What the answer about traffic is made of, for the command that prints it as a table.
#pragma once

#include "sim/analysis/traffic/link_load.h"
#include "sim/simulate/simulation.h"

namespace sim {

/// Of the whole step.
LinkLoad loadOfStep(const Simulation&, const TrafficSenders&);

} // namespace sim
