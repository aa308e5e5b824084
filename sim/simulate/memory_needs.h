// What a step and its trace take, told before they are allocated.
#pragma once

#include "sim/engine/classes.h"
#include "sim/program/program.h"
#include "sim/simulate/options.h"

namespace sim {

struct MemoryRequest {
    const Scenario& scenario;
    bool full = false; ///< every rank is simulated one by one
    double limitBytes = 0;
};

/// Throws ScenarioError, with the key, the numbers and what would do, if running the program for all classes would take more than
/// the limit.
void requireMemoryForStep(const Program&, const RankClasses&, const MemoryRequest&);
/// The same of the step with its trace.
void requireMemoryForTrace(const Program&, const RankClasses&, TraceDetail, const MemoryRequest&);

} // namespace sim
