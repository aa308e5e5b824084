// A schedule with its times, as a drawing.
#pragma once

#include "sim/answers/schedule.h"

namespace sim::cli {

void printAscii(const Schedule&, const ScheduleTimes&, const PassTimes&, const InOrderOutcome&);

} // namespace sim::cli
