#include "sim/schedule/order_parts.h"

#include "sim/index.h"

namespace sim {

Schedule loopSchedule(const ScheduleRequest& request)
{
    Schedule schedule;
    schedule.kind = request.kind;
    schedule.ranks = request.ranks;
    schedule.virtualStages = request.virtualStages;
    schedule.microbatches = request.microbatches;
    for (int stage = 0; stage < request.ranks * request.virtualStages; ++stage)
        schedule.stageToRank.push_back(stage % request.ranks);
    schedule.actions.resize(asIndex(request.ranks));
    return schedule;
}

Schedule vSchedule(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    for (int stage = 0; stage < schedule.stages(); ++stage)
        schedule.stageToRank[asIndex(stage)] = stage < request.ranks ? stage : schedule.stages() - 1 - stage;
    return schedule;
}

std::string microbatchesText(int count)
{
    return std::to_string(count) + (count == 1 ? " micro-batch" : " micro-batches");
}

} // namespace sim
