#include "sim/scenario/about_key.h"

#include "sim/legal/schedule_request.h"

#include <algorithm>
#include <cstdint>

namespace sim {

const char* microbatchKey(const Scenario& scenario)
{
    return scenario.training.microBatchSize > 1 ? "/training/micro_batch_size" : "/training/sequence_length";
}

std::string nearestBatch(const Scenario& scenario, double mostMicrobatches)
{
    const ScheduleFamily& family = scheduleFamily(scenario.schedule.kind);
    if (family.isWrittenOut) // of as many as its actions say
        return {};
    auto count = static_cast<std::int64_t>(std::clamp(mostMicrobatches, 0.0, static_cast<double>(scenario.microbatches())));
    PipelineNumbers numbers = pipelineNumbers(scenario);
    for (numbers.microbatches = count; count > 0 && family.firstUnmet(numbers); numbers.microbatches = count)
        --count;
    if (count == 0)
        return {};
    return std::to_string(count * scenario.training.microBatchSize * scenario.layout.dp) + " (" + std::to_string(count) +
           (count == 1 ? " micro-batch)" : " micro-batches)");
}

} // namespace sim
