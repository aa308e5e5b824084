// A forward and a backward as one block: cut behind every expert all-to-all and dealt in turn, so that one computes while the
// other's tokens travel (DeepSeek-V3, arXiv 2412.19437, figure 4; Megatron Core's overlap_moe_expert_parallel_comm). Private to
// sim/program.
#pragma once

#include "sim/program/program.h"

#include <vector>

namespace sim {

/// A piece of the block, in order of issue.
struct BlockPiece {
    Pass pass;
    bool ofForward = true;
    bool first = false, last = false; ///< of its own pass: the first receives, the last sends
};

/// `waitLabel`: Program::labels' name for the waits that are put in.
std::vector<BlockPiece> overlapBlock(const Pass& forward, const Pass& backward, std::uint16_t waitLabel);

} // namespace sim
