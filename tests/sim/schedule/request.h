// A request in one line.
#pragma once

#include "sim/schedule/families/families.h"

#include <string>

inline sim::ScheduleRequest request(const std::string& kind, int ranks, int virtualStages, int microbatches, int group = 0)
{
    sim::ScheduleRequest request;
    request.kind = kind;
    request.ranks = ranks;
    request.virtualStages = virtualStages;
    request.microbatches = microbatches;
    request.microbatchGroup = group;
    return request;
}
