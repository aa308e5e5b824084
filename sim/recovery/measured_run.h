// One recorded run, cut into its steps without the outliers: what each rank does of each kernel and collective in each of them.
#pragma once

#include "sim/recovery/rank_time.h"
#include "sim/recovery/recover.h"

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sim {

/// What one rank does of one class in each step.
struct StepSeries {
    std::vector<double> seconds, waiting; ///< [kept step]; waiting: for the last member
    double count = 0;                     ///< of all of them
    bool any() const { return count > 0; }
};
using ClassSeries = std::vector<StepSeries>; ///< [rank]

/// Collectives that are compared with each other.
struct CollectiveClass {
    std::string what;        ///< "all-reduce", or what it is for
    std::string axis;        ///< "dp"; empty where no axis of the grid is known for its group
    std::size_t members = 0; ///< of the group; 0: not known
    /// Of some other member no span was recorded, so that the transfer cannot be told from waiting for the last.
    bool isWithWaiting = false;

    std::string text() const; ///< "all-reduce over dp", "all-reduce over 4 ranks, waiting included"
    auto operator<=>(const CollectiveClass&) const = default;
};

struct MeasuredRun {
    /// `isByPurpose`: collectives go by what they are for where own files say so, else by what is exchanged.
    MeasuredRun(const Recovered&, bool isByPurpose);

    std::vector<std::size_t> kept; ///< steps
    std::vector<double> stepSeconds;
    std::vector<RankTime> times; ///< [rank]
    std::map<std::string, ClassSeries> kernels;
    std::map<CollectiveClass, ClassSeries> collectives;
};

/// Two recordings of one job need not tell as much. Where one knows a group's axis and the other its size alone, they are one
/// class; where the waiting is in the times of one alone, nothing can be compared: such classes are left out and `problems` says
/// so.
void makeCollectivesAlike(MeasuredRun& a, MeasuredRun& b, std::vector<std::string>& problems);

} // namespace sim
