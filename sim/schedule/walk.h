// Runs the action lists of a schedule in list order, one rank until it must wait, then another. For sim/schedule and what runs it
// (engine/in_order.h).
#pragma once

#include "sim/cancel.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sim {

/// How long a pass of the kind takes by itself.
inline double passTime(const PassTimes& times, ActionKind kind)
{
    return std::array{times.forward, times.backward(), times.backwardInput, times.backwardWeight}[asIndex(kind)];
}

/// Calls execute(rank, index, block) for each rank's next block until no rank can go on; execute returns false if the block
/// must wait for another rank. Returns how many actions each rank ran. What ran does not depend on the order of visits.
/// O(actions): a rank that waits is tried again only when a neighbouring stage has finished a pass.
template <class Execute>
std::vector<std::size_t> walkSchedule(const Schedule& schedule, Execute&& execute)
{
    const std::size_t ranks = schedule.actions.size();
    std::vector<std::size_t> position(ranks, 0);
    std::vector<char> waits(ranks, 0);
    std::vector<std::size_t> runnable;
    for (std::size_t rank = ranks; rank-- > 0;)
        runnable.push_back(rank);
    const auto wake = [&](int stage) {
        if (stage < 0 || stage >= schedule.stages())
            return;
        const auto rank = schedule.rankOf(stage);
        if (waits[rank]) {
            waits[rank] = 0;
            runnable.push_back(rank);
        }
    };
    CancelPoll poll;
    while (!runnable.empty()) {
        const std::size_t rank = runnable.back();
        runnable.pop_back();
        const std::vector<Action>& actions = schedule.actions[rank];
        std::size_t index = position[rank];
        while (index < actions.size()) {
            poll();
            const ActionBlock block = blockAt(actions, index);
            if (!execute(rank, index, block)) {
                waits[rank] = 1;
                break;
            }
            index += block.size();
            for (const Action& action : block)
                if (action.kind == ActionKind::forward)
                    wake(action.stage + 1);
                else if (action.kind != ActionKind::backwardWeight)
                    wake(action.stage - 1);
        }
        position[rank] = index;
    }
    return position;
}

} // namespace sim
