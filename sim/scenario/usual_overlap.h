// What runs beside computing where a scenario does not say: one rule for those who read scenarios and those who try other
// layouts.
#pragma once

#include "sim/scenario/scenario.h"

namespace sim {

/// `training.overlap.param_gather` of the scenario's stage of ZeRO and software.
inline bool usuallyGathersAhead(const Scenario& scenario)
{
    return scenario.layout.zeroStage < 3 || scenario.training.stack.gathersAhead;
}

/// Another stage of ZeRO, as a file is with it: what it says of gathering stays, what followed from the stage follows again.
inline void setZeroStage(Scenario& scenario, int stage)
{
    Overlap& overlap = scenario.training.overlap;
    scenario.layout.zeroStage = stage;
    if (!overlap.saysParamGather.yes)
        overlap.paramGather = usuallyGathersAhead(scenario);
}

} // namespace sim
