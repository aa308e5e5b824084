// Times of recorders that write whole microseconds, each begin and each length rounded by itself: what ran one after another may
// overlap by one of them, and what ran in another may outlast it by one. Private to sim/trace/readers.
#pragma once

#include "sim/trace/recording.h"

#include <vector>

namespace sim {

/// Where all times are whole microseconds, ends go back by the one that rounding put on them: to the begin of what the same row
/// did next, and to the end of what they ran in. Where a device's rows show that lengths were rounded up, its streams are told
/// apart as well: a stream that did nothing until another's kernel ended, to the microsecond, waited for that, unless it had only
/// just been asked for: then its host began it, and an end nearby is chance. Streams that go on beside each other keep their
/// times. Begins stay, and so does the order of spans. `links`: launches, in any order. O(spans log spans); of finer times O(1).
void mendRoundedEnds(RecordedSpans&, const std::vector<RecordedTrack>&, const RecordedColumn<RecordedLink>& links);

} // namespace sim
