// The order in which the passes of a layout run, as far as it follows from its sizes alone: what waits for what, and what passes
// are held at once. Shared by all layouts of the same pipeline, however each splits the model. Private to sim/planner.
#pragma once

#include "sim/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sim {

/// A pass, behind all that it waits for.
struct OrderedPass {
    std::int32_t source = -1; ///< index of the pass whose message it waits for; -1: of none
    std::int16_t rank = 0;
    std::int16_t part = 0; ///< of the model
    ActionKind kind = ActionKind::forward;
    bool crosses = false;      ///< its message comes from another rank
    bool overlapsNext = false; ///< as Action's
};

/// At a moment when a rank holds the activations of most passes.
struct HeldPasses {
    std::vector<std::pair<int, int>> passes; ///< part of the model, how many of it
    std::vector<int> gradients;              ///< parts whose gradients are being added up; one that lies here twice, twice
    int backwardPart = -1;                   ///< that then runs a whole backward pass; -1: none does
};
/// The first such moment, and the last.
using MostHeld = std::array<HeldPasses, 2>;

struct PassOrder {
    std::vector<OrderedPass> passes; ///< empty: too many to be kept
    std::vector<MostHeld> held;      ///< [rank]
};

/// What one part of the model takes, in nanoseconds, and how long it lasts until a message is there.
struct PartTimes {
    double forward = 0, backward = 0, input = 0, weight = 0;
    double blockForward = 0, blockBackward = 0; ///< of what takes turns where two run as one block
    double early = 0;                           ///< of backward and input, at most: what need not wait for the message
};

PassOrder orderOf(const Schedule&);

/// [rank]: when its last pass ends at the earliest, counted from the step's first pass. Of a block each half takes its own
/// kernels, both together all of them. O(passes).
std::vector<double> endsOfRanks(const PassOrder&, std::span<const PartTimes>, double sendNs);

} // namespace sim
