// Where the numbers of a selected stretch of time come from.
#pragma once

#include "app/views/common/because.h"
#include "app/views/timeline/range_statistics.h"

namespace app {

enum class RangeNumber : std::uint8_t { length, idle, otherClasses, spans, busy, mfu, moved };
/// Of busy: the mean over ranks, then the rows that are busy least and most.
Becauses becauseOf(const TimelineModel&, const RangeStatistics&, RangeNumber);
/// The share of a class.
Becauses becauseOf(const TimelineModel&, const RangeStatistics&, sim::OpClass);
/// All that is told in one line, what ranks do first.
Becauses becauseOfRange(const TimelineModel&, const RangeStatistics&);

} // namespace app
