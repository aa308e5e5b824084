#include "app/canvas/qt/imgui_canvas.h"

#include "app/canvas/qt/quad_rasteriser.h"
#include "app/canvas/strokes.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace app {
namespace {

/// The next code point; U+FFFD for what is no UTF-8.
char32_t nextCharacter(const char*& at, const char* end)
{
    if (const auto plain = static_cast<unsigned char>(*at); plain < 0x80U) { // nearly all
        ++at;
        return plain;
    }
    unsigned int character = 0;
    const int length = ImTextCharFromUtf8(&character, at, end);
    at += std::max(length, 1);
    return character;
}

/// The share of a segment, from 0 to 1, that may touch a box (Liang and Barsky's clipping); empty if none does.
struct Share {
    double begin = 0, end = 1;
    bool isEmpty() const { return !(begin < end); }
    /// Keeps what has p + d t >= 0.
    void keep(double p, double d)
    {
        if (d == 0)
            end = p >= 0 ? end : begin;
        else if (d > 0)
            begin = std::max(begin, -p / d);
        else
            end = std::min(end, -p / d);
    }
};

Share visibleShare(ImVec2 from, ImVec2 to, const ImVec4& clip, double margin)
{
    const double dx = static_cast<double>(to.x) - from.x, dy = static_cast<double>(to.y) - from.y;
    Share share;
    share.keep(from.x - (clip.x - margin), dx);
    share.keep(clip.z + margin - from.x, -dx);
    share.keep(from.y - (clip.y - margin), dy);
    share.keep(clip.w + margin - from.y, -dy);
    return share;
}

} // namespace

/// Along a line, in pixels.
struct ImGuiCanvas::Dashes {
    double on, off;
    Dashes(LineStyle style, double thickness)
        : on(style == LineStyle::dashed ? 4 * thickness : thickness),
          off(style == LineStyle::dashed ? 3 * thickness : 2 * thickness)
    {
    }
    /// The dashes of a line from 0 to `length` that reach into [from, to): no more than can be seen, wherever the line ends.
    template <class Draw>
    void forEach(double length, double from, double to, Draw draw) const
    {
        constexpr double kLongest = 1e15; // beyond it a double cannot tell pixels apart
        const double period = on + off, end = length < kLongest ? std::min(length, to) : 0;
        for (double at = std::max(0.0, std::floor(from / period)) * period; at < end; at += period)
            draw(at, std::min(at + on, length));
    }
};

DrawList::DrawList(std::shared_ptr<GlyphAtlas> atlas) : m_atlas(std::move(atlas)), m_list(&m_shared)
{
    m_shared.TexUvWhitePixel = {GlyphAtlas::kOpaqueTexel, GlyphAtlas::kOpaqueTexel};
    m_shared.InitialFlags = ImDrawListFlags_AntiAliasedLines | ImDrawListFlags_AntiAliasedFill | ImDrawListFlags_AllowVtxOffset;
}

void DrawList::begin(int widthPixels, int heightPixels)
{
    m_list._ResetForNewFrame();
    m_stacks.clear();
    m_list.PushTextureID(nullptr);
    m_shared.ClipRectFullscreen = {0, 0, static_cast<float>(widthPixels), static_cast<float>(heightPixels)};
    m_list.PushClipRectFullScreen();
}

void DrawList::addStacks(ColumnStacks stacks)
{
    m_stacks.push_back(std::move(stacks));
    m_list.AddCallback(markStacks, nullptr);
}

void rasterise(const DrawList& list, const PixelBuffer& out, QRgb background, const PixelRect& only)
{
    rasterise(background, list.list(), list.atlas().texture(), out, list.stacks(), only);
}

ImGuiCanvas::ImGuiCanvas(DrawList& drawList, Rect area, std::vector<Node>* nodes)
    : m_drawList(drawList), m_list(drawList.list()), m_atlas(drawList.atlas()), m_area(area), m_scale(drawList.atlas().scale()),
      m_nodes(nodes)
{
}

/// In device pixels.
void ImGuiCanvas::stacks(const ColumnStacks& stacks)
{
    if (!m_drawList.keepsStacks())
        return Canvas::stacks(stacks);
    ColumnStacks scaled = stacks;
    scaled.area = {stacks.area.left * m_scale, stacks.area.top * m_scale, stacks.area.right * m_scale,
                   stacks.area.bottom * m_scale};
    scaled.columnWidth *= m_scale;
    scaled.quantum *= m_scale;
    m_drawList.addStacks(std::move(scaled));
}

