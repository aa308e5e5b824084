// Two recorded runs while they are compared: what was measured of both, and which ranks of them are fellows. Private to
// sim/recovery.
#pragma once

#include "sim/recovery/measured_run.h"
#include "sim/recovery/run_difference.h"
#include "sim/recovery/short_names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sim {

struct ComparedRuns {
    ComparedRuns(const Recovered& first, const Recovered& second)
        : a(first), b(second), runA(first, isByPurpose(first, second)), runB(second, isByPurpose(first, second))
    {
    }
    /// Only own files name collectives by what they are for, so a run of another recorder has no fellows of these names.
    static bool isByPurpose(const Recovered& a, const Recovered& b) { return a.evidence.isOneClock && b.evidence.isOneClock; }

    struct Pair {
        std::size_t a = 0, b = 0; ///< indices of ranks
    };
    const Recovered &a, &b;
    MeasuredRun runA, runB;
    std::vector<Pair> pairs;
    ShortNames shortNames; ///< of kernels and collectives
};

inline constexpr double kNoises = 3; ///< a difference of so many deviations is none of chance
/// A stage stands out, or a rank from its stage, where it changed by so much beyond.
inline constexpr double kLeastOfStage = 0.05;
/// A difference of fewer seconds is none.
inline double leastSeconds(const RunDifference& difference)
{
    return kLeastOfStep * std::max(difference.stepSeconds.a, difference.stepSeconds.b);
}

/// What was found, in words: RunDifference::findings. Of a difference that is complete but for them.
void tellFindings(RunDifference&, const ComparedRuns&);
/// The few that matter of them: RunDifference::causes. O(findings log findings).
void tellCauses(RunDifference&);
/// What kernels of this name have in common with others: what they are for where `isRenamed`, as other GPUs and libraries do the
/// same by kernels of other names; else the function, in whatever form: "at::native::vectorized_elementwise_kernel".
std::string subjectOfKernel(const std::string& name, bool isRenamed);
/// "Communication over dp"; the name where that tells no axis.
std::string subjectOfCollective(const std::string& name);

} // namespace sim
