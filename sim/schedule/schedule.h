// A pipeline schedule is data: for every pipeline rank an ordered list of actions. Simulator and live runtime execute the same
// list.
#pragma once

#include "sim/index.h"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sim {

/// PyTorch's letters: F forward, B full backward, I input gradient, W weight gradient (B = I + W).
enum class ActionKind : std::uint8_t { forward, backward, backwardInput, backwardWeight };
char actionLetter(ActionKind);

/// One pass of one micro-batch on one stage.
struct Action {
    ActionKind kind = ActionKind::forward;
    /// Runs as one block with the next action of its rank (PyTorch's OVERLAP_F_B): the block starts when the inputs of both are
    /// there, and the outputs of both leave at its end. A forward and a full backward, in this order.
    bool overlapsNext = false;
    std::int32_t stage = 0;
    std::int32_t microbatch = 0;
    auto operator<=>(const Action&) const = default; // NOLINT(modernize-use-nullptr): it misreads the defaulted body
};
/// "0F1": stage 0, forward, micro-batch 1. With `slices` > 1, "0F1.2": its slice 2.
std::string actionText(const Action&, int slices = 1);
/// What people read, beside the rank that it is of: "F1", "F1.2"; `withStage`: of a rank with several, "F1 (stage 3)".
std::string actionName(const Action&, int slices = 1, bool withStage = false);

/// One action, or the two of an overlapped block: what a rank starts as one.
using ActionBlock = std::span<const Action>;
ActionBlock blockAt(const std::vector<Action>&, std::size_t index);
/// "0F1", or "(0F8;7B4)OVERLAP_F_B".
std::string blockText(ActionBlock, int slices = 1);

struct Schedule {
    std::string kind;
    int ranks = 1;         ///< pipeline ranks p
    int virtualStages = 1; ///< chunks a rank holds
    /// What goes through the pipeline one after the other: micro-batches, or with `slices` > 1 their slices, numbered
    /// micro-batch * slices + slice. Forwards of a micro-batch's slices go in order on each stage, backwards in reverse
    /// (keys and values of earlier slices are attended to).
    int microbatches = 1;
    int slices = 1; ///< parts of a sequence
    /// Copies of the model that run side by side (bidirectional schedules have 2). Each has an equal share of the stages and of
    /// the micro-batches: stage s holds part partOf(s) of the model.
    int chains = 1;
    std::vector<int> stageToRank;             ///< stage -> pipeline rank
    std::vector<std::vector<Action>> actions; ///< [pipeline rank], in the order of execution

    int stages() const { return static_cast<int>(stageToRank.size()); }
    /// The pipeline rank that holds a stage, as an index of `actions`.
    std::size_t rankOf(int stage) const { return asIndex(stageToRank[asIndex(stage)]); }
    /// Stages that a micro-batch passes: the parts the model is cut into.
    int chainLength() const { return stages() / chains; }
    /// The part of the model that a stage holds, as an index of what is told for each part: ScheduleSettings::layersPerStage.
    int partOf(int stage) const { return stage % chainLength(); }
    bool entersAt(int stage) const { return partOf(stage) == 0; }
    bool leavesAt(int stage) const { return partOf(stage + 1) == 0; }
    /// The chain that a micro-batch takes.
    int chainOf(int microbatch) const { return microbatch / (microbatches / chains); }
    /// Stages of a rank in model order: its chunks.
    std::vector<int> stagesOfRank(int rank) const;
    bool operator==(const Schedule&) const = default;
};

} // namespace sim
