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
    std::int64_t legal = 0, evaluated = 0, simulated = 0;
    std::string rule;                                            ///< where nothing is legal, or the framework refuses what fits
    bool isSurveyed = false;                                     ///< else the search was stopped before it came here
    double openNs = std::numeric_limits<double>::infinity();     ///< the least floor of what was left when the search ended
    double openKey = std::numeric_limits<double>::infinity();    ///< the same in what is made least: ns, or bytes
    double bestKey = std::numeric_limits<double>::infinity();    ///< of `best`, likewise
    double bestSecond = std::numeric_limits<double>::infinity(); ///< of equals
    std::int64_t tooLarge = 0;                                   ///< of what is left, could not be laid out or simulated here
    std::string tooLargeText;
    /// Of what does not fit: nothing of it holds less, whether a part of it was counted or all.
    struct Least {
        double bytes = std::numeric_limits<double>::infinity();
        int rank = 0;
        Choice of;
        bool isSet() const { return bytes < std::numeric_limits<double>::infinity(); }
        void note(double bytes_, int rank_, const Choice& of_)
        {
            if (bytes_ < bytes)
                *this = {bytes_, rank_, of_};
        }
    };
    Least bound;                                                       ///< of any schedule, before anything is laid out
    bool isOfStates = false;                                           ///< `bound`: of the model's states alone
    Least floor;                                                       ///< of one schedule: no layout like it holds less
    Least laid;                                                        ///< laid out or simulated: as much as the engine counts
    Least host;                                                        ///< of what fits its GPUs: on the fullest host
    std::vector<PlanSetting> laidSettings{};                           ///< of `laid`
    double leastStepSeconds = std::numeric_limits<double>::infinity(); ///< of what was simulated
    std::optional<PlannedLayout> best;

    bool hasMemory() const { return bound.isSet() || floor.isSet() || laid.isSet(); }
};

/// The first rule that every layout of the grid breaks.
std::string whyIllegal(const PlanSpace&, const PlanGrid&);
/// Of a space without grids: the size that is held and cannot be, as notDividing() has it; else empty.
std::string whyNoGrid(const PlanSpace&);

struct Chosen {
    double capacityBytes = 0, hostBytes = 0;                  ///< of a GPU, of a node's host
    double bestKey = std::numeric_limits<double>::infinity(); ///< of the first
    bool byHeadroom = false;                                  ///< keys are bytes, else nanoseconds
    std::string per;                                          ///< of these: " for each 128 sequences"; empty: of a step
};
/// `first`: what was chosen, or null.
RejectedGrid rejectionOf(const GridRecord&, const PlannedLayout* first, const Chosen&);

} // namespace sim
