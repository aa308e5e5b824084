#include "app/canvas/qt/quad_rasteriser.h"

#include "app/canvas/in_parallel.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

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

/// One colour over runs of pixels, four at a time: their 16 channels in 16-bit lanes (GCC's and Clang's vectors, which become
/// whatever the machine has).
class Brush {
public:
    explicit Brush(std::uint32_t color) : m_color(color), m_alpha(color >> 24U)
    {
        const std::uint32_t opaque = color | 0xFF000000U;
        for (unsigned i = 0; i < 16; ++i)
            m_over[i] = static_cast<std::uint16_t>(((opaque >> (8U * (i % 4))) & 0xFFU) * m_alpha + 128);
    }
    void fill(std::uint32_t* begin, std::uint32_t* end) const
    {
        if (m_alpha == 255)
            return std::fill(begin, end, m_color);
        const auto inverse = static_cast<std::uint16_t>(255 - m_alpha);
        for (; end - begin >= 4; begin += 4) {
            Channels channels;
            std::memcpy(&channels, begin, sizeof channels);
            Lanes sum = __builtin_convertvector(channels, Lanes) * inverse + m_over;
            sum = (sum + (sum >> 8)) >> 8; // divided by 255, rounded
            channels = __builtin_convertvector(sum, Channels);
            std::memcpy(begin, &channels, sizeof channels);
        }
        for (; begin < end; ++begin)
            *begin = blend(*begin, m_color, m_alpha);
    }

private:
    using Channels = std::uint8_t __attribute__((vector_size(16)));
    using Lanes = std::uint16_t __attribute__((vector_size(32)));
    std::uint32_t m_color, m_alpha;
    Lanes m_over{};
};

/// Far beyond every picture, and small enough for products of 1/256 pixels in 64 bits.
constexpr float kFarPixels = 1 << 21;

/// What is not a number lies far away.
float finite(float edge)
{
    return edge > -kFarPixels ? std::min(edge, kFarPixels) : -kFarPixels;
}

/// A pixel belongs to an upright box if its centre does.
int firstPixel(float edge)
{
    return static_cast<int>(std::ceil(finite(edge) - 0.5F));
}

Clip boxOf(const ImDrawVert& topLeft, const ImDrawVert& bottomRight, const Clip& clip)
{
    return {std::max(firstPixel(topLeft.pos.x), clip.left), std::max(firstPixel(topLeft.pos.y), clip.top),
            std::min(firstPixel(bottomRight.pos.x), clip.right), std::min(firstPixel(bottomRight.pos.y), clip.bottom)};
}

void fillBox(const ImDrawVert& topLeft, const ImDrawVert& bottomRight, const Clip& clip, const PixelBuffer& out)
{
    const Clip box = boxOf(topLeft, bottomRight, clip);
    if (box.left >= box.right)
        return;
    const Brush brush(toArgb(topLeft.col));
    for (int y = box.top; y < box.bottom; ++y)
        brush.fill(out.row(y) + box.left, out.row(y) + box.right);
}

struct Texel {
    int u, v;
};

Texel texelAt(ImVec2 uv)
{
    return {static_cast<int>(std::lround(finite(uv.x))), static_cast<int>(std::lround(finite(uv.y)))};
}

/// A glyph on whole pixels at the size it was baked: texel to pixel, one to one.
void fillGlyph(const ImDrawVert& topLeft, const ImDrawVert& bottomRight, const CoverageTexture& texture, const Clip& clip,
               const PixelBuffer& out)
{
    const Texel first = texelAt(topLeft.uv);
    const int toU = first.u - firstPixel(topLeft.pos.x), toV = first.v - firstPixel(topLeft.pos.y);
    const Clip box = boxOf(topLeft, bottomRight, clip);
    if (box.left >= box.right)
        return;
    const std::uint32_t color = toArgb(topLeft.col), alpha = color >> 24U;
    for (int y = box.top; y < box.bottom; ++y) {
        std::uint32_t* const row = out.row(y);
        const std::uint8_t* const texels = texture.texels + static_cast<std::ptrdiff_t>(y + toV) * texture.width + toU;
        for (int x = box.left; x < box.right; ++x) {
            const std::uint32_t share = alpha == 255 ? texels[x] : div255(texels[x] * alpha);
            if (share == 255)
                row[x] = color;
            else if (share != 0)
                row[x] = blend(row[x], color, share);
        }
    }
}

