// The handcrafted zero-bubble schedules (Qi et al., arXiv 2401.10241, section 2 and figure 3), and PyTorch's generalisation of
// ZB-H1 to several chunks a rank. Weight gradients wait until they fill a gap.
#include "sim/schedule/families/family_parts.h"

#include <algorithm>

namespace sim {

namespace {

/// Each rank: `warmup` forwards; then forward, input gradient, and the weight gradient `lag` micro-batches back; the rest of the
/// weight gradients at the end. `forwardLast`: the round's forward comes after its gradients.
template <class Warmup, class Lag>
Schedule delayedWeights(const ScheduleRequest& request, Warmup&& warmup, Lag&& lag, bool forwardLast)
{
    const int microbatches = request.microbatches;
    return filled(loopSchedule(request), 3 * asIndex(microbatches), [&](int rank, auto& actions) {
        int forwards = 0;
        const auto forward = [&] {
            if (forwards < microbatches)
                actions.push_back(forwardOf(rank, forwards++));
        };
        for (const int count = std::min(warmup(rank), microbatches); forwards < count;)
            forward();
        for (int k = 0; k < microbatches; ++k) {
            if (!forwardLast)
                forward();
            actions.push_back(inputGradientOf(rank, k));
            if (k >= lag(rank))
                actions.push_back(weightGradientOf(rank, k - lag(rank)));
            if (forwardLast)
                forward();
        }
        for (int k = std::max(0, microbatches - lag(rank)); k < microbatches; ++k)
            actions.push_back(weightGradientOf(rank, k));
    });
}

Schedule makeH1(const ScheduleRequest& request)
{
    const int last = request.ranks - 1;
    return delayedWeights(
        request, [=](int rank) { return last - rank; }, [](int rank) { return rank; }, false);
}

Schedule makeH2(const ScheduleRequest& request)
{
    const int ranks = request.ranks;
    return delayedWeights(
        request, [=](int rank) { return 2 * (ranks - rank) - 1; }, [](int rank) { return 2 * rank; }, true);
}

/// PyTorch deals micro-batches in max(1, m / p) rounds of equal size.
int groupOfEvenRounds(int ranks, int microbatches)
{
    return microbatches / std::max(1, microbatches / ranks);
}

Schedule makeInterleaved(const ScheduleRequest& request)
{
    const int chunks = request.virtualStages;
    const int group =
        request.microbatchGroup > 0 ? request.microbatchGroup : groupOfEvenRounds(request.ranks, request.microbatches);
    const int total = chunks * request.microbatches;
    // The k-th pass of a rank: rounds of `group` micro-batches through each chunk in turn.
    const auto chunkAt = [&](int k) { return k / group % chunks; };
    const auto microbatchAt = [&](int k) { return k / (group * chunks) * group + k % group; };
    return filled(loopSchedule(request), 3 * asIndex(total), [&](int rank, auto& actions) {
        const int warmup = std::min((chunks - 1) * group + request.ranks - 1 - rank, total);
        const auto stageOf = [&](int chunk) { return chunk * request.ranks + rank; };
        const auto backwardStage = [&](int k) { return stageOf(chunks - 1 - chunkAt(k)); };
        const auto forward = [&](int k) { actions.push_back(forwardOf(stageOf(chunkAt(k)), microbatchAt(k))); };
        for (int k = 0; k < warmup; ++k)
            forward(k);
        for (int k = 0; k < total; ++k) {
            if (warmup + k < total)
                forward(warmup + k);
            actions.push_back(inputGradientOf(backwardStage(k), microbatchAt(k)));
            if (k >= rank)
                actions.push_back(weightGradientOf(backwardStage(k - rank), microbatchAt(k - rank)));
        }
        for (int k = std::max(0, total - rank); k < total; ++k)
            actions.push_back(weightGradientOf(backwardStage(k), microbatchAt(k)));
    });
}

} // namespace

ScheduleFamily zbH1Family()
{
    return {
        .kind = "zb-h1",
        .title = "ZB-H1",
        .character =
            "weight gradients fill the gaps: a third of 1F1B's bubble where passes take equally long, as many micro-batches held",
        .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, figure 3",
        .chunks = {1, 1},
        .make = makeH1};
}

ScheduleFamily zbH2Family()
{
    return {.kind = "zb-h2",
            .title = "ZB-H2",
            .character = "no rank waits between its first and last pass where passes take equally long; holds nearly twice "
                         "1F1B's micro-batches",
            .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, figure 3",
            .chunks = {1, 1},
            .make = makeH2};
}

ScheduleFamily interleavedZbFamily()
{
    return {.kind = "interleaved-zb",
            .title = "Interleaved zero bubble",
            .character =
                "ZB-H1 over v chunks a rank: its bubble v times smaller where passes take equally long, for the activations "
                "of all chunks",
            .source = "PyTorch ScheduleInterleavedZeroBubble",
            .chunks = {1, 0},
            .usualGroup = groupOfEvenRounds,
            .microbatches = {
                .isMet = [](const PipelineNumbers& of) { return of.microbatches >= of.group && of.microbatches % of.group == 0; },
                .text = [](const PipelineNumbers&, const std::string& group) { return "whole rounds of " + group; }},
            .make = makeInterleaved};
}

} // namespace sim
