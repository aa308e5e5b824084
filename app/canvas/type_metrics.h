// What a canvas has to know of the letters that it does not draw itself.
#pragma once

#include "app/canvas/canvas.h"

#include <string_view>

namespace app {

/// Of a line of text, in whole logical pixels, the same on every canvas.
struct LineMetrics {
    float ascent = 0, height = 0;
};

/// Size of the em square in logical pixels.
constexpr float fontPixels(FontFace face)
{
    return face == FontFace::small ? 11.0F : face == FontFace::mono ? 12.0F : 13.0F;
}

class TypeMetrics {
public:
    virtual ~TypeMetrics() = default;
    virtual LineMetrics line(FontFace) const = 0;
    /// Logical pixels, with kerning.
    virtual float width(std::string_view, FontFace) const = 0;
};

} // namespace app
