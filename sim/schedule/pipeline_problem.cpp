#include "sim/schedule/pipeline_problem.h"

namespace sim {

PipelineProblem pipelineProblem(std::string topology, Schedule frame, std::span<const PassTimes> times,
                                std::span<const PassMemory> memory, double cap)
{
    PipelineProblem problem{.topology = std::move(topology), .frame = std::move(frame), .cap = cap};
    const std::size_t stages = problem.frame.stageToRank.size();
    for (std::size_t stage = 0; stage < stages; ++stage) {
        problem.times.push_back(times[times.size() == 1 ? 0 : stage]);
        problem.memory.push_back(memory[memory.size() == 1 ? 0 : stage]);
        if (stage + 1 == stages || problem.rankOf(stage) == problem.rankOf(stage + 1))
            problem.times.back().comm = 0;
    }
    return problem;
}

} // namespace sim
