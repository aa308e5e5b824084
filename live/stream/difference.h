// What a step was predicted to be, what it was, and where the difference lies: computing, communication that nothing hid, the
// bubble, waiting and for whom, and what the host took.
#pragma once

#include "live/stream/history.h"
#include "sim/simulate/simulation.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace live {

/// How a rank spends a step. Every instant counts once: for computing, else for a transfer that runs, else for a wait within its
/// stage, else for the bubble, else for the host. Nanoseconds; the parts add up to stepNs.
/// A recording does not tell which kernel waited for a transfer. So transfers are not sim::Metrics' exposed communication: what
/// holds no kernel up is the bubble's there.
struct TimeUse {
    std::int64_t stepNs = 0;
    std::int64_t computeNs = 0;
    std::array<std::int64_t, kCommCount> transferNs{}; ///< alone: nothing computes beside it; by kCommNames
    std::array<std::int64_t, kCommCount> waitNs{};     ///< for members of its own stage that had not arrived
    std::int64_t bubbleNs = 0;                         ///< for other stages: a message of theirs, or a collective with them
    std::int64_t hostNs = 0;                           ///< nothing recorded: launches, host work, or no core was free
};

/// A rank that others waited for, being the last to arrive.
struct Straggler {
    int rank = 0;
    std::int64_t times = 0;          ///< of the communications it took part in
    std::int64_t othersWaitedNs = 0; ///< summed over the others
};

struct Difference {
    struct Rank {
        int rank = 0;
        TimeUse predicted, measured;
    };
    std::vector<Rank> ranks;     ///< by rank
    TimeUse predicted, measured; ///< means over ranks
    /// Whom others waited for, the longest first: by kCommNames, then in the bubble.
    std::array<std::vector<Straggler>, kCommCount + 1> stragglers;
    /// What training does otherwise than the prediction has it (doneOtherwise), a sentence each, without a stop.
    std::vector<std::string> otherwise;
    /// A table for people, differences of the step first.
    std::string text() const;
};

/// `step`: spans of one step of all ranks, on the wall clock or as if parallel; correlations tell who met whom.
/// Throws sim::Error if the prediction has another number of ranks. O(spans log spans).
Difference explainDifference(const sim::Simulation& prediction, std::span<const RankSpan> step);
/// How the ranks of a recorded step spend it. The step lasts from the first span's start to the last one's end. `stages`: the
/// pipeline rank of each rank.
std::vector<TimeUse> measuredTimeUse(std::span<const RankSpan> step, std::span<const int> stages);
/// The same of a simulation at kernel detail, by class. Its ranks record no waiting for a message: what they leave empty is the
/// bubble but for what waits for the host, as in sim::Metrics.
std::vector<TimeUse> predictedTimeUse(const sim::Simulation&, std::span<const int> stages);

} // namespace live
