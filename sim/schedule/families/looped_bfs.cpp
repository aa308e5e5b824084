// Breadth-first pipeline (arXiv 2211.05953): all micro-batches through a chunk before the next one; backwards run chunks and
// micro-batches in reverse, as PyTorch's ScheduleLoopedBFS does.
#include "sim/schedule/families/family_parts.h"

namespace sim {

namespace {

Schedule makeLoopedBfs(const ScheduleRequest& request)
{
    const std::size_t count = 2 * asIndex(request.virtualStages) * asIndex(request.microbatches);
    return filled(loopSchedule(request), count, [&](int rank, auto& actions) {
        for (int chunk = 0; chunk < request.virtualStages; ++chunk)
            for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
                actions.push_back(forwardOf(chunk * request.ranks + rank, microbatch));
        for (int chunk = request.virtualStages - 1; chunk >= 0; --chunk)
            for (int microbatch = request.microbatches - 1; microbatch >= 0; --microbatch)
                actions.push_back(backwardOf(chunk * request.ranks + rank, microbatch));
    });
}

} // namespace

ScheduleFamily loopedBfsFamily()
{
    return {.kind = "looped-bfs",
            .title = "Looped BFS",
            .character =
                "the interleaved bubble, each chunk's weights used in one burst (good for FSDP), all activations held at once",
            .source = "Breadth-First Pipeline Parallelism, arXiv 2211.05953; PyTorch ScheduleLoopedBFS",
            .chunks = {1, 0},
            .make = makeLoopedBfs};
}

} // namespace sim
