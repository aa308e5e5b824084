// GPUs of an innermost domain of several nodes that are left idle, so that no group lies in two of them: of 72, groups of 64 fill
// 64. Slurm's block topology gives jobs such segments.
#pragma once

#include "sim/scenario/scenario.h"

#include <numeric>

namespace sim {

/// The most GPUs of such a domain, in whole nodes, that groups of `gpus` neighbours fill; 0: they fill it anyway, or not once.
inline int spanOfWholeGroups(const Cluster& cluster, int gpus)
{
    const int span = cluster.tiers.size() < 2 ? 0 : cluster.tiers.front().span;
    if (gpus < 2 || span <= cluster.gpusPerNode || cluster.gpusPerNode < 1 || span % gpus == 0)
        return 0;
    const int unit = std::lcm(gpus, cluster.gpusPerNode);
    return span / unit * unit;
}

} // namespace sim
