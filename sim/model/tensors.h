// The transformer, written once: which tensors a part of the model has, their shapes, how the ranks cut them, and which operator
// works with them. Parameters, FLOPs, operators, what a rank stores and the explanations of all these are read from this table.
//
// Matrices are those of y = x A: rows are inputs, columns outputs. A column-parallel layer cuts columns, a row-parallel one rows
// (Shoeybi et al. 2019, section 3).
#pragma once

#include "sim/checked.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sim {

/// An end of the model, a layer of a kind, or a module that predicts further tokens, its layer and its uses of the ends in it.
enum class ModelPart : std::uint8_t { embedding, dense, moe, head, prediction };
inline constexpr std::array kModelParts = {ModelPart::embedding, ModelPart::dense, ModelPart::moe, ModelPart::head,
                                           ModelPart::prediction};
/// How many the model has.
int partCount(const Model&, ModelPart);

/// Elements of a head's query or key, and of its value.
struct HeadSize {
    int queryKey = 0, value = 0;
    static HeadSize of(const Model&);
};

enum class TensorSplit : std::uint8_t {
    whole,   ///< every rank of the tensor-parallel group has all of it
    columns, ///< column-parallel
    rows     ///< row-parallel; also a vocabulary's embedding
};

enum class TensorRole : std::uint8_t {
    lookup,      ///< a token takes a row of it
    elementwise, ///< norms, positions, sinks
    attention,   ///< a token is multiplied with it, and with what follows
    router,
    mlp,
    head,
    projection, ///< of a prediction module
    adapter     ///< beside a frozen matrix
};

/// Of a layer's routed experts: all that it has, or those that one token goes to.
enum class Experts : std::uint8_t { all, ofToken };

/// Stack::wholeEmbedding and Stack::wholeHead; tied weights are one tensor, which is whole at both ends or at none.
struct WholeEnds {
    bool embedding = false, head = false;
};
WholeEnds wholeEnds(const Scenario&);

/// How the ranks of a layout cut tensors.
struct TensorCut {
    int tp = 1, etp = 1, ep = 1;
    bool copiesHeads = true; ///< more ranks than key-value heads: several keep the same, instead of parts (Stack::gathersHeads)
    bool wholeEmbedding = false, wholeHead = false; ///< wholeEnds
    static TensorCut of(const Scenario&);
    /// Words of the vocabulary of which a rank has the embedding.
    std::int64_t embedded(std::int64_t vocabulary) const;
};

struct Tensor {
    std::string_view name;   ///< "query"
    std::string_view usedBy; ///< the operator "attn.qkv": what one uses lies side by side in its product
    TensorRole role = TensorRole::elementwise;
    std::int64_t rows = 1, columns = 1;
    bool biased = false; ///< one more element a column: a bias, or beside a norm's weight
    TensorSplit split = TensorSplit::whole;
    int heads = 0;               ///< of key or value: where they are fewer than ranks, TensorCut::copiesHeads
    int experts = 0, chosen = 0; ///< routed: as many tensors, and how many of them a token goes to; 0: an ordinary tensor
    bool tiedToEmbedding = false;
    bool ofMainModel = false; ///< a prediction module uses the embedding or the head of the model: no parameters of its own

    bool isAdapter() const { return role == TensorRole::adapter; }
    /// Beside adapters all else is frozen.
    bool isTrained(const Model& model) const { return isAdapter() || !model.lora.isOn(); }
    bool isMultiplied() const { return role != TensorRole::lookup && role != TensorRole::elementwise; }
    bool isRouted() const { return experts > 0; }
    /// Its product runs in 8 or 4 bits where the precision says so.
    bool isNarrowed() const { return role == TensorRole::attention || role == TensorRole::mlp || role == TensorRole::projection; }
    double weights() const { return static_cast<double>(rows) * static_cast<double>(columns); }
    Checked elementCount() const { return Checked(rows) * columns + (biased ? columns : 0); }
    int copies(Experts which) const { return !isRouted() ? 1 : which == Experts::all ? experts : chosen; }
    /// Equal pieces along the split, the last padded: tensor parallelism cuts, that of experts the routed.
    int piecesOn(const TensorCut&) const;
    /// What a rank has of it.
    Tensor ofRank(const TensorCut&) const;
};

/// In the order in which a token meets them.
std::vector<Tensor> tensorsOf(const Model&, ModelPart);
/// Elements of the matrices of one role, biases apart.
double weightsOf(const Model&, ModelPart, TensorRole, Experts = Experts::ofToken);

} // namespace sim