/// Is the quad as large in texels as in pixels, and inside the texture?
bool isOneToOne(const ImDrawVert& topLeft, const ImDrawVert& bottomRight, const CoverageTexture& texture)
{
    const Texel first = texelAt(topLeft.uv), last = texelAt(bottomRight.uv);
    return last.u - first.u == firstPixel(bottomRight.pos.x) - firstPixel(topLeft.pos.x) &&
           last.v - first.v == firstPixel(bottomRight.pos.y) - firstPixel(topLeft.pos.y) && first.u >= 0 && first.v >= 0 &&
           last.u <= texture.width && last.v <= texture.height;
}

constexpr std::int64_t kSubpixels = 256;

/// Corners on a grid of 1/256 pixel: from there on all is exact, so that neighbours that share an edge leave no seam.
struct GridPoint {
    std::int64_t x, y;
};

GridPoint toGrid(ImVec2 p)
{
    return {std::llround(finite(p.x) * static_cast<float>(kSubpixels)),
            std::llround(finite(p.y) * static_cast<float>(kSubpixels))};
}

std::int64_t floorDivided(std::int64_t a, std::int64_t b)
{
    return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

/// Where an edge of a triangle lets a row of pixels begin or end. The inside is where
/// E(p) = dx (p.y - a.y) - dy (p.x - a.x) > 0; pixels with E = 0 belong to the edge's triangle if it is a top or a left edge.
/// The bound is floor(N(y) / D) with N linear in y, so that stepping a row needs no division (a line drawn by Bresenham's rule).
class EdgeWalk {
public:
    EdgeWalk(GridPoint a, GridPoint b, int row)
    {
        const std::int64_t dx = b.x - a.x, dy = b.y - a.y;
        const bool owns = dy < 0 || (dy == 0 && dx > 0);
        const std::int64_t half = kSubpixels / 2;
        const std::int64_t atZero = dx * (row * kSubpixels + half - a.y) - dy * (half - a.x) - (owns ? 0 : 1);
        m_isLeft = dy < 0;
        m_isFlat = dy == 0;
        m_divisor = m_isFlat ? 1 : kSubpixels * std::abs(dy);
        const std::int64_t numerator = m_isLeft ? m_divisor - 1 - atZero : atZero;
        const std::int64_t step = kSubpixels * (m_isLeft ? -dx : dx);
        m_bound = floorDivided(numerator, m_divisor);
        m_remainder = numerator - m_bound * m_divisor;
        m_boundStep = floorDivided(step, m_divisor);
        m_remainderStep = step - m_boundStep * m_divisor;
    }
    void narrow(std::int64_t& begin, std::int64_t& end) const
    {
        if (m_isFlat)
            end = m_bound < 0 ? begin : end;
        else if (m_isLeft)
            begin = std::max(begin, m_bound);
        else
            end = std::min(end, m_bound + 1);
    }
    void nextRow()
    {
        m_bound += m_boundStep;
        m_remainder += m_remainderStep;
        if (m_remainder >= m_divisor) {
            m_remainder -= m_divisor;
            ++m_bound;
        }
    }

private:
    bool m_isLeft, m_isFlat;
    std::int64_t m_divisor, m_bound, m_remainder, m_boundStep, m_remainderStep;
};

/// A quantity that runs linearly over a triangle.
struct Plane {
    float atOrigin, perX, perY;
    float at(float x, float y) const { return atOrigin + perX * x + perY * y; }
};

class Planes {
public:
    Planes(ImVec2 a, ImVec2 b, ImVec2 c)
        : m_a(a), m_bx(b.x - a.x), m_by(b.y - a.y), m_cx(c.x - a.x), m_cy(c.y - a.y), m_area(m_bx * m_cy - m_by * m_cx)
    {
    }
    Plane through(float a, float b, float c) const
    {
        if (m_area == 0)
            return {a, 0, 0};
        const float perX = ((b - a) * m_cy - (c - a) * m_by) / m_area, perY = ((c - a) * m_bx - (b - a) * m_cx) / m_area;
        return {a - perX * m_a.x - perY * m_a.y, perX, perY};
    }
    Plane ofChannel(const std::array<ImDrawVert, 3>& corners, unsigned shift) const
    {
        const auto channel = [&](unsigned i) { return static_cast<float>((corners[i].col >> shift) & 0xFFU); };
        return through(channel(0), channel(1), channel(2));
    }

private:
    ImVec2 m_a;
    float m_bx, m_by, m_cx, m_cy, m_area;
};

std::uint32_t toByte(float value)
{
    return static_cast<std::uint32_t>(std::min(std::max(0.0F, value + 0.5F), 255.0F)); // in this order what is no number is 0
}

/// Colours, and texels if it has any, run linearly between the corners: ImGui fades its anti-aliased edges that way.
class Shade {
public:
    Shade(const std::array<ImDrawVert, 3>& corners, const CoverageTexture& texture)
        : m_texture(texture), m_color(toArgb(corners[0].col)), m_brush(m_color)
    {
        const auto& [a, b, c] = corners;
        const std::uint32_t differs = (a.col ^ b.col) | (a.col ^ c.col);
        m_isTextured = a.uv.x != b.uv.x || a.uv.y != b.uv.y || a.uv.x != c.uv.x || a.uv.y != c.uv.y;
        m_isFlat = differs == 0 && !m_isTextured;
        if (m_isFlat)
            return;
        m_isOneHue = (differs & 0x00FFFFFFU) == 0;
        const Planes planes(a.pos, b.pos, c.pos);
        for (unsigned i = 0; i < 4; ++i)
            m_channels[i] = planes.ofChannel(corners, 8 * i);
        m_u = planes.through(a.uv.x, b.uv.x, c.uv.x);
        m_v = planes.through(a.uv.y, b.uv.y, c.uv.y);
    }
    void fill(std::uint32_t* row, int y, int begin, int end) const
    {
        if (m_isFlat)
            return m_brush.fill(row + begin, row + end);
        const float py = static_cast<float>(y) + 0.5F;
        for (int x = begin; x < end; ++x) {
            const float px = static_cast<float>(x) + 0.5F;
            std::uint32_t alpha = toByte(m_channels[3].at(px, py));
            if (m_isTextured)
                alpha = div255(alpha * coverage(px, py));
            const std::uint32_t color = m_isOneHue
                                            ? m_color
                                            : (toByte(m_channels[0].at(px, py)) << 16U) |
                                                  (toByte(m_channels[1].at(px, py)) << 8U) | toByte(m_channels[2].at(px, py));
            row[x] = blend(row[x], color, alpha);
        }
    }

private:
    std::uint32_t coverage(float x, float y) const
    {
        const int u = std::clamp(static_cast<int>(finite(m_u.at(x, y))), 0, m_texture.width - 1);
        const int v = std::clamp(static_cast<int>(finite(m_v.at(x, y))), 0, m_texture.height - 1);
        return m_texture.texels[static_cast<std::ptrdiff_t>(v) * m_texture.width + u];
    }

    const CoverageTexture& m_texture;
    std::uint32_t m_color;
    Brush m_brush;
    bool m_isFlat = true, m_isTextured = false, m_isOneHue = true;
    std::array<Plane, 4> m_channels{}; ///< red, green, blue, alpha
    Plane m_u{}, m_v{};
};

void fillTriangle(const std::array<ImDrawVert, 3>& corners, const CoverageTexture& texture, const Clip& clip,
                  const PixelBuffer& out)
{
    const GridPoint a = toGrid(corners[0].pos);
    GridPoint b = toGrid(corners[1].pos), c = toGrid(corners[2].pos);
    const std::int64_t area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    if (area == 0)
        return;
    if (area < 0)
        std::swap(b, c);
    // The first row whose centre is not above the topmost corner, and the first whose centre is below the lowest.
    const auto rowOf = [](std::int64_t y) { return floorDivided(y + kSubpixels / 2 - 1, kSubpixels); };
    const auto top = static_cast<int>(std::max<std::int64_t>(rowOf(std::min({a.y, b.y, c.y})), clip.top));
    const auto bottom = static_cast<int>(std::min<std::int64_t>(rowOf(std::max({a.y, b.y, c.y})) + 1, clip.bottom));
    if (top >= bottom)
        return;
    std::array<EdgeWalk, 3> edges{EdgeWalk(a, b, top), EdgeWalk(b, c, top), EdgeWalk(c, a, top)};
    const Shade shade(corners, texture);
    for (int y = top; y < bottom; ++y) {
        std::int64_t begin = clip.left, end = clip.right;
        for (EdgeWalk& edge : edges) {
            edge.narrow(begin, end);
            edge.nextRow();
        }
        if (begin < end)
            shade.fill(out.row(y), y, static_cast<int>(begin), static_cast<int>(end));
    }
}

/// Two triangles 0 1 2, 0 2 3 that make an upright box of one colour: what PrimRect and PrimRectUV write.
bool isBox(const ImDrawIdx* i, const ImDrawVert& v0, const ImDrawVert& v1, const ImDrawVert& v2, const ImDrawVert& v3)
{
    return i[3] == i[0] && i[4] == i[2] && v0.pos.y == v1.pos.y && v1.pos.x == v2.pos.x && v2.pos.y == v3.pos.y &&
           v3.pos.x == v0.pos.x && v0.pos.x <= v1.pos.x && v0.pos.y <= v3.pos.y && v0.col == v1.col && v0.col == v2.col &&
           v0.col == v3.col;
}

/// The first row of [top, bottom) whose centre is less than so many quanta above the area's lower edge, for [quanta]; what is
/// more than all of them has top.
std::vector<int> firstRows(const ColumnStacks& stacks, int top, int bottom)
{
    const auto heightOf = [&](int y) {
        return static_cast<std::uint16_t>((stacks.area.bottom - static_cast<float>(y) - 0.5F) / stacks.quantum);
    };
    std::vector<int> rows(static_cast<std::size_t>(heightOf(top)) + 2);
    int y = top;
    for (std::size_t quanta = rows.size(); quanta-- > 0;) {
        while (y < bottom && heightOf(y) >= quanta)
            ++y;
        rows[quanta] = y;
    }
    return rows;
}

/// Columns that look alike at once; a pixel has the colour of the bar that its centre lies in.
void fillStacks(const ColumnStacks& stacks, const Clip& clip, const PixelBuffer& out)
{
    const std::size_t bars = stacks.colors.size(), columns = stacks.columns();
    const int left = std::max(firstPixel(stacks.area.left), clip.left),
              right = std::min(firstPixel(stacks.area.right), clip.right);
    const int top = std::max(firstPixel(stacks.area.top), clip.top),
              bottom = std::min(firstPixel(stacks.area.bottom), clip.bottom);
    if (columns == 0 || left >= right || top >= bottom)
        return;
    const std::vector<int> rows = firstRows(stacks, top, bottom);
    const auto rowOf = [&](std::uint16_t quanta) { return rows[std::min<std::size_t>(quanta, rows.size() - 1)]; };
    std::vector<Brush> brushes;
    for (const Color color : stacks.colors)
        brushes.emplace_back(toArgb(color.value));
    const auto topsAt = [&](int x) {
        const auto column = static_cast<std::size_t>((static_cast<float>(x) + 0.5F - stacks.area.left) / stacks.columnWidth);
        return stacks.tops.data() + std::min(column, columns - 1) * bars;
    };
    for (int x = left; x < right;) {
        const std::uint16_t* const tops = topsAt(x);
        int end = x + 1;
        for (; end < right; ++end)
            if (const std::uint16_t* next = topsAt(end); next != tops && !std::equal(tops, tops + bars, next))
                break;
        std::uint16_t reached = 0;
        for (std::size_t bar = 0; bar < bars; ++bar) {
            if (tops[bar] <= reached)
                continue;
            const int below = rowOf(std::exchange(reached, tops[bar]));
            for (int y = rowOf(reached); y < below; ++y)
                brushes[bar].fill(out.row(y) + x, out.row(y) + end);
        }
        x = end;
    }
}

/// Is all of this under the first box that is drawn, which lets nothing through? Most pictures begin with one.
bool startsWithCover(const ImDrawList& list, const PixelRect& area)
{
    const auto first = std::find_if(list.CmdBuffer.begin(), list.CmdBuffer.end(),
                                    [](const ImDrawCmd& c) { return c.ElemCount > 0 || c.UserCallback != nullptr; });
    if (first == list.CmdBuffer.end() || first->UserCallback != nullptr || first->ElemCount < 6)
        return false;
    const ImDrawIdx* const index = list.IdxBuffer.Data + first->IdxOffset;
    const ImDrawVert* const vertices = list.VtxBuffer.Data + first->VtxOffset;
    const ImDrawVert &v0 = vertices[index[0]], &v2 = vertices[index[2]];
    if (!isBox(index, v0, vertices[index[1]], v2, vertices[index[5]]) || v0.uv.x != v2.uv.x || v0.uv.y != v2.uv.y ||
        v0.col >> 24U != 255)
        return false;
    const Clip box = boxOf(v0, v2,
                           {firstPixel(first->ClipRect.x), firstPixel(first->ClipRect.y), firstPixel(first->ClipRect.z),
                            firstPixel(first->ClipRect.w)});
    return box.left <= area.left && box.top <= area.top && box.right >= area.right && box.bottom >= area.bottom;
}

} // namespace

