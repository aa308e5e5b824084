// Interleaved 1F1B (arXiv 2104.04473), Megatron Core's forward_backward_pipelining_with_interleaving. Micro-batches go in groups
// of N: a rank runs a group through its first chunk, then through its second, and so on. PyTorch's ScheduleInterleaved1F1B is the
// same with N = m / max(1, m / p).
#include "sim/cancel.h"
#include "sim/scenario/schedule_kinds.h"
#include "sim/schedule/family_parts.h"

#include <algorithm>
#include <vector>

namespace sim {

namespace {

int groupOf(const ScheduleRequest& request)
{
    return request.microbatchGroup > 0 ? request.microbatchGroup : request.ranks;
}

/// "groups of 4, 5 or 8": sizes that take these micro-batches, nearest to the one asked for first, at most three.
std::string legalGroups(const ScheduleRequest& request, int asked)
{
    std::vector<int> sizes;
    const int from = std::clamp(asked, request.ranks, request.microbatches);
    for (int distance = 0; distance <= request.microbatches && sizes.size() < 3; ++distance)
        for (const int size : {from - distance, from + distance})
            if (isLegalGroup(request.ranks, size, request.microbatches) &&
                std::find(sizes.begin(), sizes.end(), size) == sizes.end())
                sizes.push_back(size);
    std::sort(sizes.begin(), sizes.end());
    std::string text;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        text += (i == 0 ? "" : i + 1 == sizes.size() ? " or " : ", ") + std::to_string(sizes[i]);
    return text;
}

std::string nearestMicrobatches(int ranks, int group, int asked)
{
    int below = asked;
    while (below >= group && !isLegalGroup(ranks, group, below))
        --below;
    int above = std::max(asked, group);
    while (!isLegalGroup(ranks, group, above))
        ++above;
    return (below >= group ? std::to_string(below) + " or " : "") + std::to_string(above);
}

std::optional<std::string> unmet(const ScheduleRequest& request)
{
    if (request.ranks == 1)
        return "interleaved-1f1b needs at least 2 pipeline ranks, it has 1; with one rank use 1f1b";
    if (auto problem = basicsUnmet(request, 2, 0))
        return problem;
    if (request.microbatchGroup < 0)
        return "the interleaving group is " + std::to_string(request.microbatchGroup) +
               "; it must be positive, or 0 for the number of ranks";
    const int group = groupOf(request);
    const int microbatches = request.microbatches;
    if (isLegalGroup(request.ranks, group, microbatches))
        return std::nullopt;

    const std::string setting = "interleaved-1f1b on " + std::to_string(request.ranks) + " pipeline ranks";
    const std::string groupText =
        "groups of " + std::to_string(group) + (request.microbatchGroup == 0 ? " (default: as many as ranks)" : "");
    if (microbatches < request.ranks)
        return setting + " needs at least " + std::to_string(request.ranks) + " micro-batches, it has " +
               std::to_string(microbatches) + "; nearest: " + std::to_string(request.ranks) +
               (group == request.ranks ? "" : " in groups of " + std::to_string(request.ranks));
    const std::string groups = legalGroups(request, group);
    const std::string instead = groups.empty() ? "" : ", or groups of " + groups;
    if (group < request.ranks)
        return setting + " cannot take " + groupText + ": a group must hold at least " + std::to_string(request.ranks) +
               " micro-batches; nearest: groups of " + groups;
    if (group > microbatches)
        return setting + " cannot take " + groupText + " out of " + microbatchesText(microbatches) +
               "; nearest: " + std::to_string(group) + " micro-batches" + instead;
    return setting + ", " + groupText + ": " + microbatchesText(microbatches) + " leave a last group of " +
           std::to_string(microbatches % group) + ", which is neither 0 nor at least " + std::to_string(request.ranks) +
           "; nearest: " + nearestMicrobatches(request.ranks, group, microbatches) + " micro-batches" + instead;
}

Schedule make(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    const int ranks = request.ranks;
    const int chunks = request.virtualStages;
    const int group = groupOf(request);

    // The order in which a rank's virtual micro-batches (micro-batch, chunk) enter; backwards run it with the chunks reversed.
    struct Virtual {
        int microbatch, chunk;
    };
    std::vector<Virtual> table;
    for (int first = 0; first < request.microbatches; first += group)
        for (int chunk = 0; chunk < chunks; ++chunk)
            for (int microbatch = first; microbatch < std::min(first + group, request.microbatches); ++microbatch)
                table.push_back({microbatch, chunk});

    for (int rank = 0; rank < ranks; ++rank) {
        checkCancelled();
        auto& actions = schedule.actions[static_cast<std::size_t>(rank)];
        actions.reserve(2 * table.size());
        const int extra = request.overlapExpertComm ? 1 : 0;
        const auto warmup = std::min(table.size(), static_cast<std::size_t>(2 * (ranks - 1 - rank)) +
                                                       static_cast<std::size_t>(chunks - 1) * static_cast<std::size_t>(group) +
                                                       static_cast<std::size_t>(extra));
        const auto forward = [&](const Virtual& at) { return forwardOf(at.chunk * ranks + rank, at.microbatch); };
        const auto backward = [&](const Virtual& at) {
            return backwardOf((chunks - 1 - at.chunk) * ranks + rank, at.microbatch);
        };
        for (std::size_t k = 0; k < warmup; ++k)
            actions.push_back(forward(table[k]));
        appendPairs(
            request, actions, table.size(), warmup, [&](std::size_t k) { return forward(table[k]); },
            [&](std::size_t k) { return backward(table[k]); });
    }
    return schedule;
}

} // namespace

ScheduleFamily interleavedFamily()
{
    return {.kind = "interleaved-1f1b",
            .title = "Interleaved 1F1B",
            .character =
                "v chunks a rank make 1F1B's bubble v times smaller, for v times the pipeline traffic and more activations",
            .source = "Narayanan et al., arXiv 2104.04473; Megatron Core, PyTorch ScheduleInterleaved1F1B",
            .minVirtualStages = 2,
            .maxVirtualStages = 0,
            .unmet = unmet,
            .make = make};
}

} // namespace sim
