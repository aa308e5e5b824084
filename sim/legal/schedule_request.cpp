#include "sim/legal/schedule_request.h"

namespace sim {

PipelineNumbers pipelineNumbers(const Scenario& scenario)
{
    const ScheduleSettings& schedule = scenario.schedule;
    const Training& training = scenario.training;
    return {.ranks = scenario.layout.pp,
            .chunks = schedule.virtualStages,
            .lines = static_cast<std::int64_t>(schedule.actions.size()),
            .group = schedule.microbatchGroup,
            .microbatches = training.globalBatchSize / (std::int64_t{training.microBatchSize} * scenario.layout.dp)};
}

bool overlapsExpertComm(const Scenario& scenario)
{
    const ScheduleFamily* const family = findScheduleFamily(scenario.schedule.kind);
    return scenario.training.overlap.epComm && scenario.model.numExperts > 0 && family != nullptr && family->overlapsExperts;
}

ScheduleRequest scheduleRequest(const Scenario& scenario)
{
    return {.kind = scenario.schedule.kind,
            .ranks = scenario.layout.pp,
            .virtualStages = scenario.schedule.virtualStages,
            .microbatches = scenario.microbatches(),
            .microbatchGroup = scenario.schedule.microbatchGroup,
            .overlapExpertComm = overlapsExpertComm(scenario),
            .slices = scenario.schedule.sequenceSlices,
            .customActions = scenario.schedule.actions};
}

} // namespace sim
