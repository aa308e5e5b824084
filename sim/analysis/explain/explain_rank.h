// Why one rank of a step, one span of its timeline or one part of its time has the numbers that pictures write at it. Like
// explain(), and shown the same way.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "sim/trace/trace.h"

#include <string>
#include <vector>

namespace sim {

enum class RankNumber : std::uint8_t {
    busy,         ///< share of the step in which kernels run
    exposed,      ///< share in which a transfer holds up the next kernel
    bubble,       ///< what is left
    againstPeers, ///< busy time over the mean of the other ranks of its place in the pipeline, less 1
    sent          ///< bytes that leave it in a step
};
Explanation explain(const Simulation&, RankNumber, int rank);

/// A part of the step's time as a mean over all ranks: Metrics::use.
Explanation explain(const Simulation&, StepPart);
/// b - a, of the same number of two steps, or of other things that are called so.
Explanation explainDifference(const Explanation& a, const Explanation& b, const std::string& nameOfA = "A",
                              const std::string& nameOfB = "B");
/// Several of a kind in one number.
Explanation explainSum(std::string name, std::vector<Explanation>);

/// Of the ranks of one place in the pipeline: their time as a mean, and the memory of the fullest.
enum class StageNumber : std::uint8_t { busy, exposed, bubble, memory };
Explanation explain(const Simulation&, StageNumber, int pipelineRank);

/// How long a span takes: an action by what its kernels do, a kernel by its FLOPs or bytes, a transfer by its bytes. The trace is
/// the simulation's. O(ops of the rank) for actions.
Explanation explainSpan(const Simulation&, const Trace&, std::uint32_t track, std::uint32_t span);

} // namespace sim
