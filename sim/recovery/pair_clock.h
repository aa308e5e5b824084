// What the clocks of two ranks differ by, from the ends of what both take part in, and of all ranks from all such pairs.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sim {

using RankPair = std::pair<std::size_t, std::size_t>; ///< indices of ranks

/// Ends of one pair's collectives: when (seconds from `since`) and by how much the member's clock is ahead (ns).
struct EndDifferences {
    std::vector<double> seconds, aheadNs;
    double lastsNs = 0;      ///< the longer part of the last
    std::size_t meeting = 0; ///< the last, of Meetings::meetings
};

/// What a pair says of the difference of its clocks, linear in time.
struct PairClock {
    std::size_t from = 0, to = 0; ///< indices of ranks
    double offsetNs = 0;          ///< to − from, at `since`
    double slopePpm = 0;          ///< ns a second are 1e-3 ppm
    double weight = 1;
    double slopeWeight = 0; ///< 0: the pair's trace is too short to tell
};

double medianEnd(std::vector<double> values);
/// Of at least one end. A slope is told where it moves the ends by more than they scatter by.
PairClock pairClockOf(const RankPair& ranks, const EndDifferences& ends);
/// x of least Σ w (x[to] − x[from] − d)², x[0] = 0 (other connected parts than its own keep their middle at 0), by conjugate
/// gradients on the graph's Laplacian: as many rounds as ranks at most, each O(edges).
std::vector<double> solveDifferences(std::size_t ranks, const std::vector<PairClock>& pairs, double PairClock::*difference,
                                     double PairClock::*weight);

} // namespace sim
