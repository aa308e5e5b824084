// Widths of letters without a font library: for figures of programs without Qt. An SVG says how wide each text was taken to be,
// so that it fits in whatever font draws it.
#pragma once

#include "app/canvas/type_metrics.h"

namespace app {

/// Of Inter and JetBrains Mono, the program's fonts, without kerning; other scripts are taken as wide as a wide letter.
const TypeMetrics& tabledType();

} // namespace app
