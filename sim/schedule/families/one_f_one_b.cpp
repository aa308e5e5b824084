// 1F1B = PipeDream-flush (arXiv 2006.09503): after min(p - 1 - r, m) warm-up forwards, rank r alternates one forward, one
// backward.
#include "sim/schedule/families/family_parts.h"

#include <algorithm>

namespace sim {

namespace {

Schedule makeOneFOneB(const ScheduleRequest& request)
{
    return filled(loopSchedule(request), 2 * asIndex(request.microbatches), [&](int rank, auto& actions) {
        // In blocks a forward cannot wait for the backward beside it: twice the distance, and one more for the pair.
        const int distance = request.ranks - 1 - rank;
        const int warmup = std::min(request.overlapExpertComm ? 2 * distance + 1 : distance, request.microbatches);
        for (int microbatch = 0; microbatch < warmup; ++microbatch)
            actions.push_back(forwardOf(rank, microbatch));
        appendPairs(
            request, actions, static_cast<std::size_t>(request.microbatches), static_cast<std::size_t>(warmup),
            [&](std::size_t k) { return forwardOf(rank, static_cast<int>(k)); },
            [&](std::size_t k) { return backwardOf(rank, static_cast<int>(k)); });
    });
}

} // namespace

ScheduleFamily oneFOneBFamily()
{
    return {.kind = "1f1b",
            .title = "1F1B",
            .character = "GPipe's bubble, but a rank holds at most p micro-batches' activations",
            .source = "PipeDream-2BW, arXiv 2006.09503; Megatron Core, PyTorch Schedule1F1B",
            .chunks = {1, 1},
            .overlapsExperts = true,
            .bubble = {"(p − 1) / (m + p − 1)", fillAndDrain, "Narayanan et al. 2021, section 2.2.1"},
            .make = makeOneFOneB};
}

} // namespace sim
