// The schedule of a pipeline whose passes nothing names: by what its ranks compute and send in turn.
#pragma once

#include "sim/recovery/axes.h"
#include "sim/recovery/evidence.h"
#include "sim/recovery/schedule_kind.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// Why it is not told; "" where it is, and stands in `result`. `stepWindow` as of RecoveredStep, by recorded rank.
std::string recogniseBySends(const RunEvidence&, const RecoveredAxis& pipeline,
                             const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow, RecoveredSchedule& result);

} // namespace sim