float ImGuiCanvas::snapped(float logical) const
{
    return std::round(logical * m_scale);
}

float ImGuiCanvas::strokePixels(float thickness) const
{
    return std::max(1.0F, std::round(thickness * m_scale));
}

void ImGuiCanvas::fillPixels(float left, float top, float right, float bottom, Color color)
{
    const ImVec4& c = clip();
    const ImVec2 from{std::max(c.x, left), std::max(c.y, top)}, to{std::min(c.z, right), std::min(c.w, bottom)};
    if (from.x < to.x && from.y < to.y)
        m_list.AddRectFilled(from, to, color.value);
}

void ImGuiCanvas::fillRect(Rect rect, Color color)
{
    fillPixels(snapped(rect.left), snapped(rect.top), snapped(rect.right), snapped(rect.bottom), color);
}

/// Inside the rectangle, as four bars (or rows of dashes), so that corners are square and never blended twice.
void ImGuiCanvas::strokeRect(Rect rect, Color color, float thickness, LineStyle style)
{
    const float left = snapped(rect.left), top = snapped(rect.top), right = snapped(rect.right), bottom = snapped(rect.bottom);
    const float t = std::min(strokePixels(thickness), std::min(right - left, bottom - top) / 2);
    if (!(t > 0))
        return;
    if (style == LineStyle::solid) {
        fillPixels(left, top, right, top + t, color);
        fillPixels(left, bottom - t, right, bottom, color);
        fillPixels(left, top + t, left + t, bottom - t, color);
        fillPixels(right - t, top + t, right, bottom - t, color);
        return;
    }
    const ImVec4& c = clip();
    const Dashes dashes(style, t);
    dashes.forEach(right - left, c.x - left, c.z - left, [&](double a, double b) {
        const float from = left + static_cast<float>(a), to = left + static_cast<float>(b);
        fillPixels(from, top, to, top + t, color);
        fillPixels(from, bottom - t, to, bottom, color);
    });
    const float below = top + t + static_cast<float>(dashes.off), length = bottom - t - below;
    dashes.forEach(length, c.y - below, c.w - below, [&](double a, double b) {
        const float from = below + static_cast<float>(a), to = below + static_cast<float>(b);
        fillPixels(left, from, left + t, to, color);
        fillPixels(right - t, from, right, to, color);
    });
}

void ImGuiCanvas::line(Point from, Point to, Color color, float thickness, LineStyle style)
{
    const float t = strokePixels(thickness);
    const bool isVertical = from.x == to.x;
    if (!isVertical && from.y != to.y)
        return slantedLine(scaled(from), scaled(to), color, t, style);
    // Along an axis: whole pixels.
    const float across = isVertical ? snapped(from.x) : snapped(from.y);
    const float begin = isVertical ? snapped(std::min(from.y, to.y)) : snapped(std::min(from.x, to.x));
    const float end = isVertical ? snapped(std::max(from.y, to.y)) : snapped(std::max(from.x, to.x));
    const auto piece = [&](float a, float b) {
        if (isVertical)
            fillPixels(across, a, across + t, b, color);
        else
            fillPixels(a, across, b, across + t, color);
    };
    if (style == LineStyle::solid)
        return piece(begin, end);
    const ImVec4& c = clip();
    Dashes(style, t).forEach(end - begin, (isVertical ? c.y : c.x) - begin, (isVertical ? c.w : c.z) - begin,
                             [&](double a, double b) { piece(begin + static_cast<float>(a), begin + static_cast<float>(b)); });
}

void ImGuiCanvas::slantedLine(ImVec2 from, ImVec2 to, Color color, float pixels, LineStyle style)
{
    const Share seen = visibleShare(from, to, clip(), pixels + 2);
    if (seen.isEmpty())
        return;
    const double dx = static_cast<double>(to.x) - from.x, dy = static_cast<double>(to.y) - from.y, length = std::hypot(dx, dy);
    const float shift = polylineShift(pixels);
    const auto stroke = [&](double a, double b) {
        const auto at = [&](double share) {
            return ImVec2{static_cast<float>(from.x + dx * share) + shift, static_cast<float>(from.y + dy * share) + shift};
        };
        const ImVec2 ends[] = {at(a), at(b)};
        m_list.AddPolyline(ends, 2, color.value, ImDrawFlags_None, pixels);
    };
    if (style == LineStyle::solid)
        return stroke(seen.begin, seen.end);
    Dashes(style, pixels).forEach(length, seen.begin * length, seen.end * length, [&](double a, double b) {
        stroke(a / length, b / length);
    });
}

