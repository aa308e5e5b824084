// Which action of one step is the same work as which action of another: for laying two steps on each other.
#pragma once

#include "sim/simulate/simulation.h"

#include <cstdint>
#include <vector>

namespace sim {

struct MatchedActions {
    static constexpr std::int32_t kNone = -1;

    /// A row of b with the row of a that has its place in the pipeline.
    struct Row {
        int pipelineRank = 0;
        std::uint32_t trackA = 0, trackB = 0; ///< of the actions
        std::vector<std::int32_t> ofA, ofB;   ///< [span] its partner on the other track, or kNone
    };
    std::vector<Row> rows; ///< by process of b; empty where the pipelines have different lengths

    const Row* rowOfTrack(std::uint32_t track, bool ofA) const; ///< nullptr: it has no partner
};

/// By pipeline rank, stage, micro-batch, and what is done: forward, the way of the gradient back (a full backward or its first
/// half), weight gradient, optimizer. Traces of these simulations, in which actions have tracks. O(spans log spans).
MatchedActions matchActions(const Simulation& a, const Trace& traceOfA, const Simulation& b, const Trace& traceOfB);

} // namespace sim
