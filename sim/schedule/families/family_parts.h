// What the files of the schedule families share. Private to sim/schedule.
#pragma once

#include "sim/cancel.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/order_parts.h"

namespace sim {

/// Of orders without split backwards: ranks wait for the others' first forwards and last backwards, p - 1 chunks' worth.
inline std::array<int, 2> fillAndDrain(int ranks, int chunks, int microbatches)
{
    return {ranks - 1, chunks * microbatches + ranks - 1};
}

/// The schedule with each rank's list filled by fill(rank, list).
template <class Fill>
Schedule filled(Schedule schedule, std::size_t actionsOfRank, Fill&& fill)
{
    for (int rank = 0; rank < schedule.ranks; ++rank) {
        checkCancelled();
        auto& actions = schedule.actions[asIndex(rank)];
        actions.reserve(actionsOfRank);
        fill(rank, actions);
    }
    return schedule;
}

} // namespace sim
