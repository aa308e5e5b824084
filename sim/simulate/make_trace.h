// A simulated step as a trace: one process a class of ranks. Private to sim/simulate.
#pragma once

#include "sim/engine/engine.h"
#include "sim/simulate/simulation.h"

namespace sim {

Trace makeTrace(const Simulation&, TraceDetail);

} // namespace sim
