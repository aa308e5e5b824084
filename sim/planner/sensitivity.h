// How far a constant of the cluster may move before another layout is the better one: "first while the network gives 31 GB/s or
// more". The nearest layouts are compared; where that is soon done the search itself is asked again just before each turn, and
// what it finds is compared too, until it names the first.
#pragma once

#include "sim/planner/planner.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// Where the first layout stops to be the first.
struct Turn {
    double value = 0;                   ///< of the constant, in its unit
    std::optional<PlannedLayout> other; ///< that is better beyond it, as it is now; of memory none: nothing is known that fits
    std::string differs;                ///< in what it is not the first: "tp 8, pp 8, dp 1, zero_stage 1"
};

struct PlanSensitivity {
    std::string pointer; ///< "/cluster/tiers/1/bandwidth_gbs"
    std::string name;    ///< "bandwidth of infiniband"
    std::string unit;    ///< "GB/s"
    double now = 0;
    std::optional<Turn> below, above; ///< none: not within a sixteenth and sixteen times of what it is now
    bool isSearched = false;          ///< just before a turn no layout at all is better than the first, not of the compared alone
};

/// What planSensitivities() compares: the first, the next two of those simulated, and the best of each of the three nearest other
/// grids, which is searched where the answer does not know it. Throws Cancelled.
std::vector<PlannedLayout> comparedLayouts(const PlanRequest&, const Catalogue&, const PlanAnswer&);

/// A grid searched by itself: at most its best, with the grid among its settings. Throws Cancelled.
PlanAnswer planOfGrid(const PlanRequest&, const Catalogue&, const PlanGrid&);

/// "tp 8, pp 8, dp 1, zero_stage 1": what of `other` is not so in `first`.
std::string differenceText(const PlannedLayout& other, const PlannedLayout& first);

/// Whether a search like that one is soon done, some dozen times.
bool isSoonSearched(const PlanAnswer&);

/// Peak FLOP/s, memory and its bandwidth of the GPU, bandwidth and latency of each tier, one at a time. Simulates some hundred
/// times, on `request.jobs` threads; the same for any number of them. `layouts`: of comparedLayouts(). `searches`: plans anew
/// just before each turn, a plan or a few for each. Empty where there is no layout, or the objective is headroom; without a
/// search where there are fewer than two. Throws Cancelled.
std::vector<PlanSensitivity> planSensitivities(const PlanRequest&, const Catalogue&, const std::vector<PlannedLayout>& layouts,
                                               bool searches = false);

/// "bandwidth of infiniband 50 GB/s: first from 31.2 GB/s, below it tp 8, pp 8, dp 2" for a person.
std::string sensitivityText(const PlanSensitivity&);

} // namespace sim
