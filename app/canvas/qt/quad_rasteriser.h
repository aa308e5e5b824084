// Puts a Dear ImGui draw list into a picture without a GPU. Nearly all of it is axis-aligned: filled rectangles and glyphs, which
// have fast paths; everything else goes through a general triangle filler. No Qt.
#pragma once

#include "app/canvas/canvas.h"
#include "app/canvas/qt/changed_tiles.h"

#include <cstddef>
#include <cstdint>
#include <span>

struct ImDrawCmd;
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

/// A draw command with this callback stands for the next of the stacks; it is never called.
void markStacks(const ImDrawList*, const ImDrawCmd*);

/// All that lies within `only`, on `background`; other pixels stay as they are. On several threads where there is much to fill.
/// `stacks`: in device pixels, in the order of their marks.
void rasterise(std::uint32_t background, const ImDrawList&, const CoverageTexture&, const PixelBuffer& out,
               std::span<const ColumnStacks> stacks, const PixelRect& only);

} // namespace app
