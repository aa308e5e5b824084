// Why an order of a schedule's actions takes as long as it does: the pipeline alone, as sim/schedule/evaluate.h times it. Like
// explain(), and shown the same way.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <cstddef>

namespace sim {

/// An order and its times, in nanoseconds.
struct TimedOrder {
    const Schedule& schedule;
    const ScheduleTimes& times;
};

enum class OrderNumber : std::uint8_t {
    makespan,
    idle, ///< ScheduleTimes::idleOfSpan
    held  ///< micro-batches' worth of activations on the fullest pipeline rank, in p-ths of the model
};
Explanation explain(const TimedOrder&, OrderNumber);

/// How long an action of a pipeline rank takes, and when it starts. Of an overlapped block each by itself.
enum class ActionNumber : std::uint8_t { duration, start };
Explanation explain(const TimedOrder&, ActionNumber, std::size_t pipelineRank, std::size_t index);

} // namespace sim
