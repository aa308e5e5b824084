// A simulated step as a trace: one process a class of ranks. Private to sim/analysis.
#pragma once

#include "sim/engine/engine.h"
#include "sim/simulation.h"

namespace sim {

Trace makeTrace(const Scenario&, const Mesh&, const Schedule&, const Program&, const RankClasses&, const PricedProgram&,
                const EngineResult&, TraceDetail);

} // namespace sim
