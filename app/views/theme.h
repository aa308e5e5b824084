// The one table of colours. Okabe-Ito base: the same colour means the same thing in every view.
#pragma once

#include "app/canvas/canvas.h"
#include "sim/trace/trace.h"

#include <array>
#include <string>

namespace app {

struct Theme {
    std::string name; ///< "light", "dark"
    bool dark = false;
    Color window, panel, canvas, border, text, mutedText, accent, selection, hover, warning, error;
    std::array<Color, sim::kOpClassCount> opClass;                ///< fill of a span
    std::array<Color, sim::kOpClassCount> opClassText;            ///< label on it, contrast >= 4.5
    Color parameters, gradients, optimizer, activations, buffers; ///< memory
};

const Theme& lightTheme();
const Theme& darkTheme();

} // namespace app
