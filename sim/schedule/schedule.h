// A pipeline schedule is data: for every pipeline rank an ordered list of actions. Simulator and live runtime execute the same
// list.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// PyTorch's letters: F forward, B full backward, I input gradient, W weight gradient (B = I + W).
enum class ActionKind : std::uint8_t { forward, backward, backwardInput, backwardWeight };
char actionLetter(ActionKind);

/// One pass of one micro-batch on one stage.
struct Action {
    ActionKind kind = ActionKind::forward;
    std::int32_t stage = 0;
    std::int32_t microbatch = 0;
    auto operator<=>(const Action&) const = default; // NOLINT(modernize-use-nullptr): it misreads the defaulted body
};
/// "0F1": stage 0, forward, micro-batch 1.
std::string actionText(const Action&);

struct Schedule {
    std::string kind;
    int ranks = 1;         ///< pipeline ranks p
    int virtualStages = 1; ///< chunks a rank holds
    int microbatches = 1;
    std::vector<int> stageToRank;             ///< stage (place in the model) -> pipeline rank
    std::vector<std::vector<Action>> actions; ///< [pipeline rank], in the order of execution

    int stages() const { return static_cast<int>(stageToRank.size()); }
    /// Stages of a rank in model order: its chunks.
    std::vector<int> stagesOfRank(int rank) const;
    bool operator==(const Schedule&) const = default;
};

} // namespace sim
