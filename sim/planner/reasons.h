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
    bool isSurveyed = false;                                     ///< else the search was stopped before it came here
    double openNs = std::numeric_limits<double>::infinity();     ///< the least floor of what was left when the search ended
    double openKey = std::numeric_limits<double>::infinity();    ///< the same in what is made least: ns, or bytes
    double bestKey = std::numeric_limits<double>::infinity();    ///< of `best`, likewise
    double bestSecond = std::numeric_limits<double>::infinity(); ///< of equals
    std::int64_t tooLarge = 0;                                   ///< of what is left, could not be laid out or simulated here
    std::string tooLargeText;
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

struct Chosen {
    double capacityBytes = 0;
    double bestKey = std::numeric_limits<double>::infinity(); ///< of the first
    bool byHeadroom = false;                                  ///< keys are bytes, else nanoseconds
};
/// `first`: what was chosen, or null.
RejectedGrid rejectionOf(const GridRecord&, const PlannedLayout* first, const Chosen&);

} // namespace sim
