// Puts a Dear ImGui draw list into a picture without a GPU. Nearly all of it is axis-aligned: filled rectangles and glyphs, which
// have fast paths; everything else goes through a general triangle filler. No Qt.
#pragma once

#include <cstddef>
#include <cstdint>

struct ImDrawList;

namespace app {

/// 0xAARRGGBB, opaque: what is drawn is blended over what is there.
struct PixelBuffer {
    std::uint32_t* pixels = nullptr;
    int width = 0, height = 0;
    std::ptrdiff_t stride = 0; ///< pixels from row to row
    std::uint32_t* row(int y) const { return pixels + y * stride; }
};

/// Coverage of glyphs, one byte a texel; texture coordinates count texels.
struct CoverageTexture {
    const std::uint8_t* texels = nullptr;
    int width = 0, height = 0;
};

void rasterise(const ImDrawList&, const CoverageTexture&, const PixelBuffer&);

} // namespace app
