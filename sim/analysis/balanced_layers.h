// Layers dealt out so that pipeline ranks compute equally long.
#pragma once

#include "sim/simulate/simulation.h"

#include <optional>
#include <vector>

namespace sim {

/// Layers of each pipeline rank, over its stages.
std::vector<int> layersOfRanks(const Scenario&, const Schedule&);

/// Per stage in model order: layers moved from the rank that computes longest to the one that computes least while that helps;
/// nothing where it does not.
std::optional<std::vector<int>> balancedLayers(const Simulation&);

} // namespace sim
