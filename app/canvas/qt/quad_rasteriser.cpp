#include "app/canvas/qt/quad_rasteriser.h"

#include "app/canvas/in_parallel.h"
#include "app/canvas/qt/brushes.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

namespace app {
namespace {

struct Clip {
    int left, top, right, bottom;
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
    const auto whole = [](float at) { return static_cast<int>(std::max(0.0F, finite(at)) + 0.5F); };
    return {whole(uv.x), whole(uv.y)};
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
    const Stencil stencil(toArgb(topLeft.col));
    for (int y = box.top; y < box.bottom; ++y)
        stencil.fill(out.row(y) + box.left,
                     texture.texels + static_cast<std::ptrdiff_t>(y + toV) * texture.width + toU + box.left,
                     box.right - box.left);
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

/// Without a texture.
bool isPlain(const ImDrawVert& topLeft, const ImDrawVert& bottomRight)
{
    return topLeft.uv.x == bottomRight.uv.x && topLeft.uv.y == bottomRight.uv.y;
}

/// How high above the area's lower edge the middle of a row of pixels lies.
std::uint16_t heightOf(const ColumnStacks& stacks, int y)
{
    return static_cast<std::uint16_t>((stacks.area.bottom - static_cast<float>(y) - 0.5F) / stacks.quantum);
}

/// The first row of [top, bottom) whose middle is less than so many quanta above the area's lower edge, for [quanta]; what is
/// more than all of them has top.
std::vector<int> firstRows(const ColumnStacks& stacks, int top, int bottom)
{
    std::vector<int> rows(static_cast<std::size_t>(heightOf(stacks, top)) + 2);
    int y = top;
    for (std::size_t quanta = rows.size(); quanta-- > 0;) {
        while (y < bottom && heightOf(stacks, y) >= quanta)
            ++y;
        rows[quanta] = y;
    }
    return rows;
}

const std::uint16_t* topsAt(const ColumnStacks& stacks, int x)
{
    const auto column = static_cast<std::size_t>((static_cast<float>(x) + 0.5F - stacks.area.left) / stacks.columnWidth);
    return stacks.tops.data() + std::min(column, stacks.columns() - 1) * stacks.colors.size();
}

/// Columns that look alike at once.
void fillRuns(const ColumnStacks& stacks, const Clip& clip, const PixelBuffer& out)
{
    const std::size_t bars = stacks.colors.size();
    const std::vector<int> rows = firstRows(stacks, clip.top, clip.bottom);
    const auto rowOf = [&](std::uint16_t quanta) { return rows[std::min<std::size_t>(quanta, rows.size() - 1)]; };
    std::vector<Brush> brushes;
    for (const Color color : stacks.colors)
        brushes.emplace_back(toArgb(color.value));
    for (int x = clip.left; x < clip.right;) {
        const std::uint16_t* const tops = topsAt(stacks, x);
        int end = x + 1;
        for (; end < clip.right; ++end)
            if (const std::uint16_t* next = topsAt(stacks, end); next != tops && !std::equal(tops, tops + bars, next))
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

/// Of opaque colours, row by row: each pixel takes that of the first bar that ends above it. Four pixels at a time; a block of
/// columns stays near the core for all its rows.
void fillRows(const ColumnStacks& stacks, const Clip& clip, const PixelBuffer& out)
{
    constexpr int kBlock = 512;
    using Heights = std::int32_t __attribute__((vector_size(16)));
    const std::size_t bars = stacks.colors.size();
    std::vector<std::int32_t> tops(bars * kBlock);
    std::vector<std::int32_t> highest(bars);
    for (int left = clip.left; left < clip.right; left += kBlock) {
        const int width = std::min(kBlock, clip.right - left);
        std::fill(highest.begin(), highest.end(), 0);
        for (int x = 0; x < width; ++x) {
            const std::uint16_t* const column = topsAt(stacks, left + x);
            std::int32_t reached = 0;
            for (std::size_t bar = 0; bar < bars; ++bar) {
                const bool isSeen = column[bar] > reached;
                reached = isSeen ? column[bar] : reached;
                tops[bar * kBlock + static_cast<std::size_t>(x)] = isSeen ? reached : 0;
                highest[bar] = std::max(highest[bar], isSeen ? reached : 0);
            }
        }
        for (int y = clip.top; y < clip.bottom; ++y) {
            const std::int32_t height = heightOf(stacks, y);
            std::uint32_t* const pixels = out.row(y) + left;
            for (std::size_t bar = bars; bar-- > 0;) { // the first comes over those behind it
                if (highest[bar] <= height)
                    continue;
                const std::uint32_t color = toArgb(stacks.colors[bar].value);
                const std::int32_t* const ofBar = tops.data() + bar * kBlock;
                int x = 0;
                for (const Words four{color, color, color, color}; x + 4 <= width; x += 4) {
                    Heights ends;
                    Words below;
                    std::memcpy(&ends, ofBar + x, sizeof ends);
                    std::memcpy(&below, pixels + x, sizeof below);
                    const auto inside = reinterpret_cast<Words>(ends > height);
                    below = (four & inside) | (below & ~inside);
                    std::memcpy(pixels + x, &below, sizeof below);
                }
                for (; x < width; ++x)
                    pixels[x] = ofBar[x] > height ? color : pixels[x];
            }
        }
    }
}

/// Of every so many columns: how many look as the next one does decides how all are drawn.
bool isMostlyRuns(const ColumnStacks& stacks, const Clip& clip)
{
    constexpr int kEvery = 16;
    int looked = 0, alike = 0;
    for (int x = clip.left; x + 1 < clip.right; x += kEvery) {
        const std::uint16_t *const one = topsAt(stacks, x), *const next = topsAt(stacks, x + 1);
        ++looked;
        alike += one == next || std::equal(one, one + stacks.colors.size(), next) ? 1 : 0;
    }
    return 2 * alike >= looked;
}

/// A pixel has the colour of the bar that its centre lies in.
void fillStacks(const ColumnStacks& stacks, const Clip& clip, const PixelBuffer& out)
{
    const Clip inside{std::max(firstPixel(stacks.area.left), clip.left), std::max(firstPixel(stacks.area.top), clip.top),
                      std::min(firstPixel(stacks.area.right), clip.right), std::min(firstPixel(stacks.area.bottom), clip.bottom)};
    if (stacks.columns() == 0 || inside.left >= inside.right || inside.top >= inside.bottom)
        return;
    const bool isOpaque =
        std::all_of(stacks.colors.begin(), stacks.colors.end(), [](Color color) { return toArgb(color.value) >> 24U == 255; });
    if (isOpaque && !isMostlyRuns(stacks, inside))
        fillRows(stacks, inside, out);
    else
        fillRuns(stacks, inside, out);
}

/// Rows that are drawn as one: the pixels stay near the core while one thing after the other comes over them.
constexpr int kBytesOfStrip = 1 << 18;

/// What of a draw list lies on each of a few strips, in its order.
class Strips {
public:
    Strips(const ImDrawList& list, const CoverageTexture& texture, std::span<const ColumnStacks> stacks, const PixelRect& drawn)
        : m_list(list), m_texture(texture), m_stacks(stacks), m_drawn(drawn),
          m_rows(std::clamp(kBytesOfStrip / (4 * std::max(1, drawn.right - drawn.left)), 8, 256)),
          m_pieces(static_cast<std::size_t>((drawn.bottom - drawn.top + m_rows - 1) / m_rows))
    {
        std::uint32_t marked = 0;
        for (const ImDrawCmd& command : list.CmdBuffer) {
            m_clips.push_back(
                {std::max(drawn.left, firstPixel(command.ClipRect.x)), std::max(drawn.top, firstPixel(command.ClipRect.y)),
                 std::min(drawn.right, firstPixel(command.ClipRect.z)), std::min(drawn.bottom, firstPixel(command.ClipRect.w))});
            const bool isStacks = command.UserCallback == markStacks;
            const std::uint32_t first = isStacks ? marked++ : command.IdxOffset;
            if (const Clip& clip = m_clips.back(); clip.left >= clip.right || clip.top >= clip.bottom)
                continue;
            if (isStacks)
                add(Piece::Kind::stacks, first, stacks[first].area.top, stacks[first].area.bottom);
            else
                sort(command);
        }
    }

    void draw(const PixelBuffer& out, std::uint32_t background) const
    {
        for (std::size_t i = 0; i < m_pieces.size(); ++i) {
            const int top = m_drawn.top + static_cast<int>(i) * m_rows, bottom = std::min(top + m_rows, m_drawn.bottom);
            for (int y = top; y < bottom; ++y)
                fillPlain(out.row(y) + m_drawn.left, out.row(y) + m_drawn.right, background);
            for (const Piece& piece : m_pieces[i]) {
                Clip clip = m_clips[piece.command];
                clip.top = std::max(clip.top, top);
                clip.bottom = std::min(clip.bottom, bottom);
                if (clip.top < clip.bottom)
                    draw(piece, clip, out);
            }
        }
    }

private:
    struct Piece {
        enum class Kind : std::uint32_t { triangle, box, stacks };
        std::uint32_t command : 30;
        Kind kind : 2;
        std::uint32_t first; ///< of its indices; of stacks: which of them
    };

    void sort(const ImDrawCmd& command)
    {
        const ImDrawIdx* const indices = m_list.IdxBuffer.Data;
        const ImDrawVert* const vertices = m_list.VtxBuffer.Data + command.VtxOffset;
        for (std::uint32_t i = command.IdxOffset, end = i + command.ElemCount; i < end;) {
            const ImDrawIdx* const index = indices + i;
            const ImDrawVert &v0 = vertices[index[0]], &v1 = vertices[index[1]], &v2 = vertices[index[2]];
            const bool asBox = end - i >= 6 && isBox(index, v0, v1, v2, vertices[index[5]]) &&
                               (isPlain(v0, v2) || isOneToOne(v0, v2, m_texture));
            add(asBox ? Piece::Kind::box : Piece::Kind::triangle, i, std::min({v0.pos.y, v1.pos.y, v2.pos.y}),
                std::max({v0.pos.y, v1.pos.y, v2.pos.y}));
            i += asBox ? 6 : 3;
        }
    }

    void add(Piece::Kind kind, std::uint32_t first, float top, float bottom)
    {
        const Clip& clip = m_clips.back();
        const int from = std::max(static_cast<int>(std::floor(finite(top))), clip.top),
                  to = std::min(static_cast<int>(std::ceil(finite(bottom))) + 1, clip.bottom);
        if (from >= to)
            return;
        const Piece piece{static_cast<std::uint32_t>(m_clips.size() - 1) & 0x3FFFFFFFU, kind, first};
        const auto last = static_cast<std::size_t>((to - 1 - m_drawn.top) / m_rows);
        for (auto i = static_cast<std::size_t>((from - m_drawn.top) / m_rows); i <= last; ++i)
            m_pieces[i].push_back(piece);
    }

    void draw(const Piece& piece, const Clip& clip, const PixelBuffer& out) const
    {
        if (piece.kind == Piece::Kind::stacks)
            return fillStacks(m_stacks[piece.first], clip, out);
        const ImDrawIdx* const index = m_list.IdxBuffer.Data + piece.first;
        const ImDrawVert* const vertices = m_list.VtxBuffer.Data + m_list.CmdBuffer[static_cast<int>(piece.command)].VtxOffset;
        const ImDrawVert &v0 = vertices[index[0]], &v2 = vertices[index[2]];
        if (piece.kind == Piece::Kind::triangle)
            fillTriangle({v0, vertices[index[1]], v2}, m_texture, clip, out);
        else if (isPlain(v0, v2))
            fillBox(v0, v2, clip, out);
        else
            fillGlyph(v0, v2, m_texture, clip, out);
    }

    const ImDrawList& m_list;
    const CoverageTexture& m_texture;
    std::span<const ColumnStacks> m_stacks;
    PixelRect m_drawn;
    int m_rows;                ///< of a strip
    std::vector<Clip> m_clips; ///< [command]
    std::vector<std::vector<Piece>> m_pieces;
};

} // namespace

void markStacks(const ImDrawList*, const ImDrawCmd*) {}

void rasterise(std::uint32_t background, const ImDrawList& list, const CoverageTexture& texture, const PixelBuffer& out,
               std::span<const ColumnStacks> stacks, const PixelRect& only)
{
    constexpr int kPixelsOfThread = 1 << 18; // fewer are filled before another thread has started
    const int rows = only.bottom - only.top;
    // No more bands than cores: each walks through all that is drawn.
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int bands = std::clamp(rows * (only.right - only.left) / kPixelsOfThread, 1, cores);
    const auto edge = [&](std::size_t i) { return only.top + rows * static_cast<int>(i) / bands; };
    inParallel(static_cast<std::size_t>(bands), static_cast<std::size_t>(bands), [&](std::size_t i) {
        Strips(list, texture, stacks, {only.left, edge(i), only.right, edge(i + 1)}).draw(out, background);
    });
}

} // namespace app
