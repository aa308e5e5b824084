// Why a grid was not chosen, with the numbers. Private to sim/planner.
#pragma once

#include "sim/planner/planner.h"
#include "sim/planner/space.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace sim {

/// What the search has seen of a grid.
struct GridRecord {
    PlanGrid grid;
    std::int64_t legal = 0, evaluated = 0;
    std::string rule;                                            ///< where nothing is legal
    double openNs = std::numeric_limits<double>::infinity();     ///< the least floor of what was left when the search ended
    double leastBytes = std::numeric_limits<double>::infinity(); ///< of what does not fit
    int fullestRank = 0;
    Choice fullest; ///< that takes leastBytes
    std::optional<PlannedLayout> best;

    void noteMemory(double bytes, int rank, const Choice& of)
    {
        if (bytes >= leastBytes)
            return;
        leastBytes = bytes;
        fullestRank = rank;
        fullest = of;
    }
};

/// The first rule that every layout of the grid breaks.
std::string whyIllegal(const PlanSpace&, const PlanGrid&);

/// `first`: what was chosen, or null.
RejectedGrid rejectionOf(const GridRecord&, const PlannedLayout* first, double capacityBytes);

} // namespace sim
