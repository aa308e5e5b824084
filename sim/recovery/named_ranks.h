// Ranks in a sentence. Private to sim/recovery.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

/// "rank 2", "ranks 0, 1 and 3"; of more than so many "40 ranks".
std::string namedRanks(const std::vector<int>& ranks, std::size_t mostNamed = 8);

} // namespace sim
