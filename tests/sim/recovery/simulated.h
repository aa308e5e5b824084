// What recordings of simulated runs are made of: every rank of a step.
#pragma once

#include "sim/simulate/simulation.h"

#include <memory>

namespace test {

inline std::shared_ptr<const sim::Simulation> simulated(const sim::Scenario& scenario)
{
    return sim::simulate(scenario, {.full = true});
}

} // namespace test
