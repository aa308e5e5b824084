// A layout's numbers from its simulation. Private to sim/planner.
#pragma once

#include "sim/planner/planner.h"
#include "sim/simulate/simulation.h"

#include <vector>

namespace sim {

inline constexpr double kSecondsPerDay = 86400;

/// All but its floors, of a request whose global batch is `batches` of the layout's. `price`: of a GPU for an hour.
PlannedLayout plannedLayout(const PlanGrid&, std::vector<PlanSetting>, const Simulation&, double price, double batches = 1);

} // namespace sim
