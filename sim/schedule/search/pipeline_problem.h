// What the parts of the synthesiser share: a pipeline to be ordered, with its costs stage by stage. Private to sim/schedule.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace sim {

/// How much more than the cap a sum of activations may come to by rounding alone.
constexpr double kRounding = 1e-9;

/// A placement of the stages and what every pass costs there.
struct PipelineProblem {
    std::string topology;           ///< "line", "loop", "V"
    Schedule frame;                 ///< ranks, placement, micro-batches; no actions
    std::vector<PassTimes> times;   ///< [stage]; comm = latency to the next stage, 0 if that is on the same rank
    std::vector<PassMemory> memory; ///< [stage]
    double cap = std::numeric_limits<double>::infinity();
    /// Every backward is whole: I stands for it and W for nothing (withWholeBackwards()).
    bool whole = false;

    std::size_t stages() const { return times.size(); }
    std::size_t ranks() const { return static_cast<std::size_t>(frame.ranks); }
    std::size_t rankOf(std::size_t stage) const { return static_cast<std::size_t>(frame.stageToRank[stage]); }
    /// The chunks of a rank in model order.
    std::vector<std::size_t> stagesOf(std::size_t rank) const
    {
        std::vector<std::size_t> mine;
        for (std::size_t stage = 0; stage < stages(); ++stage)
            if (rankOf(stage) == rank)
                mine.push_back(stage);
        return mine;
    }
    bool fits(double held) const { return held <= cap * (1 + kRounding); }
};

/// `times` and `memory` as in ScheduleRequest: one entry, or one a stage.
PipelineProblem pipelineProblem(std::string topology, Schedule frame, std::span<const PassTimes> times,
                                std::span<const PassMemory> memory, double cap);

/// Are whole backwards cheaper than split ones on any stage?
bool gainsFromWholeBackwards(const PipelineProblem&);
/// The same pipeline for orders of whole backwards, in the words of those that move I and W about: I takes what B takes and
/// releases all, W takes no time and holds nothing.
PipelineProblem withWholeBackwards(PipelineProblem);
/// An order for such a problem in its real words: B for I, no W. Orders for others as they are.
Schedule unfolded(const PipelineProblem&, Schedule);

} // namespace sim
