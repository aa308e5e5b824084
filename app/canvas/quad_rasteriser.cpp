#include "app/canvas/quad_rasteriser.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

struct Clip {
    int left, top, right, bottom;
};

/// x / 255, rounded, for x up to 255 * 255.
constexpr std::uint32_t div255(std::uint32_t x)
{
    return (x + 128 + ((x + 128) >> 8U)) >> 8U;
}

/// ImGui packs 0xAABBGGRR.
constexpr std::uint32_t toArgb(std::uint32_t abgr)
{
    return (abgr & 0xFF00FF00U) | ((abgr & 0xFFU) << 16U) | ((abgr >> 16U) & 0xFFU);
}

/// `color` with this alpha over an opaque pixel.
std::uint32_t blend(std::uint32_t below, std::uint32_t color, std::uint32_t alpha)
{
    // Red and blue in one multiplication: 8 bits of room between them.
    const std::uint32_t inverse = 255 - alpha;
    const std::uint32_t redBlue = (color & 0x00FF00FFU) * alpha + (below & 0x00FF00FFU) * inverse + 0x00800080U;
    const std::uint32_t green = ((color >> 8U) & 0xFFU) * alpha + ((below >> 8U) & 0xFFU) * inverse + 0x80U;
    const std::uint32_t rb = ((redBlue + ((redBlue >> 8U) & 0x00FF00FFU)) >> 8U) & 0x00FF00FFU;
    const std::uint32_t g = (green + (green >> 8U)) & 0xFF00U;
    return 0xFF000000U | rb | g;
}

/// A pixel belongs to an edge-aligned box if its centre does.
int firstPixel(float edge)
{
    return static_cast<int>(std::ceil(edge - 0.5F));
}

void fillBox(const ImDrawVert& topLeft, const ImDrawVert& bottomRight, const Clip& clip, const PixelBuffer& out)
{
    const int left = std::max(firstPixel(topLeft.pos.x), clip.left), right = std::min(firstPixel(bottomRight.pos.x), clip.right);
    const int top = std::max(firstPixel(topLeft.pos.y), clip.top), bottom = std::min(firstPixel(bottomRight.pos.y), clip.bottom);
    const std::uint32_t alpha = topLeft.col >> 24U;
    if (left >= right || alpha == 0)
        return;
    const std::uint32_t color = toArgb(topLeft.col);
    for (int y = top; y < bottom; ++y) {
        std::uint32_t* row = out.row(y);
        if (alpha == 255)
            std::fill(row + left, row + right, color);
        else
            for (int x = left; x < right; ++x)
                row[x] = blend(row[x], color, alpha);
    }
}

/// Glyphs stand on whole pixels at the size they were baked: texel to pixel, one to one.
void fillGlyph(const ImDrawVert& topLeft, const CoverageTexture& texture, const ImDrawVert& bottomRight, const Clip& clip,
               const PixelBuffer& out)
{
    const int x0 = firstPixel(topLeft.pos.x), y0 = firstPixel(topLeft.pos.y);
    const int u0 = static_cast<int>(std::lround(topLeft.uv.x * static_cast<float>(texture.width)));
    const int v0 = static_cast<int>(std::lround(topLeft.uv.y * static_cast<float>(texture.height)));
    const int left = std::max(x0, clip.left), right = std::min(firstPixel(bottomRight.pos.x), clip.right);
    const int top = std::max(y0, clip.top), bottom = std::min(firstPixel(bottomRight.pos.y), clip.bottom);
    const std::uint32_t alpha = topLeft.col >> 24U;
    const std::uint32_t color = toArgb(topLeft.col);
    for (int y = top; y < bottom; ++y) {
        std::uint32_t* row = out.row(y);
        const int v = std::clamp(v0 + y - y0, 0, texture.height - 1);
        const std::uint8_t* texels = texture.texels + static_cast<std::ptrdiff_t>(v) * texture.width;
        for (int x = left; x < right; ++x)
            if (const std::uint32_t coverage = texels[std::clamp(u0 + x - x0, 0, texture.width - 1)]; coverage != 0)
                row[x] = blend(row[x], color, div255(coverage * alpha));
    }
}

