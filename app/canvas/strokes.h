// Where strokes lie between coordinates and pixels, the same on every canvas.
#pragma once

#include "app/canvas/canvas.h"

#include <cmath>

namespace app {

/// A stroke as wide as an odd number of pixels runs along the middle of pixels, an even one between them: so both are sharp.
inline float polylineShift(float thickness)
{
    return std::lround(thickness) % 2 != 0 ? 0.5F : 0.0F;
}

/// From the coordinates of a line to the middle of its stroke. Along an axis a line covers the pixels right of and below it.
inline Point strokeShift(Point from, Point to, float thickness)
{
    if (from.x == to.x)
        return {thickness / 2, 0};
    if (from.y == to.y)
        return {0, thickness / 2};
    return {polylineShift(thickness), polylineShift(thickness)};
}

} // namespace app
