#include "sim/schedule/schedule.h"

namespace sim {

char actionLetter(ActionKind kind)
{
    switch (kind) {
    case ActionKind::forward:
        return 'F';
    case ActionKind::backward:
        return 'B';
    case ActionKind::backwardInput:
        return 'I';
    case ActionKind::backwardWeight:
        return 'W';
    }
    return '?';
}

std::string actionText(const Action& action)
{
    return std::to_string(action.stage) + actionLetter(action.kind) + std::to_string(action.microbatch);
}

std::vector<int> Schedule::stagesOfRank(int rank) const
{
    std::vector<int> mine;
    for (int stage = 0; stage < stages(); ++stage)
        if (stageToRank[static_cast<std::size_t>(stage)] == rank)
            mine.push_back(stage);
    return mine;
}

} // namespace sim
