// Seq1F1B (Sun et al., arXiv 2406.03488): 1F1B over slices of a sequence. Forwards of a micro-batch's slices go in order,
// backwards in reverse, so the bubble and the activations are those of micro-batches k times smaller.
#include "sim/cancel.h"
#include "sim/schedule/family_parts.h"

#include <algorithm>

namespace sim {

namespace {

std::optional<std::string> unmet(const ScheduleRequest& request)
{
    if (auto problem = basicsUnmet(request, 1, 1))
        return problem;
    constexpr int kMostSlices = 4096;
    if (request.slices < 1 || request.slices > kMostSlices)
        return "seq-1f1b cuts a sequence into 1 to " + std::to_string(kMostSlices) + " slices, asked for " +
               std::to_string(request.slices);
    return std::nullopt;
}

Schedule make(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    const int slices = request.slices;
    const int units = request.microbatches * slices;
    schedule.slices = slices;
    schedule.microbatches = units;
    for (int rank = 0; rank < request.ranks; ++rank) {
        checkCancelled();
        auto& actions = schedule.actions[static_cast<std::size_t>(rank)];
        actions.reserve(2 * static_cast<std::size_t>(units));
        const int warmup = std::min(request.ranks - rank - 2 + slices, units);
        for (int unit = 0; unit < warmup; ++unit)
            actions.push_back(forwardOf(rank, unit));
        for (int unit = 0; unit < units; ++unit) {
            if (warmup + unit < units)
                actions.push_back(forwardOf(rank, warmup + unit));
            const int first = unit / slices * slices;
            actions.push_back(backwardOf(rank, first + slices - 1 - (unit - first)));
        }
    }
    return schedule;
}

} // namespace

ScheduleFamily seq1f1bFamily()
{
    return {.kind = "seq-1f1b",
            .title = "Seq1F1B",
            .character = "1F1B over k slices of each sequence: its bubble and its activations nearly k times smaller",
            .source = "Sun et al., Seq1F1B, arXiv 2406.03488",
            .minVirtualStages = 1,
            .maxVirtualStages = 1,
            .unmet = unmet,
            .make = make};
}

} // namespace sim
