// Which layout to take when not all goes as planned: the nearest ones in cases that happen, and the one that loses least in any.
#pragma once

#include "sim/planner/planner.h"

#include <string>
#include <vector>

namespace sim {

/// Something that does not go as planned.
struct RobustCase {
    std::string name; ///< "one GPU computes 10 % slower"
    std::string how;  ///< "/cluster/efficiency/gemm × 0.9"
};

struct RobustChoice {
    std::vector<RobustCase> cases; ///< the first: as given
    std::vector<PlannedLayout> layouts;
    std::vector<std::string> names;           ///< of layouts: "tp 8, pp 4"; what differs from the first is said
    std::vector<std::vector<double>> seconds; ///< [layout][case]
    /// A layout's step in a case over the best one's of these, less one: what was lost by not having had another.
    double regret(std::size_t layout, std::size_t of) const;
    std::size_t worstCase(std::size_t layout) const; ///< where its regret is greatest; the first of equals
    double worstRegret(std::size_t layout) const { return regret(layout, worstCase(layout)); }
    std::size_t best = 0; ///< the layout whose worst regret is least; of equals the one that is faster as given
};

/// What robustChoice() compares: the first and the best of each of the five other grids that are nearest to it. Where the search
/// was over before it had looked into grids that may be among them, these are searched together, up to so many layouts that a
/// minute is enough. Throws Cancelled.
std::vector<PlannedLayout> robustLayouts(const PlanRequest&, const Catalogue&, const PlanAnswer&);

/// The layouts in each case: products, memory, each tier's bandwidth slower than thought, as
/// far as a calibrated model errs; one GPU that computes 10 % slower and one whose transfers take twice as long, where it hurts
/// most; experts whose busiest rank has half as many tokens again. Savage's minimax regret (1951). Simulates layouts x cases
/// times, on `request.jobs` threads; the same for any number of them. Empty without layouts. Throws Cancelled.
RobustChoice robustChoice(const PlanRequest&, const Catalogue&, const std::vector<PlannedLayout>& layouts);

/// "Loses least: tp 4, pp 8, at most 0.4 % behind the best of these (one GPU ...); the first is at most 3.1 % behind ...".
std::string robustText(const RobustChoice&);

} // namespace sim
