// A grid of ranks as a person says it, and whether it can be one: the one place that knows where experts lie.
#pragma once

#include "sim/recovery/evidence.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// Sizes as a person says them, "tp" 2, "pp" 4, …, the fastest first; axes of size 1 are left out. ep lies across dp and cp: its
/// ranks are `expertStride` apart, which is how many cut an expert (etp); 0: as many as tp, Megatron Core's default.
std::vector<NamedAxis> namedGrid(const std::vector<std::pair<std::string, int>>& sizes, int ep = 1, int expertStride = 0);

/// Empty, or why these are no grid of `world` ranks, with the numbers: the dense axes' product is the world, and experts lie
/// within a pipeline stage.
std::string gridProblem(std::span<const NamedAxis>, int world);

} // namespace sim
