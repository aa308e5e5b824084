// Passes of a pipeline of one stage a rank without annotations: counted from sends and from what kernels are for.
#pragma once

#include "sim/recovery/axes.h"
#include "sim/recovery/evidence.h"
#include "sim/recovery/passes.h"
#include "sim/schedule/schedule.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

/// Fills `passes` that no annotation told, where each rank sends as many messages onward as it is sent back and kernels tell
/// forwards, gradients and weight gradients. A forward ends with its send, on the last stage with its loss; a gradient with its
/// send, on the first stage after its share of the kernels; weight gradients have equal shares. Which micro-batch a pass is of
/// nothing tells: they are numbered as they come, forwards, gradients and weight gradients for themselves. Last stages without a
/// loss that is named as such have none. O(spans log spans).
void countPasses(const RunEvidence&, const RecoveredAxes&, const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow,
                 RecoveredPasses& passes);

/// A row with its passes numbered as countPasses() does.
std::vector<Action> numberedAsTheyCome(std::vector<Action> row);

} // namespace sim
