// Breadth-first pipeline (arXiv 2211.05953): all micro-batches through a chunk before the next one; backwards run chunks and
// micro-batches in reverse, as PyTorch's ScheduleLoopedBFS does.
#include "sim/cancel.h"
#include "sim/schedule/family_parts.h"

namespace sim {

namespace {

std::optional<std::string> unmet(const ScheduleRequest& request)
{
    return basicsUnmet(request, 1, 0);
}

Schedule make(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    for (int rank = 0; rank < request.ranks; ++rank) {
        checkCancelled();
        auto& actions = schedule.actions[static_cast<std::size_t>(rank)];
        actions.reserve(2 * static_cast<std::size_t>(request.virtualStages) * static_cast<std::size_t>(request.microbatches));
        for (int chunk = 0; chunk < request.virtualStages; ++chunk)
            for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
                actions.push_back(forwardOf(chunk * request.ranks + rank, microbatch));
        for (int chunk = request.virtualStages - 1; chunk >= 0; --chunk)
            for (int microbatch = request.microbatches - 1; microbatch >= 0; --microbatch)
                actions.push_back(backwardOf(chunk * request.ranks + rank, microbatch));
    }
    return schedule;
}

} // namespace

ScheduleFamily loopedBfsFamily()
{
    return {.kind = "looped-bfs",
            .title = "Looped BFS",
            .character =
                "the interleaved bubble, each chunk's weights used in one burst (good for FSDP), all activations held at once",
            .source = "Breadth-First Pipeline Parallelism, arXiv 2211.05953; PyTorch ScheduleLoopedBFS",
            .minVirtualStages = 1,
            .maxVirtualStages = 0,
            .unmet = unmet,
            .make = make};
}

} // namespace sim
