// Arithmetic on colours: mixing and WCAG contrast.
#pragma once

#include "app/canvas/canvas.h"

namespace app {

inline constexpr Color kBlack = Color::rgb(0x000000), kWhite = Color::rgb(0xFFFFFF);

/// Share 0 is a, 1 is b; the result is opaque where both are.
Color mix(Color a, Color b, float shareOfB);
Color withAlpha(Color, float alpha);
/// Relative luminance, WCAG 2.2, 0 black to 1 white. Alpha is ignored.
double luminance(Color);
/// WCAG contrast ratio, 1 to 21.
double contrast(Color, Color);
/// Black or white, whichever reads better on the fill: contrast is never below 4.58.
Color readableOn(Color fill);

} // namespace app
