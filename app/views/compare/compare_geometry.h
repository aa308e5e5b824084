// How the compare view divides its area. Pure geometry.
#pragma once

#include "app/canvas/canvas.h"

namespace app {

struct CompareFrame {
    Rect waterfall, memory, controls, timelines; ///< no height: there is no room for it

    /// Without controls where nobody can click; `causesOnly`: without timelines, too.
    explicit CompareFrame(Rect area, bool hasControls = true, bool causesOnly = false);
};

} // namespace app
