#include "live/runtime/stream_need.h"

#include "live/comm/gpu_streams.h"
#include "live/comm/processes.h"
#include "sim/index.h"
#include "sim/text/nearest.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace live {
namespace {

using sim::asIndex;

/// [group] the ranks that use it.
std::vector<std::set<int>> membersOfGroups(const CommPlan& plan)
{
    std::vector<std::set<int>> members;
    for (std::size_t rank = 0; rank < plan.requests.size(); ++rank)
        for (const PlannedRequest& request : plan.requests[rank]) {
            if (asIndex(request.group) >= members.size())
                members.resize(asIndex(request.group) + 1);
            members[asIndex(request.group)].insert(static_cast<int>(rank));
        }
    return members;
}

/// Of the GPU that has most.
struct StreamNeed {
    std::size_t streams = 0, ranks = 0;
};

StreamNeed streamNeedOf(const std::vector<std::set<int>>& groups, int gpus, int world)
{
    struct Counts {
        std::size_t ranks = 0, outside = 0, inside = 0;
    };
    std::vector<Counts> counts(asIndex(gpus));
    const std::vector<int> gpuOf = processesOfRanks(gpus, world);
    for (const int gpu : gpuOf)
        ++counts[asIndex(gpu)].ranks;
    for (const std::set<int>& members : groups) {
        std::set<int> places;
        for (const int rank : members)
            places.insert(gpuOf[asIndex(rank)]);
        for (const int gpu : places)
            if (places.size() > 1)
                ++counts[asIndex(gpu)].outside;
            else if (members.size() > 1)
                ++counts[asIndex(gpu)].inside;
    }
    StreamNeed most;
    for (const Counts& of : counts)
        if (const std::size_t streams = gpuStreams(of.ranks, of.outside, of.inside); streams > most.streams)
            most = {.streams = streams, .ranks = of.ranks};
    return most;
}

/// One GPU has no NCCL, whose kernels alone wait for those of others.
bool queuesSuffice(const StreamNeed& need, std::int64_t gpus)
{
    return gpus == 1 || need.streams <= kHardwareQueues;
}

} // namespace

std::string whyTooManyStreams(const CommPlan& plan, int gpus)
{
    const int world = static_cast<int>(plan.requests.size());
    const std::vector<std::set<int>> groups = membersOfGroups(plan);
    const StreamNeed need = streamNeedOf(groups, gpus, world);
    if (queuesSuffice(need, gpus))
        return {};
    std::string nearest;
    for (const std::int64_t other : sim::nearestValues(gpus, 1, world, [&](std::int64_t number) {
             return queuesSuffice(streamNeedOf(groups, static_cast<int>(number), world), number);
         }))
        nearest += (nearest.empty() ? "; nearest: --gpus " : " or --gpus ") + std::to_string(other) + " (" +
                   std::to_string(streamNeedOf(groups, static_cast<int>(other), world).streams) + " streams)";
    return (need.ranks == 1 ? "a rank of this layout uses " : std::to_string(need.ranks) + " ranks that share a GPU use ") +
           std::to_string(need.streams) + " streams with NCCL's, a GPU has " + std::to_string(kHardwareQueues) +
           " hardware queues, and streams that share one could wait for each other in a circle" +
           (nearest.empty() ? "; use fewer dimensions at once" : nearest + "; under a launcher as many processes");
}

} // namespace live
