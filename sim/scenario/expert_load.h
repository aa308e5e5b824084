// How unevenly experts are chosen.
#pragma once

#include <span>

namespace sim {

/// Tokens of the busiest rank over the mean, where each of `ranks` (at least 1) has as many experts in a row; 1 of no tokens.
double expertImbalance(std::span<const double> tokensOfExperts, int ranks);

} // namespace sim
