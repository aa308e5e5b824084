// GPipe (Huang et al., arXiv 1811.06965): all forwards, then all backwards in ascending order, as PyTorch's ScheduleGPipe drains.
#include "sim/cancel.h"
#include "sim/schedule/family_parts.h"

namespace sim {

namespace {

std::optional<std::string> unmet(const ScheduleRequest& request)
{
    return basicsUnmet(request, 1, 1);
}

Schedule make(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    for (int rank = 0; rank < request.ranks; ++rank) {
        checkCancelled();
        auto& actions = schedule.actions[static_cast<std::size_t>(rank)];
        actions.reserve(2 * static_cast<std::size_t>(request.microbatches));
        for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
            actions.push_back(forwardOf(rank, microbatch));
        for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
            actions.push_back(backwardOf(rank, microbatch));
    }
    return schedule;
}

} // namespace

ScheduleFamily gpipeFamily()
{
    return {.kind = "gpipe",
            .title = "GPipe",
            .character = "simplest order; bubble of p - 1 micro-batches, and every micro-batch's activations are held at once",
            .source = "GPipe, arXiv 1811.06965; PyTorch ScheduleGPipe",
            .minVirtualStages = 1,
            .maxVirtualStages = 1,
            .unmet = unmet,
            .make = make};
}

} // namespace sim
