// What a training run of so many tokens takes, where the scenario says how many: steps of this length, one after the other,
// without failures and pauses.
#pragma once

#include "sim/simulate/simulation.h"

#include <optional>
#include <string>

namespace sim {

struct WholeRun {
    double tokens = 0;
    double steps = 0; ///< whole: the last one may have more tokens than are left
    double days = 0;
    double gpuHours = 0;
    std::string text() const; ///< "15.6 trillion tokens: 929,833 steps, 54.2 days, 21,300,000 GPU hours"
};

/// Nothing where training.tokens is not given.
std::optional<WholeRun> wholeRun(const Simulation&);

} // namespace sim
