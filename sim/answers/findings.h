// What an answer says beside its numbers. Private to sim/answers.
#pragma once

#include "sim/answers/answers.h"

namespace sim {

/// Adds to "findings" that the scenario's memory cap is not kept.
void addMissedCap(Answer&, const Simulation&);

} // namespace sim
