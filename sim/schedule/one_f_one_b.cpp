// 1F1B = PipeDream-flush (arXiv 2006.09503): after min(p - 1 - r, m) warm-up forwards, rank r alternates one forward, one
// backward.
#include "sim/cancel.h"
#include "sim/schedule/family_parts.h"

#include <algorithm>

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
        // In blocks a forward cannot wait for the backward beside it: twice the distance, and one more for the pair.
        const int distance = request.ranks - 1 - rank;
        const int warmup = std::min(request.overlapExpertComm ? 2 * distance + 1 : distance, request.microbatches);
        for (int microbatch = 0; microbatch < warmup; ++microbatch)
            actions.push_back(forwardOf(rank, microbatch));
        appendPairs(
            request, actions, static_cast<std::size_t>(request.microbatches), static_cast<std::size_t>(warmup),
            [&](std::size_t k) { return forwardOf(rank, static_cast<int>(k)); },
            [&](std::size_t k) { return backwardOf(rank, static_cast<int>(k)); });
    }
    return schedule;
}

} // namespace

ScheduleFamily oneFOneBFamily()
{
    return {.kind = "1f1b",
            .title = "1F1B",
            .character = "GPipe's bubble, but a rank holds at most p micro-batches' activations",
            .source = "PipeDream-2BW, arXiv 2006.09503; Megatron Core, PyTorch Schedule1F1B",
            .minVirtualStages = 1,
            .maxVirtualStages = 1,
            .unmet = unmet,
            .make = make};
}

} // namespace sim
