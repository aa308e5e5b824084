// GPipe (Huang et al., arXiv 1811.06965): all forwards, then all backwards in ascending order, as PyTorch's ScheduleGPipe drains.
#include "sim/schedule/families/family_parts.h"

namespace sim {

namespace {

Schedule makeGpipe(const ScheduleRequest& request)
{
    return filled(loopSchedule(request), 2 * asIndex(request.microbatches), [&](int rank, auto& actions) {
        for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
            actions.push_back(forwardOf(rank, microbatch));
        for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
            actions.push_back(backwardOf(rank, microbatch));
    });
}

} // namespace

ScheduleFamily gpipeFamily()
{
    return {.kind = "gpipe",
            .title = "GPipe",
            .character = "simplest order; bubble of p - 1 micro-batches, and every micro-batch's activations are held at once",
            .source = "GPipe, arXiv 1811.06965; PyTorch ScheduleGPipe",
            .chunks = {1, 1},
            .bubble = {"(p − 1) / (m + p − 1)", fillAndDrain, "Huang et al. 2019 (GPipe), section 2.3"},
            .make = makeGpipe};
}

} // namespace sim
