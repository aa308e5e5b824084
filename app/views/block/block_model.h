// One transformer block as a rank runs it: the operators of a layer in the order of its stream, with the shapes that are left to
// it, and the collectives between them. Read off the program that is simulated and its prices; nothing is worked out twice.
#pragma once

#include "sim/model/tensors.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace app {

/// What a rank holds of a matrix.
struct BlockMatrix {
    std::string name;
    std::int64_t rows = 0, columns = 0; ///< of the whole
    sim::TensorSplit split = sim::TensorSplit::whole;
    int pieces = 1, piece = 0; ///< equal ones along the split, and this rank's
    int experts = 0;           ///< routed: as many matrices in all; 0: one
};

struct BlockRow {
    std::string name;  ///< "attention QKV"
    std::string shape; ///< "4,096 × 8,192 · 8,192 × 1,280"; of a collective what it moves
    sim::OpClass opClass = sim::OpClass::other;
    sim::CommunicatorRole role = sim::CommunicatorRole::none; ///< none: a kernel
    std::vector<int> members;                                 ///< of the collective, ascending
    std::vector<BlockMatrix> matrices;                        ///< that it multiplies with
    std::int64_t bytes = 0;                                   ///< whole tensor of a collective; what a kernel reads and writes
    double flops = 0;
    std::int64_t ns = 0; ///< with the machine to itself
    int repeats = 1;     ///< alike ones behind each other: a ring's steps
    bool again = false;  ///< recomputed
    bool isCollective() const { return role != sim::CommunicatorRole::none; }
};

struct BlockPass {
    std::vector<BlockRow> rows;
    std::int64_t ns = 0; ///< of its kernels, on the compute stream
};

struct Block {
    int rank = 0;
    int layer = -1;        ///< of the model; -1: the rank has none
    bool isShared = false; ///< FSDP: parameters are gathered, gradients scattered
    BlockPass forward, backward;
    std::int64_t longestNs() const;
};

/// The middle layer of the rank's first stage that has layers, of the pass in which most is done for it. O(ops of a pass).
Block blockOf(const sim::Simulation&, int rank);

/// "tp all-gather", "dp reduce-scatter": what a person calls it.
std::string collectiveText(sim::CommunicatorRole, sim::CollectiveKind);

} // namespace app
