// The one table of colours. Okabe-Ito base: the same colour means the same thing in every view.
#pragma once

#include "app/canvas/canvas.h"
#include "sim/trace/trace.h"

#include <array>
#include <string>

namespace app {

struct Theme {
    std::string name; ///< "light", "dark", "high-contrast"
    bool dark = false;
    Color window, panel, canvas, border, text, mutedText, accent, selection, hover, warning, error;
    std::array<Color, sim::kOpClassCount> opClass;                ///< fill of a span
    std::array<Color, sim::kOpClassCount> opClassText;            ///< label on it, contrast >= 4.5
    Color parameters, gradients, optimizer, activations, buffers; ///< memory
    std::array<Color, 9> heat; ///< little to much: ever further from the canvas, by lightness alone

    std::array<Color, 9> deviation; ///< less than the mean, the mean, more: blue, pale, orange; lightness tells the amount

    Color fill(sim::OpClass c) const { return opClass[static_cast<std::size_t>(c)]; }
    Color label(sim::OpClass c) const { return opClassText[static_cast<std::size_t>(c)]; }
    /// Of the ramp, share 0 to 1; beyond is cut.
    Color heatAt(double share) const;
    /// Of the other ramp, -1 to 1.
    Color deviationAt(double share) const;
};

const Theme& lightTheme();
const Theme& darkTheme();
/// White and yellow on black, strong borders; text has a contrast of at least 7 (WCAG AAA).
const Theme& highContrastTheme();

} // namespace app