void ImGuiCanvas::polyline(const std::vector<Point>& points, Color color, float thickness)
{
    const float t = strokePixels(thickness), shift = polylineShift(t);
    // Stairs are as sharp as rectangles.
    bool isStairs = true;
    for (std::size_t i = 1; i < points.size(); ++i)
        isStairs = isStairs && (points[i].x == points[i - 1].x || points[i].y == points[i - 1].y);
    std::vector<ImVec2> pixels;
    pixels.reserve(points.size());
    for (const Point& p : points)
        pixels.push_back(isStairs ? ImVec2{snapped(p.x) + shift, snapped(p.y) + shift}
                                  : ImVec2{p.x * m_scale + shift, p.y * m_scale + shift});
    // Indices have 16 bits and a point takes up to four corners.
    constexpr std::size_t kMostPoints = 8192;
    std::span<const ImVec2> rest(pixels);
    while (rest.size() > 1) {
        const std::size_t count = std::min(rest.size(), kMostPoints);
        m_list.AddPolyline(rest.data(), static_cast<int>(count), color.value, ImDrawFlags_None, t);
        rest = rest.subspan(count - 1);
    }
}

void ImGuiCanvas::fillConvex(const std::vector<Point>& points, Color color)
{
    float area = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Point a = points[i], b = points[(i + 1) % points.size()];
        area += a.x * b.y - a.y * b.x;
    }
    std::vector<ImVec2> pixels;
    pixels.reserve(points.size());
    for (const Point& point : points)
        pixels.push_back(scaled(point));
    if (area < 0) // ImGui smooths the outer side of clockwise shapes
        std::reverse(pixels.begin(), pixels.end());
    m_list.AddConvexPolyFilled(pixels.data(), static_cast<int>(pixels.size()), color.value);
}

void ImGuiCanvas::text(Point at, std::string_view text, Color color, FontFace face, Align align)
{
    const LineMetrics line = lineMetrics(face);
    const ImVec4& c = clip();
    if (at.y * m_scale >= c.w || (at.y + line.height) * m_scale + 2 <= c.y)
        return;
    const float width = align == Align::left ? 0 : textWidth(text, face);
    // A text begins on a whole pixel and looks the same wherever it stands; inside, its letters keep their distances.
    float pen = snapped(at.x - (align == Align::center ? width / 2 : width));
    const float baseline = snapped(at.y + line.ascent);
    const char* next = text.data();
    const char* const end = next + text.size();
    while (next < end && pen < c.z + 64) {
        const char32_t character = nextCharacter(next, end);
        const float advance = m_atlas.advance(face, character);
        if (pen + advance > c.x - 64) { // a letter may stick out of its box
            const float steps = std::round(pen * GlyphAtlas::kSteps), whole = std::floor(steps / GlyphAtlas::kSteps);
            const Glyph& glyph = m_atlas.glyph(face, character, static_cast<int>(steps - whole * GlyphAtlas::kSteps));
            const ImVec2 corner{whole + static_cast<float>(glyph.left), baseline + static_cast<float>(glyph.top)};
            const ImVec2 texel{static_cast<float>(glyph.u), static_cast<float>(glyph.v)};
            const ImVec2 size{static_cast<float>(glyph.width), static_cast<float>(glyph.height)};
            if (glyph.width > 0) {
                m_list.PrimReserve(6, 4);
                m_list.PrimRectUV(corner, {corner.x + size.x, corner.y + size.y}, texel, {texel.x + size.x, texel.y + size.y},
                                  color.value);
            }
        }
        pen += advance;
    }
}

float ImGuiCanvas::textWidth(std::string_view text, FontFace face)
{
    float width = 0;
    const char* next = text.data();
    const char* const end = next + text.size();
    while (next < end)
        width += m_atlas.advance(face, nextCharacter(next, end));
    return width / m_scale;
}

float ImGuiCanvas::textHeight(FontFace face)
{
    return lineMetrics(face).height;
}

void ImGuiCanvas::pushClip(Rect rect)
{
    m_list.PushClipRect({snapped(rect.left), snapped(rect.top)}, {snapped(rect.right), snapped(rect.bottom)}, true);
}

void ImGuiCanvas::popClip()
{
    m_list.PopClipRect();
}

void ImGuiCanvas::node(Node node)
{
    if (m_nodes != nullptr)
        m_nodes->push_back(std::move(node));
}

} // namespace app
