// The axes along the edges of the rank grid: coordinates of columns above, of rows at the left.
#pragma once

#include "app/views/grid/grid_painter.h"

namespace app {

void paintRulers(Canvas&, const GridScene&, GridTargets&);

} // namespace app
