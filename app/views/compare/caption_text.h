// What a caption says in the room that it has.
#pragma once

#include "app/canvas/canvas.h"

#include <string>
#include <vector>

namespace app {

/// The first of several that fits, else of `name` as much of its end as does, "… placement round-robin": names that stand beside
/// each other mostly begin alike.
std::string captionThatFits(Canvas&, const std::vector<std::string>& longestFirst, const std::string& name, float width);

} // namespace app
