#include "sim/schedule/schedule.h"

#include "sim/index.h"

namespace sim {

char actionLetter(ActionKind kind)
{
    return "FBIW"[asIndex(kind)];
}

std::string actionText(const Action& action, int slices)
{
    return std::to_string(action.stage) + actionName(action, slices);
}

std::string actionName(const Action& action, int slices, bool withStage)
{
    std::string name = actionLetter(action.kind) + std::to_string(action.microbatch / slices);
    if (slices > 1)
        name += '.' + std::to_string(action.microbatch % slices);
    if (withStage)
        name += " (stage " + std::to_string(action.stage) + ")";
    return name;
}

ActionBlock blockAt(const std::vector<Action>& actions, std::size_t index)
{
    return {actions.data() + index, actions[index].overlapsNext && index + 1 < actions.size() ? 2U : 1U};
}

std::string blockText(ActionBlock block, int slices)
{
    if (block.size() == 1)
        return actionText(block[0], slices);
    return "(" + actionText(block[0], slices) + ";" + actionText(block[1], slices) + ")OVERLAP_F_B";
}

std::vector<int> Schedule::stagesOfRank(int rank) const
{
    std::vector<int> mine;
    for (int stage = 0; stage < stages(); ++stage)
        if (stageToRank[asIndex(stage)] == rank)
            mine.push_back(stage);
    return mine;
}

} // namespace sim
