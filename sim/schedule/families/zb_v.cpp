// ZB-V (Qi et al., arXiv 2401.10241, section 6): two chunks a rank, placed as a V, so that backwards start where forwards end.
// The order is PyTorch's ScheduleZBVZeroBubble.
#include "sim/schedule/families/family_parts.h"

#include <algorithm>
#include <array>

namespace sim {

namespace {

Schedule makeZbV(const ScheduleRequest& request)
{
    const int ranks = request.ranks;
    // The pattern is made for at least 2p - 1 micro-batches; with fewer, the others are left out.
    const int planned = std::max(2 * ranks - 1, request.microbatches);
    return filled(vSchedule(request), 6 * asIndex(request.microbatches), [&](int rank, auto& actions) {
        const std::array<int, 2> stage{rank, 2 * ranks - 1 - rank};
        std::array<int, 2> forwards{}, inputs{}, weights{};
        const auto put = [&](Action action) {
            if (action.microbatch < request.microbatches)
                actions.push_back(action);
        };
        const auto forward = [&](std::size_t chunk) { put(forwardOf(stage[chunk], forwards[chunk]++)); };
        const auto input = [&](std::size_t chunk) { put(inputGradientOf(stage[chunk], inputs[chunk]++)); };
        const auto weight = [&](std::size_t chunk) { put(weightGradientOf(stage[chunk], weights[chunk]++)); };

        for (int i = 0; i < 2 * (ranks - rank) - 1; ++i)
            forward(0);
        for (int i = 0; i < rank; ++i) {
            forward(1);
            forward(0);
        }
        for (int i = 0; i < ranks - rank; ++i) {
            forward(1);
            input(1);
            weight(1);
        }
        while (forwards[1] < forwards[0] || forwards[0] < planned) {
            if (forwards[0] < planned)
                forward(0);
            input(0);
            weight(0);
            forward(1);
            input(1);
            weight(1);
        }
        for (int i = 0; i < rank; ++i) {
            input(0);
            input(1);
        }
        for (int i = 0; i < ranks - rank; ++i) {
            input(0);
            weight(0);
        }
        while (weights[1] < inputs[1])
            weight(1);
        while (weights[0] < inputs[0])
            weight(0);
    });
}

} // namespace

ScheduleFamily zbVFamily()
{
    return {.kind = "zb-v",
            .title = "ZB-V",
            .character =
                "on a V: no rank waits between its first and last pass where passes take equally long; holds as much as 1F1B",
            .source = "Qi et al., arXiv 2401.10241, section 6; PyTorch ScheduleZBVZeroBubble",
            .chunks = {2, 2},
            .slots = [](double ranks, double microbatches) { return ranks * std::max(2 * ranks - 1, microbatches); },
            .make = makeZbV};
}

} // namespace sim
