// What a rank stores: its part of every weight matrix, and its part of what belongs to it (gradients, optimizer states), to the
// element. The tensors of sim/model/tensors.h, seen from a rank.
#pragma once

#include "sim/model/tensors.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// First index and one past the last.
struct IndexRange {
    std::int64_t begin = 0, end = 0;
    std::int64_t length() const { return end - begin; }
    bool operator==(const IndexRange&) const = default;
};

/// A tensor that every layer of a group has, or one of the model's ends.
struct TensorHolding : Tensor {
    /// Equal pieces along the split. Fewer than ranks where key-value heads are; the last may reach beyond the tensor
    /// (a padded vocabulary).
    int pieces = 1, piece = 0;
    int expertBlocks = 1, expertBlock = 0; ///< routed experts lie in equal blocks on the ranks of an expert-parallel group
    /// The first rank of this rank's groups that has each piece, [expertBlock * pieces + piece]; its own number for its own.
    std::vector<int> owners;
    /// The output projection is the embedding: `same`: of this rank, no memory of its own. `copy`: of another pipeline rank.
    enum class Tied : std::uint8_t { no, same, copy } tied = Tied::no;

    std::int64_t elements = 0;     ///< of this rank in all layers of its group, before any ZeRO sharding
    std::int64_t narrow = 0;       ///< of those, what products read in 8 or 4 bits where the precision says so
    MemoryBreakdown bytes;         ///< of all; as buffers what ZeRO 3 gathers for a whole step, and narrow copies
    std::int64_t narrowCopies = 0; ///< bytes, of the buffers
    bool isGathered() const { return bytes.buffers > narrowCopies; }

    IndexRange rowRange() const { return split == TensorSplit::rows ? part(rows, pieces, piece) : IndexRange{0, rows}; }
    IndexRange columnRange() const
    {
        return split == TensorSplit::columns ? part(columns, pieces, piece) : IndexRange{0, columns};
    }
    IndexRange expertRange() const { return part(experts, expertBlocks, expertBlock); }
    /// What one of `pieces` equal pieces covers, rounded up.
    static IndexRange part(std::int64_t size, int pieces, int piece);
};

/// Layers with the same tensors, or an end of the model.
struct HoldingGroup {
    ModelPart part = ModelPart::dense;
    std::vector<int> layers; ///< ascending; none at the ends of the model; prediction modules count on from the model's last
    std::vector<TensorHolding> tensors;
    MemoryBreakdown bytes;
};

/// The ranks that ZeRO shares states out to, in order: rank i of them has the i-th part of every tensor.
struct ShardGroup {
    std::vector<int> ranks;
    int index = 0; ///< of the rank itself
};

struct Holdings {
    int rank = 0;
    std::vector<int> stages; ///< of the schedule, ascending
    std::vector<int> layers; ///< of the model, ascending
    std::vector<HoldingGroup> groups;
    std::int64_t elements = 0;       ///< before any ZeRO sharding
    std::int64_t routedElements = 0; ///< of those, the experts'
    MemoryBreakdown bytes;    ///< those of the simulation: parameters, gradients, optimizer, gathered parameters and copies
    ShardGroup dense, routed; ///< one rank where nothing is shared out
    int zeroStage = 0;
};

/// O(tensors + ranks of its groups).
Holdings holdingsOf(const Simulation&, int rank);

/// What a model's tensors are called, "MLP up".
std::vector<std::string> tensorNames(const Model&);

} // namespace sim
