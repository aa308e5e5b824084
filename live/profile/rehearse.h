// Some ranks of a layout by themselves: each runs its own program, in its own order, on its own shards, with stand-ins for all
// others it would meet. So the very kernels and transfers of a layout are timed, a step in turn with one of the whole
// layout, by which they are judged. What ranks wait for each other is not in it.
#pragma once

#include "live/profile/observe.h"
#include "sim/scenario/scenario.h"

#include <vector>

namespace live {

/// Ranks enough: the first of each pipeline rank, whose shapes may differ, and up to eight in all, which take each other's cache
/// as those of the whole would.
std::vector<int> rehearsedRanks(const sim::Scenario&);

struct Rehearsal {
    ObservedRun alone; ///< the rehearsed ranks; membersOf says how many met in each transfer, as stand-ins leave no spans
    ObservedRun whole; ///< the layout
};

/// Both on the CPU, a step of one and a step of the other in turn, as a machine that others use is faster at one moment than at
/// the next. What stand-ins send is made up, so that losses mean nothing; each sends experts as many rows as the rank does, dealt
/// so that all experts' ranks get as many, as the simulator has it. Throws sim::Error as Run does.
Rehearsal rehearse(const sim::Scenario&, const ObserveOptions& = {});

} // namespace live
