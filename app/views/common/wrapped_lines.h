// A text as lines that fit a width.
#pragma once

#include "app/canvas/canvas.h"

#include <string>
#include <string_view>
#include <vector>

namespace app {

/// Broken at spaces; a word that is wider than a line has one to itself.
std::vector<std::string> wrappedLines(Canvas&, std::string_view text, float width, FontFace);

} // namespace app
