// Groups within a group: what Megatron Core makes for hierarchical and hybrid context parallelism and for several copies of the
// sharded optimizer.
#pragma once

#include "sim/mesh/mesh.h"

#include <vector>

namespace sim {

/// Sees the members as a grid of `sizes`, fastest first, and gives the groups along one level of it. Level 0 of {b, n / b} are
/// the consecutive blocks of b, level 1 what crosses them. Throws Error unless the sizes' product is the number of members.
std::vector<std::vector<int>> subgroups(const std::vector<int>& members, const std::vector<int>& sizes, int level);

/// Ranks that share one of `instances` copies of the sharded optimizer (Megatron Core's intra_dist_opt): the members of expert_dp
/// / instances consecutive tp_ep_pp groups, one after the other. Throws Error unless instances divides dp x cp and expert dp.
std::vector<std::vector<int>> optimizerInstanceGroups(const Mesh&, int instances);

} // namespace sim
