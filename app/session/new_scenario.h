// A scenario from three choices: model, GPUs, goal. What fits and is fastest among the layouts that people would try.
#pragma once

#include "sim/scenario/document.h"

#include <string>
#include <vector>

namespace app {

/// What somebody wants to do with the GPUs.
struct Goal {
    const char* name;
    const char* what;
    int sequenceLength;
    int globalBatchSize;
};
const std::vector<Goal>& goals();

struct NewScenario {
    std::string model;   ///< id in the catalogue
    std::string cluster; ///< likewise
    int nodes = 1;
    std::size_t goal = 0; ///< in goals()
};
/// Simulates some tens of layouts: on a worker. The fastest that fits; where none does, the one that needs the least memory.
/// Throws sim::Error where none is legal.
sim::ScenarioDocument makeNewScenario(const NewScenario&, const sim::Catalogue&);

} // namespace app
