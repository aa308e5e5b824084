// Steps of training: where each begins and ends on every rank, which of them are unlike the others.
#pragma once

#include "sim/recovery/evidence.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct RecoveredStep {
    std::int64_t number = 0;
    std::int64_t startNs = 0, endNs = 0; ///< of the first rank to begin and the last to end; as step_bounds.h says
    /// As RunEvidence::ranks. On one clock the step itself, but for what a rank spends in another step meanwhile: a stage that
    /// is not yet, or no longer, at work waits in the step. What a rank begins at its end is the next one's.
    std::vector<std::int64_t> rankStartNs, rankEndNs;
    bool isOutlier = false;     ///< beyond 3 robust deviations and 5 % of the median, or a part
    bool isPart = false;        ///< recording began or ended inside it
    std::int64_t longestNs = 0; ///< a rank's own time; the step's where ranks' clocks are apart
    bool isOneClock = true;
    std::int64_t overlapNs = 0; ///< on one clock: at its end, in which some rank is in the next step already
    /// So that steps that overlap add up to what was recorded, without `overlapNs`.
    double seconds() const { return static_cast<double>(isOneClock ? endNs - startNs - overlapNs : longestNs) * 1e-9; }
    bool overlapsNext() const;           ///< noticeably
    std::string_view unlikeText() const; ///< of outliers what is unlike in them, for a person; else empty
};

struct RecoveredSteps {
    std::vector<RecoveredStep> steps; ///< held by every recorded rank, by number
    double medianSeconds = 0;
    std::string evidence;
    double sure = 0;
    bool areMarked = true;             ///< else told apart by what recurs, or guessed
    bool areGuessed = false;           ///< nothing told steps apart: all is taken for one
    std::vector<std::string> problems; ///< "rank 3 holds no step 12"
    /// Indices of the steps that numbers are means over: all but outliers.
    std::vector<std::size_t> usual() const;
    double usualSeconds() const; ///< median of these alone; 0 where there are none
    /// Index of the step to look at first: a usual one about as long as the median, near the middle. 0 where there are none.
    std::size_t typical() const;
};

/// From `ProfilerStep#N` where ranks have them; else from how often the order of collectives repeats; else all is one step.
/// `isOneClock`: times of ranks can be compared.
RecoveredSteps recoverSteps(const RunEvidence&, bool isOneClock = true);

} // namespace sim