void markStacks(const ImDrawList*, const ImDrawCmd*) {}

void rasterise(const ImDrawList& list, const CoverageTexture& texture, const PixelBuffer& out,
               std::span<const ColumnStacks> stacks, const PixelRect* only)
{
    const PixelRect all{0, 0, out.width, out.height};
    const PixelRect& drawn = only == nullptr ? all : *only;
    auto nextStacks = stacks.begin();
    for (const ImDrawCmd& command : list.CmdBuffer) {
        const bool isStacks = command.UserCallback == markStacks;
        const ColumnStacks* marked = isStacks ? &*nextStacks++ : nullptr;
        const Clip clip{std::max(drawn.left, firstPixel(command.ClipRect.x)), std::max(drawn.top, firstPixel(command.ClipRect.y)),
                        std::min(drawn.right, firstPixel(command.ClipRect.z)),
                        std::min(drawn.bottom, firstPixel(command.ClipRect.w))};
        if (clip.left >= clip.right || clip.top >= clip.bottom)
            continue;
        if (marked != nullptr) {
            fillStacks(*marked, clip, out);
            continue;
        }
        const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
        const ImDrawIdx* const end = index + command.ElemCount;
        const ImDrawVert* const vertices = list.VtxBuffer.Data + command.VtxOffset;
        while (index < end) {
            const ImDrawVert &v0 = vertices[index[0]], &v1 = vertices[index[1]], &v2 = vertices[index[2]];
            if (end - index >= 6 && isBox(index, v0, v1, v2, vertices[index[5]])) {
                const bool isPlain = v0.uv.x == v2.uv.x && v0.uv.y == v2.uv.y;
                if (isPlain || isOneToOne(v0, v2, texture)) {
                    if (isPlain)
                        fillBox(v0, v2, clip, out);
                    else
                        fillGlyph(v0, v2, texture, clip, out);
                    index += 6;
                    continue;
                }
            }
            fillTriangle({v0, v1, v2}, texture, clip, out);
            index += 3;
        }
    }
}

void rasteriseOn(std::uint32_t background, const ImDrawList& list, const CoverageTexture& texture, const PixelBuffer& out,
                 std::span<const ColumnStacks> stacks, const PixelRect& only)
{
    const auto band = [&](int top, int bottom) {
        const PixelRect part{only.left, top, only.right, bottom};
        if (!startsWithCover(list, part))
            for (int y = top; y < bottom; ++y)
                std::fill(out.row(y) + part.left, out.row(y) + part.right, background);
        rasterise(list, texture, out, stacks, &part);
    };
    constexpr int kPixelsOfThread = 1 << 18; // fewer are filled before another thread has started
    const int rows = only.bottom - only.top;
    // No more bands than cores: each walks through all that is drawn.
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int bands = std::clamp(rows * (only.right - only.left) / kPixelsOfThread, 1, cores);
    const auto edge = [&](std::size_t i) { return only.top + rows * static_cast<int>(i) / bands; };
    inParallel(static_cast<std::size_t>(bands), static_cast<std::size_t>(bands),
               [&](std::size_t i) { band(edge(i), edge(i + 1)); });
}

} // namespace app
