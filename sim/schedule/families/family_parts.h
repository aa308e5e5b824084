// What the files of the schedule families share. Private to sim/schedule.
#pragma once

#include "sim/schedule/families/families.h"
#include "sim/schedule/order_parts.h"

namespace sim {

/// What every generator asks: at least one rank and micro-batch, virtual stages within the family's bounds, no action list for a
/// generated kind.
std::optional<std::string> basicsUnmet(const ScheduleRequest&, int minVirtualStages, int maxVirtualStages);

} // namespace sim
