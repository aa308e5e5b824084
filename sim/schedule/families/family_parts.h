// What the files of the schedule families share. Private to sim/schedule.
#pragma once

#include "sim/schedule/families/families.h"
#include "sim/schedule/order_parts.h"

namespace sim {

/// Of orders without split backwards: ranks wait for the others' first forwards and last backwards, p - 1 chunks' worth.
inline std::array<int, 2> fillAndDrain(int ranks, int chunks, int microbatches)
{
    return {ranks - 1, chunks * microbatches + ranks - 1};
}

} // namespace sim
