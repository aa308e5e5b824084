// The sizes that one rank's kernels work with, and whether the live runtime can train a model at all.
#pragma once

#include "live/model/parameters.h"
#include "sim/mesh/mesh.h"
#include "sim/scenario/document.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <vector>

namespace live {

/// Sizes of tensors on one rank. Rows are tokens of one micro-batch (or of one slice of it).
struct Shape {
    std::int64_t hidden = 0;
    std::int64_t rows = 0;      ///< outside sequence-parallel regions
    std::int64_t localRows = 0; ///< inside them
    std::int64_t sequences = 1; ///< of a micro-batch
    int slices = 1;
    int headDim = 0, heads = 0, keyValueHeads = 0; ///< this rank's heads; headDim: of queries and keys
    int valueDim = 0;                              ///< of values
    int headCopies = 1;                            ///< tp ranks that have the same key-value head
    bool gathersHeads = false; ///< each of them has a part of its columns (as the stack says), which are gathered; else all
    std::int64_t queryColumns = 0, keyColumns = 0, valueColumns = 0; ///< heads * elements of one
    std::int64_t vocabulary = 0;                                     ///< of the model
    std::int64_t vocabularySlice = 0;                                ///< this rank's rows of the embedding, padding included
    std::int64_t firstToken = 0;                                     ///< the first of them
    bool sequenceParallel = false;
    int tp = 1, tpIndex = 0, cp = 1, cpIndex = 0;

    Slice tpSlice() const { return {tpIndex, tp}; }
    Slice keyValueSlice() const { return gathersHeads ? tpSlice() : Slice{tpIndex / headCopies, tp / headCopies}; }
    std::int64_t qkvColumns() const { return queryColumns + keyColumns + valueColumns; }
    /// Ranks that have parts of the columns of this rank's keys and values.
    int headParts() const { return gathersHeads ? headCopies : 1; }
    std::int64_t outputColumns() const { return std::int64_t{heads} * valueDim; } ///< of attention
    /// Rows of the slice that are real words.
    std::int64_t validTokens() const;
};

/// All of a valid scenario that live training does not do, with what it would do in its place; their file is empty.
std::vector<sim::Problem> problemsOfTraining(const sim::Scenario&);
/// Of more tensor-parallel ranks than key-value heads, each makes its part of the columns of keys and values and gathers those
/// of its head (sim::Stack::gathersHeads), unless that would cut an element; else several keep the same head.
bool gathersHeads(const sim::Scenario&);
/// Throws sim::ScenarioError with all of these.
Shape shapeOf(const sim::Scenario&, const sim::Coordinates&);

/// What each layer makes again before its backward pass, under selective recomputation; else nothing.
sim::RecomputeModules droppedModules(const sim::Training&);

/// How steps are made, beyond what a scenario says.
struct TrainingOptions {
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8; ///< AdamW, as GPT-3 (Brown et al. 2020)
    /// The embedding's gradient as the output head is kept apart until the end of the step even where one rank has both, so that
    /// the sum is made as where two ranks have them.
    bool separateTiedGradients = false;
};

} // namespace live
