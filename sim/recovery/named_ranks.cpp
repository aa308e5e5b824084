#include "sim/recovery/named_ranks.h"

namespace sim {

std::string namedRanks(const std::vector<int>& ranks, std::size_t mostNamed)
{
    if (ranks.size() > mostNamed)
        return std::to_string(ranks.size()) + " ranks";
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i)
        text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
    return text;
}

} // namespace sim
