// Clocks that nothing tests: of ranks that a single collective alone joins to the others.
#pragma once

#include "sim/recovery/pair_clock.h"

#include <map>
#include <set>
#include <string>

namespace sim {

/// Of ranks that single collectives alone join to the first: within what their clocks are right, as a clause; empty where there
/// are none. In a tree of pairs that reaches all ranks one of a single end is tested where a way round it leads elsewhere; errors
/// of those that are not add up, but for members of one collective. O(pairs · length of the tree).
std::string untestedClocksText(std::size_t ranks, const std::map<RankPair, EndDifferences>& ends,
                               const std::set<RankPair>& byTransfers);

} // namespace sim
