// Two steps subtracted: where the difference in time comes from, and what differs in memory and speed. Differences are b − a.
#pragma once

#include "sim/analysis/likely_ratio.h"
#include "sim/analysis/whole_run.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <vector>

namespace sim {

/// The same quantity of two steps.
template <typename T>
struct Both {
    T a{}, b{};
    bool operator==(const Both&) const = default;
};

struct StageComparison {
    Both<ByStepPart<std::int64_t>> use;
    Both<MemoryBreakdown> memory; ///< of the fullest rank of the stage
    std::int64_t deltaNs(StepPart part) const { return use.b[part] - use.a[part]; }
};

struct Comparison {
    Both<std::int64_t> stepNs;
    LikelyRatio likely;                 ///< of the step's time
    Both<ByStepPart<std::int64_t>> use; ///< adds up to stepNs, so that the differences add up to deltaNs()
    Both<MemoryBreakdown> memory;       ///< of the fullest rank at its peak
    Both<std::int64_t> capacityBytes;   ///< of a GPU
    Both<bool> fits{true, true};        ///< fitsEverywhere()
    Both<double> tokensPerSecond, tokensPerSecondPerGpu, mfu;
    Both<std::int64_t> parameters;
    Both<int> worldSize;
    /// Of one number of tokens: what the scenarios say, where they do not contradict each other; else kTokensUnlessSaid. With all
    /// that failures cost.
    Both<WholeRun> run;
    /// By pipeline rank; empty where the two have different numbers of them.
    std::vector<StageComparison> stages;

    std::int64_t deltaNs() const { return stepNs.b - stepNs.a; }
    std::int64_t deltaNs(StepPart part) const { return use.b[part] - use.a[part]; }
};

/// O(pipeline ranks), and what lastingRun takes.
Comparison compare(const Simulation& a, const Simulation& b);

/// As Comparison::run, of however many are compared: whole runs of one number of tokens stand beside each other.
double comparedTokens(const std::vector<const Simulation*>&);
Both<WholeRun> comparedRuns(const Simulation& a, const Simulation& b, double tokens);

} // namespace sim
