// How the compare view divides its area. Pure geometry.
#pragma once

#include "app/canvas/canvas.h"

namespace app {

struct CompareFrame {
    Rect waterfall, memory, controls, timelines; ///< no height: there is no room for it

    /// Without controls where nobody can click.
    explicit CompareFrame(Rect area, bool hasControls = true);
};

} // namespace app
