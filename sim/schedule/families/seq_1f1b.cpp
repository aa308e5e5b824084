// Seq1F1B (Sun et al., arXiv 2406.03488): 1F1B over slices of a sequence. Forwards of a micro-batch's slices go in order,
// backwards in reverse, so the bubble and the activations are those of micro-batches k times smaller.
#include "sim/schedule/families/family_parts.h"

#include <algorithm>

namespace sim {

namespace {

Schedule makeSeqOneFOneB(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    const int slices = request.slices;
    const int units = request.microbatches * slices;
    schedule.slices = slices;
    schedule.microbatches = units;
    return filled(std::move(schedule), 2 * asIndex(units), [&](int rank, auto& actions) {
        const int warmup = std::min(request.ranks - rank - 2 + slices, units);
        for (int unit = 0; unit < warmup; ++unit)
            actions.push_back(forwardOf(rank, unit));
        for (int unit = 0; unit < units; ++unit) {
            if (warmup + unit < units)
                actions.push_back(forwardOf(rank, warmup + unit));
            const int first = unit / slices * slices;
            actions.push_back(backwardOf(rank, first + slices - 1 - (unit - first)));
        }
    });
}

} // namespace

ScheduleFamily seq1f1bFamily()
{
    return {.kind = "seq-1f1b",
            .title = "Seq1F1B",
            .character =
                "1F1B over k slices of each sequence: bubble k times smaller, activations the nearer to it the more ranks",
            .source = "Sun et al., Seq1F1B, arXiv 2406.03488",
            .chunks = {1, 1},
            .usualSlices = 4, // of the paper's experiments
            .make = makeSeqOneFOneB};
}

} // namespace sim
