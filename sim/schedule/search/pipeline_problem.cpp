#include "sim/schedule/search/pipeline_problem.h"

#include <algorithm>

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

bool gainsFromWholeBackwards(const PipelineProblem& problem)
{
    return std::any_of(problem.times.begin(), problem.times.end(),
                       [](const PassTimes& times) { return times.backward() < times.split(); });
}

PipelineProblem withWholeBackwards(PipelineProblem problem)
{
    problem.whole = true;
    for (PassTimes& times : problem.times) {
        times.backwardInput = times.backward();
        times.backwardWeight = 0;
    }
    for (PassMemory& memory : problem.memory)
        memory.weight = 0;
    return problem;
}

Schedule unfolded(const PipelineProblem& problem, Schedule schedule)
{
    if (problem.whole)
        for (auto& actions : schedule.actions) {
            std::erase_if(actions, [](const Action& action) { return action.kind == ActionKind::backwardWeight; });
            for (Action& action : actions)
                if (action.kind == ActionKind::backwardInput)
                    action.kind = ActionKind::backward;
        }
    return schedule;
}

} // namespace sim
