// How good a layout is, as a colour: in every picture of the plan alike.
#pragma once

#include "app/views/common/theme.h"

#include <algorithm>

namespace app {

/// The stronger the better. `behind`: 0 the best, 1 half as strong.
inline Color planHeat(const Theme& theme, double behind)
{
    constexpr double kPalest = 0.08, kStrongest = 0.92;
    return theme.heatAt(kPalest + (kStrongest - kPalest) / (1 + std::max(0.0, behind)));
}

} // namespace app
