// Which schedule a pipeline ran: the recorded order of passes beside what every family would make of the same sizes.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/recovery/passes.h"
#include "sim/schedule/request.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

struct RecoveredSchedule {
    std::string kind; ///< a family's word; "custom" where it is none's order; "" where orders were not recorded
    int pipelineRanks = 1, stages = 1, virtualStages = 1, microbatches = 1, slices = 1;
    int microbatchGroup = 0; ///< where the family deals in groups and it is not the usual one
    bool overlapsExperts = false;
    double alike = 0; ///< 1: every recorded pass stands where the family puts it
    double sure = 0;
    std::string evidence;
    std::vector<std::string> alsoPossible;   ///< families that make the same order
    std::map<int, std::vector<Action>> rows; ///< by pipeline rank, those recorded
};

/// Nothing where no pipeline is known of. `stepWindow` as of RecoveredStep, by recorded rank. O(families · actions²) for
/// pipelines of hundreds of actions a rank, O(families · actions) beyond.
std::optional<RecoveredSchedule> recoverSchedule(const RunEvidence&, const RecoveredAxes&, const RecoveredPasses&,
                                                 const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow);

/// Where no annotation told them: the passes of ranks that compute and send as a recognised schedule has them do, of the step
/// within `stepWindow`; of those that were counted the slices. Leaves `passes` as they are where there are others, or the
/// schedule is not that sure.
void inferPasses(const RunEvidence&, const RecoveredAxes&, const RecoveredSchedule&,
                 const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow, RecoveredPasses& passes);

} // namespace sim
