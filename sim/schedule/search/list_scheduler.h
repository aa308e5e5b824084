// Builds a schedule pass by pass in the order of time: whenever a rank is free, the best of the passes that it could start.
// Works for every placement, unequal stages and any memory cap. Private to sim/schedule.
#pragma once

#include "sim/schedule/search/pipeline_problem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

struct ListRules {
    enum class Prefer : std::uint8_t { gradient, forward, alternate } prefer = Prefer::gradient;
    /// A rank waits idle for a pass rather than start a weight gradient, if the wait is less than this share of that.
    double patience = 0;
    /// Forwards that a stage may be ahead of its gradients: `lead` + `leadSlope` for every rank behind; 0 and 0: no limit.
    double leadSlope = 0;
    int lead = 0;
    /// Among forwards, first those of later chunks (depth first).
    bool deepFirst = true;
    std::string text() const;
};

/// The settings worth a try.
std::vector<ListRules> listRules(bool severalChunks);

/// Never over the cap if one micro-batch fits. O(actions x ranks).
Schedule listSchedule(const PipelineProblem&, const ListRules&);

/// Follows the order of another schedule as far as the cap allows.
Schedule followSchedule(const PipelineProblem&, const Schedule& guide);

} // namespace sim
