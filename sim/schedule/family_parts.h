// What the files of the schedule families share. Private to sim/schedule.
#pragma once

#include "sim/schedule/families.h"

namespace sim {

// One file each.
ScheduleFamily gpipeFamily();
ScheduleFamily oneFOneBFamily();
ScheduleFamily interleavedFamily();
ScheduleFamily loopedBfsFamily();
ScheduleFamily customFamily();

/// What every generator asks: at least one rank and micro-batch, virtual stages within the family's bounds, no action list for a
/// generated kind.
std::optional<std::string> basicsUnmet(const ScheduleRequest&, int minVirtualStages, int maxVirtualStages);

/// Stage s on rank s mod p, empty action lists.
Schedule loopSchedule(const ScheduleRequest&);

inline Action forwardOf(int stage, int microbatch)
{
    return {ActionKind::forward, stage, microbatch};
}
inline Action backwardOf(int stage, int microbatch)
{
    return {ActionKind::backward, stage, microbatch};
}

/// "1 micro-batch", "8 micro-batches"
std::string microbatchesText(int count);

} // namespace sim