/// Twice the area of (a, b, p): positive to the right of a → b with y down.
float side(ImVec2 a, ImVec2 b, float x, float y)
{
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

/// Top-left rule: of two triangles that share an edge exactly one owns the pixels on it.
bool ownsEdge(ImVec2 a, ImVec2 b)
{
    return (a.y == b.y && b.x > a.x) || b.y < a.y;
}

/// Colours run linearly between the corners (ImGui fades its anti-aliased fringes that way).
void fillTriangle(ImDrawVert a, ImDrawVert b, ImDrawVert c, const Clip& clip, const PixelBuffer& out)
{
    float area = side(a.pos, b.pos, c.pos.x, c.pos.y);
    if (area == 0)
        return;
    if (area < 0) {
        std::swap(b, c);
        area = -area;
    }
    const int left = std::max(firstPixel(std::min({a.pos.x, b.pos.x, c.pos.x})), clip.left);
    const int right = std::min(firstPixel(std::max({a.pos.x, b.pos.x, c.pos.x})) + 1, clip.right);
    const int top = std::max(firstPixel(std::min({a.pos.y, b.pos.y, c.pos.y})), clip.top);
    const int bottom = std::min(firstPixel(std::max({a.pos.y, b.pos.y, c.pos.y})) + 1, clip.bottom);
    const bool ownsAb = ownsEdge(a.pos, b.pos), ownsBc = ownsEdge(b.pos, c.pos), ownsCa = ownsEdge(c.pos, a.pos);
    const auto channel = [](std::uint32_t color, unsigned shift) { return static_cast<float>((color >> shift) & 0xFFU); };
    for (int y = top; y < bottom; ++y) {
        std::uint32_t* row = out.row(y);
        const float py = static_cast<float>(y) + 0.5F;
        for (int x = left; x < right; ++x) {
            const float px = static_cast<float>(x) + 0.5F;
            const float wc = side(a.pos, b.pos, px, py), wa = side(b.pos, c.pos, px, py), wb = side(c.pos, a.pos, px, py);
            if (wc < 0 || wa < 0 || wb < 0 || (wc == 0 && !ownsAb) || (wa == 0 && !ownsBc) || (wb == 0 && !ownsCa))
                continue;
            const auto mixed = [&](unsigned shift) {
                const float value = (channel(a.col, shift) * wa + channel(b.col, shift) * wb + channel(c.col, shift) * wc) / area;
                return static_cast<std::uint32_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
            };
            const std::uint32_t color = (mixed(0) << 16U) | (mixed(8) << 8U) | mixed(16);
            row[x] = blend(row[x], color, mixed(24));
        }
    }
}

/// Two triangles 0 1 2, 0 2 3 that make an upright box of one colour: what PrimRect and PrimRectUV write.
bool isBox(const ImDrawIdx* i, const ImDrawVert& v0, const ImDrawVert& v1, const ImDrawVert& v2, const ImDrawVert& v3)
{
    return i[3] == i[0] && i[4] == i[2] && v0.pos.y == v1.pos.y && v1.pos.x == v2.pos.x && v2.pos.y == v3.pos.y &&
           v3.pos.x == v0.pos.x && v0.pos.x <= v1.pos.x && v0.pos.y <= v3.pos.y && v0.col == v1.col && v0.col == v2.col &&
           v0.col == v3.col;
}

} // namespace

void rasterise(const ImDrawList& list, const CoverageTexture& texture, const PixelBuffer& out)
{
    for (const ImDrawCmd& command : list.CmdBuffer) {
        const Clip clip{std::max(0, firstPixel(command.ClipRect.x)), std::max(0, firstPixel(command.ClipRect.y)),
                        std::min(out.width, firstPixel(command.ClipRect.z)),
                        std::min(out.height, firstPixel(command.ClipRect.w))};
        if (clip.left >= clip.right || clip.top >= clip.bottom)
            continue;
        const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
        const ImDrawIdx* const end = index + command.ElemCount;
        const ImDrawVert* const vertices = list.VtxBuffer.Data + command.VtxOffset;
        while (index < end) {
            const ImDrawVert &v0 = vertices[index[0]], &v1 = vertices[index[1]], &v2 = vertices[index[2]];
            if (end - index >= 6) {
                const ImDrawVert& v3 = vertices[index[5]];
                if (isBox(index, v0, v1, v2, v3)) {
                    if (v0.uv.x == v2.uv.x && v0.uv.y == v2.uv.y)
                        fillBox(v0, v2, clip, out);
                    else
                        fillGlyph(v0, texture, v2, clip, out);
                    index += 6;
                    continue;
                }
            }
            fillTriangle(v0, v1, v2, clip, out);
            index += 3;
        }
    }
}

} // namespace app
