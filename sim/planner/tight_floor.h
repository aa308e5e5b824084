// A tighter floor of one layout: its own program, lowered as for the engine, each pass laid behind the one before and behind the
// message that it waits for; and what its fullest rank holds, which is the engine's number, since memory follows the order in
// which ops are issued. Of what shares links and disturbs kernels that is counted which cannot be otherwise (stream_clock.h);
// what is left out only makes a step longer. Private to sim/planner.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/simulate/plan_schedule.h"

namespace sim {

struct TightFloor {
    double stepNs = 0;
    double peakBytes = 0; ///< of the fullest rank, model states included
    int fullestRank = 0;  ///< pipeline coordinate
};

/// Throws what planSchedule and lowerProgram do. O(passes' ops, steps).
TightFloor tightFloor(const Scenario&, const PassCostsOf& costsOf = measurePassCosts);

} // namespace sim
