// Context parallelism that exchanges parts of the sequence for attention heads (Stack::exchangesHeads): where it can.
#pragma once

#include "sim/scenario/scenario.h"

#include <algorithm>
#include <cstdint>

namespace sim {

/// Query heads of a tensor-parallel rank.
inline int headsOfRank(const Scenario& scenario)
{
    return (scenario.model.numAttentionHeads + scenario.layout.tp - 1) / scenario.layout.tp;
}

/// Whether heads are exchanged: else keys and values go round a ring, or are gathered.
inline bool dealsHeads(const Scenario& scenario)
{
    const Training& training = scenario.training;
    return training.stack.exchangesHeads && scenario.layout.cp > 1 && headsOfRank(scenario) % scenario.layout.cp == 0 &&
           !(training.moe.sendOncePerNode && scenario.model.numExperts > 0);
}

/// Key-value heads that context-parallel ranks have together, where each has as many of the query heads: those that a rank has
/// queries for, on all as many as on the one that has most. Fewer heads than ranks are copied, and those whose query heads lie on
/// two ranks (DeepSpeed, sequence/layer.py and runtime/sequence_parallel/ulysses_sp.py).
inline std::int64_t exchangedKeyHeads(std::int64_t heads, std::int64_t keyHeads, int ranks)
{
    const std::int64_t each = heads / ranks, sharing = std::max<std::int64_t>(1, heads / std::max<std::int64_t>(1, keyHeads));
    std::int64_t most = 1;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        most = std::max(most, ((rank + 1) * each - 1) / sharing - rank * each / sharing + 1);
    return most * ranks;
}

} // namespace sim
