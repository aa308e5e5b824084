// Schedules on a V that repeat one building block (Qi et al., Controllable Memory, arXiv 2405.15362): when every rank runs the
// four passes and two weight gradients of a micro-batch, counted in slots of one pass; the next micro-batch does the same a
// period later. How long activations stay follows from the block. Private to sim/schedule.
#pragma once

#include "sim/schedule/search/pipeline_problem.h"

#include <array>
#include <vector>

namespace sim {

/// Slots between the passes of a micro-batch on its way down the V, back, and the same again for its gradients.
struct BuildingBlock {
    std::array<int, 4> stride{1, 1, 1, 1}; ///< from one rank to the next in each leg
    std::array<int, 3> turn{1, 1, 1};      ///< between the legs
    bool operator==(const BuildingBlock&) const = default;
};

/// Blocks that never give a rank two passes at once and stay within the cap in the steady state; at most `most`, those that hold
/// the most first, and of these the shortest.
std::vector<BuildingBlock> buildingBlocks(const PipelineProblem&, std::size_t most);

/// See repeatBlock().
Schedule repeatedBlock(const PipelineProblem&, const BuildingBlock&);

} // namespace sim
