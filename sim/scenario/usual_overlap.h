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

/// Another stage of ZeRO: what was gathered as usual is gathered as usual there.
inline void setZeroStage(Scenario& scenario, int stage)
{
    bool& gathersAhead = scenario.training.overlap.paramGather;
    const bool isUsual = gathersAhead == usuallyGathersAhead(scenario);
    scenario.layout.zeroStage = stage;
    if (isUsual)
        gathersAhead = usuallyGathersAhead(scenario);
}

} // namespace sim
