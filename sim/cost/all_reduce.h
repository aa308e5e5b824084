// Which way an all-reduce goes. Prices, traffic and explanations follow it.
#pragma once

#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"

namespace sim {

struct AllReduceRoute {
    bool inNetwork = false; ///< switches add; else round a ring, or a tree, which sends as much
    double sentShare = 0;   ///< of the tensor, what each member sends
};

/// Switches read the whole tensor of each of n members and one n-th of the sum, which they copy to all: (n+1)/n pass each link,
/// slower than point to point (Efficiency::inNetwork), where a ring takes 2(n-1)/n. So pairs never gain, threes and fours hardly
/// (NCCL's author in NVIDIA/nccl-tests issue 212 and pull request 239; measured on 8 H100 in NVIDIA/nccl issue 1455: a ring 365
/// to 370 GB/s for 2 to 8 GPUs, NVLink SHARP the same up to 4, then 420, 440, 460, 480).
AllReduceRoute allReduceRoute(const GroupShape&, const Cluster&);

} // namespace sim
