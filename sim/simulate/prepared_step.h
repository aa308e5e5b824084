// A step that can be run: all of it but its times.
#pragma once

#include "sim/engine/engine.h"
#include "sim/simulate/memory_needs.h"

namespace sim {

struct PreparedStep {
    /// Throws ScenarioError, with the key where one makes it so, for what is legal and cannot be simulated.
    PreparedStep(const Scenario&, const SimulateOptions&);
    PreparedStep(const PreparedStep&) = delete; ///< its memory's scenario is this one's

    Scenario scenario;
    Schedule schedule;
    Mesh mesh;
    Placement placement;
    Program program;
    RankClasses classes;
    PricedProgram prices;
    MemoryRequest memory;
};

} // namespace sim
