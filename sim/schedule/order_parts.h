// What orders are put together from: passes, blocks, placements. Private to sim/schedule.
#pragma once

#include "sim/schedule/request.h"
#include "sim/schedule/schedule.h"

#include <string>
#include <vector>

namespace sim {

/// Stage s on rank s mod p, empty action lists. With one stage a rank: the plain line.
Schedule loopSchedule(const ScheduleRequest&);
/// Two stages a rank: down the ranks and back again, so that rank 0 holds both ends.
Schedule vSchedule(const ScheduleRequest&);

inline Action forwardOf(int stage, int microbatch)
{
    return {.kind = ActionKind::forward, .stage = stage, .microbatch = microbatch};
}
inline Action backwardOf(int stage, int microbatch)
{
    return {.kind = ActionKind::backward, .stage = stage, .microbatch = microbatch};
}
inline Action inputGradientOf(int stage, int microbatch)
{
    return {.kind = ActionKind::backwardInput, .stage = stage, .microbatch = microbatch};
}
inline Action weightGradientOf(int stage, int microbatch)
{
    return {.kind = ActionKind::backwardWeight, .stage = stage, .microbatch = microbatch};
}
/// A forward and a full backward as one block.
inline void appendBlock(std::vector<Action>& actions, Action forward, const Action& backward)
{
    forward.overlapsNext = true;
    actions.push_back(forward);
    actions.push_back(backward);
}

/// After `warmup` of `count` forwards: a forward and a backward each time, in blocks where the request asks for it, then the rest
/// of the backwards. forward(k) and backward(k) give the k-th.
template <class Forward, class Backward>
void appendPairs(const ScheduleRequest& request, std::vector<Action>& actions, std::size_t count, std::size_t warmup,
                 Forward&& forward, Backward&& backward)
{
    for (std::size_t k = 0; k < count; ++k) {
        if (warmup + k >= count) {
            actions.push_back(backward(k));
        } else if (request.overlapExpertComm) {
            appendBlock(actions, forward(warmup + k), backward(k));
        } else {
            actions.push_back(forward(warmup + k));
            actions.push_back(backward(k));
        }
    }
}

/// "1 micro-batch", "8 micro-batches"
std::string microbatchesText(int count);

} // namespace sim
