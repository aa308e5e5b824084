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

ScheduleRequest scheduleRequest(const Scenario& scenario)
{
    const ScheduleFamily* const family = findScheduleFamily(scenario.schedule.kind);
    return {.kind = scenario.schedule.kind,
            .ranks = scenario.layout.pp,
            .virtualStages = scenario.schedule.virtualStages,
            .microbatches = scenario.microbatches(),
            .microbatchGroup = scenario.schedule.microbatchGroup,
            .overlapExpertComm = scenario.training.overlap.epComm && family != nullptr && family->overlapsExperts,
            .slices = scenario.schedule.sequenceSlices,
            .customActions = scenario.schedule.actions};
}

} // namespace sim
