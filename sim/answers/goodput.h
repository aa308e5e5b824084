// What simulate --json says of failures. Private to sim/answers.
#pragma once

#include "sim/analysis/goodput.h"
#include "sim/answers/answers.h"

namespace sim {

/// "goodput", where the scenario has failures.
void addGoodput(Answer&, const Simulation&);

} // namespace sim
