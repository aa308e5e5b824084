// From span to span: along a row, along dependencies, from match to match. The span that is reached is selected and in sight.
#pragma once

#include "app/views/timeline/timeline_scene.h"

namespace app {

// False: there is nowhere to go.

/// Along the row, past what does not count; from action to action where they are revealed one by one.
bool walk(TimelineScene&, std::ptrdiff_t by);
/// Backwards to the input that came last, forwards to the output that is used first.
bool walkToDependency(TimelineScene&, bool forward);
/// To the row's next idle time that is wide enough to be seen, or the one before: what it waits for is shown and told.
bool walkToWait(TimelineScene&, bool backwards);
/// To the longest of all rows.
bool walkToLongestWait(TimelineScene&);
bool walkToMatch(TimelineScene&, bool backwards);
/// To the action that is revealed now, if any, with as much time before and after it as it takes.
void walkToStep(TimelineScene&);
/// Nearer, where actions would be too narrow to be read; call when rows have their places.
void frameSteps(TimelineScene&);
/// What was in sight before, unless somebody zoomed since.
void leaveSteps(TimelineScene&);

} // namespace app
