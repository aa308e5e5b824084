// How short a schedule's span can be at best, whatever its order: what the synthesiser compares its result with. Private to
// sim/schedule.
#pragma once

#include "sim/schedule/search/pipeline_problem.h"

#include <string_view>

namespace sim {

/// A proof that no order on the problem's placement that keeps the memory cap has a shorter span (the zero-bubble papers' cost),
/// and so none has a shorter makespan. Whether backwards are whole (B) or split (I and W), each micro-batch on each stage as it
/// likes, and whether passes run in blocks: every pass counts as the cheapest of these.
struct SpanBound {
    double span = 0;
    std::string_view name; ///< for people: what stands in the way
};

/// The largest of the bounds below, each for stages of any times and any placement. O(stages^2).
SpanBound spanBound(const PipelineProblem&);

/// L0: some rank has this much to do.
SpanBound workBound(const PipelineProblem&);
/// L1 (Qi et al., arXiv 2401.10241, appendix B): until its first gradient is back, a rank can only run the forwards that its
/// memory holds.
SpanBound firstGradientBound(const PipelineProblem&);
/// L2: the first forward goes down to some rank, that rank works through its passes, the last gradient comes back.
SpanBound longestPathBound(const PipelineProblem&);
/// L3: an activation stays while its micro-batch runs through the stages behind, and only so many fit at a time.
SpanBound memoryBound(const PipelineProblem&);

} // namespace sim
