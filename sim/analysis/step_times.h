// How much one step differs from the next where kernels vary: the same step again and again, its jitter drawn anew each time.
#pragma once

#include "sim/simulate/simulation.h"

#include <string>
#include <vector>

namespace sim {

struct StepTimes {
    std::vector<double> seconds; ///< [step]; the first is the simulation's own
    double mean = 0, least = 0, p10 = 0, median = 0, p90 = 0, most = 0;
    std::string text() const; ///< "490 ms in the median of 50 steps, 485 ms to 497 ms in 80 % of them, 480 ms to 510 ms in all"
};

/// Does any kernel's time vary?
bool varies(const RankClasses&);

inline constexpr int kMostSteps = 1000;
/// Some minutes of a core's.
inline constexpr std::int64_t kMostOpsOfSteps = 2'000'000'000;

/// Runs the engine alone: program, prices and classes are the simulation's. The same numbers with any number of threads, of which
/// it takes as many as it is given and has memory for. Without jitter all steps are the same and nothing is run. Throws Error for
/// more ops than kMostOpsOfSteps, with the number of steps that would do.
StepTimes stepTimes(const Simulation&, int steps, int threads);

} // namespace sim
