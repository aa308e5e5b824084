// Interleaved 1F1B (arXiv 2104.04473), Megatron Core's forward_backward_pipelining_with_interleaving. Micro-batches go in groups
// of N: a rank runs a group through its first chunk, then through its second, and so on. PyTorch's ScheduleInterleaved1F1B is the
// same with N = m / max(1, m / p).
#include "sim/schedule/families/family_parts.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sim {

namespace {

/// Megatron Core, schedules.py: the interleaving group lies in [ranks, micro-batches], and what is left over is nothing or fills
/// the pipeline. PyTorch takes fewer micro-batches than ranks as well, in one group.
bool isWhole(const PipelineNumbers& of)
{
    const std::int64_t left = of.group <= of.microbatches ? of.microbatches % of.group : -1;
    return left == 0 || left >= of.ranks;
}

/// Fewer micro-batches than ranks wait for each chunk to come round: a whole round of the ranks a chunk.
std::array<int, 2> fillAndDrainOrGoRound(int ranks, int chunks, int microbatches)
{
    if (microbatches >= ranks)
        return fillAndDrain(ranks, chunks, microbatches);
    const int all = chunks * ranks + microbatches - 1;
    return {all - chunks * microbatches, all};
}

int groupOfRanks(int ranks, int)
{
    return ranks;
}

Schedule makeInterleavedOneFOneB(const ScheduleRequest& request)
{
    const int ranks = request.ranks;
    const int chunks = request.virtualStages;
    const int group = request.microbatchGroup > 0 ? request.microbatchGroup : groupOfRanks(ranks, request.microbatches);

    // The order in which a rank's virtual micro-batches (micro-batch, chunk) enter; backwards run it with the chunks reversed.
    struct Virtual {
        int microbatch, chunk;
    };
    std::vector<Virtual> table;
    for (int first = 0; first < request.microbatches; first += group)
        for (int chunk = 0; chunk < chunks; ++chunk)
            for (int microbatch = first; microbatch < std::min(first + group, request.microbatches); ++microbatch)
                table.push_back({microbatch, chunk});

    return filled(loopSchedule(request), 2 * table.size(), [&](int rank, auto& actions) {
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
    });
}

} // namespace

ScheduleFamily interleavedFamily()
{
    return {.kind = "interleaved-1f1b",
            .title = "Interleaved 1F1B",
            .character = "v chunks a rank make 1F1B's bubble v times smaller where passes take equally long, for more than v "
                         "times the pipeline "
                         "traffic and more activations",
            .source = "Narayanan et al., arXiv 2104.04473; Megatron Core, PyTorch ScheduleInterleaved1F1B",
            .chunks = {2, 0},
            .overlapsExperts = true,
            .wantsRanks = "needs at least 2 pipeline ranks",
            .takesRanks = [](std::int64_t ranks) { return ranks > 1; },
            .usualGroup = groupOfRanks,
            .microbatches = {.isMet = isWhole,
                             .text =
                                 [](const PipelineNumbers& of, const std::string& group) {
                                     if (of.microbatches < of.group)
                                         return "at least " + microbatchesText(static_cast<int>(of.group)) + ", a whole group";
                                     if (of.group == of.ranks) // what fills the pipeline is a group
                                         return "whole groups of " + group;
                                     return "groups of " + group + ", the last one whole or of at least " +
                                            std::to_string(of.ranks);
                                 }},
            .bubble = {"(p − 1) / (v × m + p − 1)", fillAndDrainOrGoRound, "Narayanan et al. 2021, section 2.2.2",
                       "(v × p + m − 1 − v × m) / (v × p + m − 1)"},
            .make = makeInterleavedOneFOneB};
}

} // namespace sim
