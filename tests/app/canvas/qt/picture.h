// Pictures made by the software renderer, for tests.
#pragma once

#include "app/canvas/qt/imgui_canvas.h"
#include "app/canvas/qt/quad_rasteriser.h"

#include <algorithm>
#include <vector>

namespace test {

inline constexpr std::uint32_t kWhitePixel = 0xFFFFFFFFU;

struct Picture {
    Picture(int w, int h, std::uint32_t on = kWhitePixel)
        : width(w), height(h), ground(on), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), on)
    {
    }
    int width, height;
    std::uint32_t ground;
    std::vector<std::uint32_t> pixels; ///< 0xAARRGGBB
    std::uint32_t at(int x, int y) const
    {
        return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
    void draw(const app::DrawList& list)
    {
        app::rasterise(ground, list.list(), list.atlas().texture(), {pixels.data(), width, height, width}, list.stacks(),
                       {0, 0, width, height});
    }
    long inked() const
    {
        return std::count_if(pixels.begin(), pixels.end(), [](std::uint32_t p) { return p != kWhitePixel; });
    }
    bool operator==(const Picture&) const = default;
};

/// What `draw` puts on a canvas of this logical size.
template <class Draw>
Picture drawn(int width, int height, float scale, Draw draw, bool keepStacks = false)
{
    app::DrawList list(app::GlyphAtlas::forScale(scale));
    Picture picture(static_cast<int>(static_cast<float>(width) * scale), static_cast<int>(static_cast<float>(height) * scale));
    list.keepStacks(keepStacks);
    list.begin(picture.width, picture.height);
    app::ImGuiCanvas canvas(list, {0, 0, static_cast<float>(width), static_cast<float>(height)});
    draw(static_cast<app::Canvas&>(canvas));
    picture.draw(list);
    return picture;
}

} // namespace test
