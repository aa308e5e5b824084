// Where the goodput of a job that fails comes from.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/goodput.h"

namespace sim {

/// `what` is the simulation's.
Explanation explainGoodput(const Simulation&, const Goodput& what);

} // namespace sim
