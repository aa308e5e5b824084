// What commands do to the scene of a timeline.
#pragma once

#include "app/views/timeline/timeline_scene.h"

namespace app {

/// `pointer`: where it is, if over the view. False: nothing changes, or the command is one of other pictures.
bool runCommand(TimelineScene&, ViewCommand, bool fast, std::optional<Point> pointer);

} // namespace app
