// Which forward and backward passes each rank ran, of which micro-batch and stage, from annotations.
#pragma once

#include "sim/recovery/axes.h"
#include "sim/recovery/evidence.h"
#include "sim/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct RecoveredPass {
    Action action; ///< with slices, its micro-batch is micro-batch · slices + slice
    std::int64_t startNs = 0, endNs = 0;
};

struct RecoveredPasses {
    std::vector<std::vector<RecoveredPass>> ranks; ///< as RunEvidence::ranks, of one step, in order
    std::vector<int> pipelineRank;                 ///< as RunEvidence::ranks; -1 unknown
    int pipelineRanks = 1;
    std::string evidence;
    double sure = 0;
    bool areCounted = false; ///< no annotation names them: countPasses()
    bool any() const;
};

/// `PP:2F0`, `2F0`, `(0F8;7B4)OVERLAP_F_B`; nothing for sends, gathers, numbers
/// above 2^20 and what is no action. Prefixes as PyTorch writes them.
std::vector<Action> actionsFromMark(std::string_view name, std::int32_t microbatch, int slices);

struct PassesAsked {
    bool onDevice = false;                             ///< marks of the device, else the host's
    int pipelineRank = 0;                              ///< the stage of passes that do not name theirs; -1 unknown
    std::int64_t fromNs = INT64_MIN, toNs = INT64_MAX; ///< begins within; passes without a number are counted from there
    std::size_t steps = 1;                             ///< that lie within: counted anew in each
};
/// What a rank's marks say, in their order; names as recoverPasses() knows them.
std::vector<RecoveredPass> passesOfMarks(const RunEvidence&, const RankEvidence&, const PassesAsked&);
/// Whether passesOfMarks() takes it for a pass.
bool isMarkOfPass(std::string_view name, std::int32_t microbatch, int slices);

/// Of the step in the middle. Names: PyTorch's runtime schedules (`PP:2F0`), its single-stage ones (`Forward 3`), python frames
/// `forward_step`, `backward_step` and the roots of `fully_shard` (both counted), Rankscope's own actions.
RecoveredPasses recoverPasses(const RunEvidence&, const RecoveredAxes&, std::size_t steps);

} // namespace sim
