// What a schedule is made from: sizes, choices, and what the passes cost for kinds that plan by it.
#pragma once

#include "sim/schedule/evaluate.h"

#include <string>
#include <vector>

namespace sim {

struct ScheduleRequest {
    std::string kind = "1f1b";
    int ranks = 1;
    int virtualStages = 1;
    int microbatches = 1;
    int microbatchGroup = 0; ///< interleaving group N; 0 = ranks
    /// Runs the forward and the backward of the steady state as one block, so that one hides the other's expert communication;
    /// takes more warm-up forwards (Megatron's overlap_moe_expert_parallel_comm).
    bool overlapExpertComm = false;
    int slices = 1;                         ///< seq-1f1b: parts a sequence is cut into
    std::vector<std::string> customActions; ///< for `custom`

    // What kinds that plan by cost go by (zb-1p, zb-2p, auto); one entry for all parts of the model, or one a part.
    std::vector<PassTimes> times = std::vector<PassTimes>(1);
    std::vector<PassMemory> memory = std::vector<PassMemory>(1);
    double memoryCap = 0; ///< most activations a rank may hold, in units of `memory`; 0 = as much as 1F1B
};

} // namespace sim
