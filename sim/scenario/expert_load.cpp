#include "sim/scenario/expert_load.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sim {

double expertImbalance(std::span<const double> tokensOfExperts, int ranks)
{
    std::vector<double> ofRank(static_cast<std::size_t>(ranks), 0);
    for (std::size_t expert = 0; expert < tokensOfExperts.size(); ++expert)
        ofRank[expert * ofRank.size() / tokensOfExperts.size()] += tokensOfExperts[expert];
    const double sum = std::accumulate(ofRank.begin(), ofRank.end(), 0.0);
    return sum > 0 ? *std::max_element(ofRank.begin(), ofRank.end()) * ranks / sum : 1;
}

} // namespace sim
