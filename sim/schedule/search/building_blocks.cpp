#include "sim/schedule/search/building_blocks.h"

#include "sim/cancel.h"
#include "sim/schedule/families/controllable_memory.h"
#include "sim/schedule/families/family_parts.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace sim {

namespace {

/// Slots of one rank's passes of micro-batch 0.
struct RankBlock {
    std::array<int, 4> passes{};  ///< F of the first chunk, F of the second, I of the second, I of the first
    std::array<int, 2> weights{}; ///< of the second chunk, of the first
};

/// Nothing if two passes of a rank fall on the same slot.
std::optional<RankBlock> blockOf(const BuildingBlock& block, int rank, int ranks)
{
    RankBlock of;
    const int last = ranks - 1;
    int begin = 0; // of the leg
    for (std::size_t leg = 0; leg < 4; ++leg) {
        const int way = leg % 2 == 0 ? rank : last - rank;
        of.passes[leg] = begin + block.stride[leg] * way;
        begin += block.stride[leg] * last + (leg < 3 ? block.turn[leg] : 0);
    }
    unsigned taken = 0;
    const auto take = [&](int slot) {
        const unsigned bit = 1U << static_cast<unsigned>(slot % kBlockPeriod);
        const bool isFree = (taken & bit) == 0;
        taken |= bit;
        return isFree;
    };
    for (const int slot : of.passes)
        if (!take(slot))
            return std::nullopt;
    for (const std::size_t which : {0U, 1U}) {
        of.weights[which] = of.passes[2 + which] + 1;
        while (!take(of.weights[which]))
            ++of.weights[which];
    }
    return of;
}

/// Most activations that the rank holds once the block repeats.
double heldBy(const PipelineProblem& problem, const RankBlock& block, int rank)
{
    const auto first = static_cast<std::size_t>(rank);
    const std::size_t second = problem.stages() - 1 - first;
    const auto turns = [](int slots) { return slots >= 0 ? slots / kBlockPeriod + 1 : 0; };
    double most = 0;
    for (int phase = 0; phase < kBlockPeriod; ++phase) {
        // Late enough for every pass of the block to have begun to repeat.
        const int now = block.weights[1] / kBlockPeriod * kBlockPeriod + 2 * kBlockPeriod + phase;
        const auto held = [&](std::size_t stage, int forward, int input, int weight) {
            const PassMemory& memory = problem.memory[stage];
            return memory.full * (turns(now - forward) - turns(now - 1 - input)) +
                   memory.weight * (turns(now - 1 - input) - turns(now - 1 - weight));
        };
        most = std::max(most, held(first, block.passes[0], block.passes[3], block.weights[1]) +
                                  held(second, block.passes[1], block.passes[2], block.weights[0]));
    }
    return most;
}

} // namespace

std::vector<BuildingBlock> buildingBlocks(const PipelineProblem& problem, std::size_t most)
{
    struct Rated {
        double held;
        int length;
        BuildingBlock block;
    };
    constexpr int kStrides = 3, kTurns = 6;
    const int ranks = problem.frame.ranks;
    const int microbatches = problem.frame.microbatches;
    std::vector<Rated> rated;
    if (blockSlots(ranks, microbatches) > kMostSlots)
        return {};
    CancelPoll poll;
    for (int code = 0; code < kStrides * kStrides * kStrides * kStrides * kTurns * kTurns * kTurns; ++code) {
        BuildingBlock block;
        int rest = code;
        for (int& stride : block.stride) {
            stride = 1 + rest % kStrides;
            rest /= kStrides;
        }
        for (int& turn : block.turn) {
            turn = 1 + rest % kTurns;
            rest /= kTurns;
        }
        double held = 0;
        int length = 0;
        bool possible = true;
        for (int rank = 0; rank < ranks && possible; ++rank) {
            poll(16);
            const auto of = blockOf(block, rank, ranks);
            if (of)
                held = std::max(held, heldBy(problem, *of, rank));
            possible = of && problem.fits(held);
            length = of ? std::max(length, of->weights[1]) : length;
        }
        // A block longer than all the micro-batches after it never reaches its steady state.
        if (possible && length <= kBlockPeriod * (microbatches + ranks))
            rated.push_back({held, length, block});
    }
    std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) {
        return std::tuple(-a.held, a.length) < std::tuple(-b.held, b.length);
    });
    std::vector<BuildingBlock> blocks;
    for (std::size_t i = 0; i < std::min(most, rated.size()); ++i)
        blocks.push_back(rated[i].block);
    return blocks;
}

Schedule repeatedBlock(const PipelineProblem& problem, const BuildingBlock& block)
{
    const ScheduleRequest request{.ranks = problem.frame.ranks, .virtualStages = 2, .microbatches = problem.frame.microbatches};
    std::vector<BlockOffsets> offsets;
    offsets.reserve(problem.ranks());
    for (int rank = 0; rank < request.ranks; ++rank)
        offsets.push_back(blockOf(block, rank, request.ranks)->passes);
    return repeatBlock(request, offsets);
}

} // namespace sim
