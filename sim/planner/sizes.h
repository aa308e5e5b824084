// How many GPUs a run needs to be done in time: the fewest whose best layout is fast enough.
#pragma once

#include "sim/planner/planner.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace sim {

struct SizeRequest {
    PlanRequest job; ///< its `gpus` and `enoughSeconds` are not looked at; training.tokens of its document says how long it is
    double days = 0; ///< within which all of its tokens are to be trained
    /// GPUs; empty: all up to `most`, where they are few; else plannedSizes(), and of those between them below the first in time
    /// all, or as many as are soon looked at.
    std::vector<int> sizes;
    int most = 16384;
};

/// Powers of two: parts of a node; then those and three times them: whole nodes, up to `most` GPUs.
std::vector<int> usualSizes(int gpusPerNode, int most);

/// The same of a job, without those of which no layout is legal: with dimensions held also multiples of their product, and
/// `most`.
std::vector<int> plannedSizes(const PlanRequest&, const Catalogue&, int most);

struct TriedSize {
    int gpus = 0;
    bool meets = false;
    bool proved = false;  ///< that it meets the deadline, or that no layout does
    double leastDays = 0; ///< nothing takes less, where it does not meet it; infinite: nothing fits
    std::string problem;  ///< why no layout of this size can be searched; empty: it was
};

struct SizeAnswer {
    double days = 0, tokens = 0;
    std::vector<TriedSize> tried; ///< ascending, to the fewest found that meet it, or to the last
    PlanAnswer best;              ///< of the one that meets it, searched to its best layout; without layouts where none does
    int gpus = 0;                 ///< of it; 0: none does
    bool isFewest = false; ///< proved of each smaller one that it does not meet it; of a list that was given, of each that it has
    bool stopped = false;
    double bestDays = 0; ///< that the best layout takes
};

/// Days of a run of steps of that many seconds; throws Error where the scenario does not say how many tokens it is of.
double runDays(const Scenario&, double stepSeconds);

/// Of layouts of several numbers of GPUs those that no other beats: done no later for no more GPU hours, and one of both for
/// less. Indices, soonest first; of equals the first.
std::vector<std::size_t> daysAgainstHours(std::span<const PlannedLayout>);

/// Searches one size after another, each only as far as the deadline asks for, the last one to its end. `progress` as of plan(),
/// with the size. Throws Error as plan() does, and where days or tokens are not given.
SizeAnswer fewestGpus(const SizeRequest&, const Catalogue&,
                      const std::function<void(int gpus, const PlanProgress&)>& progress = {});

} // namespace sim
