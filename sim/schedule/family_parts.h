// What the files of the schedule families share. Private to sim/schedule.
#pragma once

#include "sim/schedule/families.h"

namespace sim {

// One file each.
ScheduleFamily gpipeFamily();
ScheduleFamily oneFOneBFamily();
ScheduleFamily interleavedFamily();
ScheduleFamily loopedBfsFamily();
ScheduleFamily zbH1Family();
ScheduleFamily zbH2Family();
ScheduleFamily zb1pFamily();
ScheduleFamily zb2pFamily();
ScheduleFamily zbVFamily();
ScheduleFamily vHalfFamily();
ScheduleFamily vMinFamily();
ScheduleFamily interleavedZbFamily();
ScheduleFamily dualpipeFamily();
ScheduleFamily dualpipeVFamily();
ScheduleFamily seq1f1bFamily();
ScheduleFamily autoFamily();
ScheduleFamily customFamily();

/// What every generator asks: at least one rank and micro-batch, virtual stages within the family's bounds, no action list for a
/// generated kind.
std::optional<std::string> basicsUnmet(const ScheduleRequest&, int minVirtualStages, int maxVirtualStages);

/// What is planned slot by slot on every rank takes memory or time by slots, and these grow with the square of the ranks.
constexpr double kMostSlots = 1e8;
std::optional<std::string> slotsUnmet(const ScheduleRequest&, double (*slotsOf)(double ranks, double microbatches));

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
