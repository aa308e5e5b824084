#include "app/canvas/imgui_canvas.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

struct Dashes {
    float on, off; ///< times the thickness, but not below these pixels at thickness 1
};

Dashes dashesOf(LineStyle style, float thickness)
{
    const float unit = std::max(1.0F, thickness);
    return style == LineStyle::dashed ? Dashes{4 * unit, 3 * unit} : Dashes{unit, 2 * unit};
}

/// The next code point; U+FFFD for what is no UTF-8.
ImWchar nextCharacter(const char*& at, const char* end)
{
    unsigned int character = 0;
    const int length = ImTextCharFromUtf8(&character, at, end);
    at += std::max(length, 1);
    return character > IM_UNICODE_CODEPOINT_MAX ? static_cast<ImWchar>(IM_UNICODE_CODEPOINT_INVALID)
                                                : static_cast<ImWchar>(character);
}

} // namespace

DrawList::DrawList(std::shared_ptr<const GlyphAtlas> atlas) : m_atlas(std::move(atlas)), m_list(&m_shared)
{
    m_shared.TexUvWhitePixel = m_atlas->atlas().TexUvWhitePixel;
    m_shared.InitialFlags = ImDrawListFlags_AntiAliasedLines | ImDrawListFlags_AntiAliasedFill | ImDrawListFlags_AllowVtxOffset;
    m_shared.CurveTessellationTol = 1.25F;
    m_shared.SetCircleTessellationMaxError(0.3F);
}

void DrawList::begin(int widthPixels, int heightPixels)
{
    m_list._ResetForNewFrame();
    m_list.PushTextureID(m_atlas->atlas().TexID);
    m_shared.ClipRectFullscreen = {0, 0, static_cast<float>(widthPixels), static_cast<float>(heightPixels)};
    m_list.PushClipRectFullScreen();
}

ImGuiCanvas::ImGuiCanvas(DrawList& drawList, Rect area)
    : m_list(drawList.list()), m_atlas(drawList.atlas()), m_area(area), m_scale(drawList.atlas().scale())
{
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
    if (right > left && bottom > top)
        m_list.AddRectFilled({left, top}, {right, bottom}, color.value);
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
    if (t <= 0)
        return fillPixels(left, top, right, bottom, color);
    if (style == LineStyle::solid) {
        fillPixels(left, top, right, top + t, color);
        fillPixels(left, bottom - t, right, bottom, color);
        fillPixels(left, top + t, left + t, bottom - t, color);
        fillPixels(right - t, top + t, right, bottom - t, color);
        return;
    }
    const auto [on, off] = dashesOf(style, t);
    for (float x = left; x < right; x += on + off) {
        fillPixels(x, top, std::min(x + on, right), top + t, color);
        fillPixels(x, bottom - t, std::min(x + on, right), bottom, color);
    }
    for (float y = top + t + off; y < bottom - t; y += on + off) {
        fillPixels(left, y, left + t, std::min(y + on, bottom - t), color);
        fillPixels(right - t, y, right, std::min(y + on, bottom - t), color);
    }
}

void ImGuiCanvas::line(Point from, Point to, Color color, float thickness, LineStyle style)
{
    const float t = strokePixels(thickness);
    if (from.x == to.x || from.y == to.y) { // along an axis: whole pixels
        const bool isVertical = from.x == to.x;
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
        const auto [on, off] = dashesOf(style, t);
        for (float at = begin; at < end; at += on + off)
            piece(at, std::min(at + on, end));
        return;
    }
    const ImVec2 a = scaled(from), b = scaled(to);
    if (style == LineStyle::solid)
        return m_list.AddLine(a, b, color.value, t);
    const auto [on, off] = dashesOf(style, t);
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    const ImVec2 unit{(b.x - a.x) / length, (b.y - a.y) / length};
    for (float at = 0; at < length; at += on + off) {
        const float end = std::min(at + on, length);
        m_list.AddLine({a.x + unit.x * at, a.y + unit.y * at}, {a.x + unit.x * end, a.y + unit.y * end}, color.value, t);
    }
}

void ImGuiCanvas::polyline(const std::vector<Point>& points, Color color, float thickness)
{
    m_list.PathClear();
    for (const Point& point : points)
        m_list.PathLineTo(scaled(point));
    m_list.PathStroke(color.value, ImDrawFlags_None, std::max(1.0F, thickness * m_scale));
}

void ImGuiCanvas::fillConvex(const std::vector<Point>& points, Color color)
{
    m_list.PathClear();
    for (const Point& point : points)
        m_list.PathLineTo(scaled(point));
    m_list.PathFillConvex(color.value);
}

void ImGuiCanvas::text(Point at, std::string_view text, Color color, FontFace face, Align align)
{
    if (text.empty())
        return;
    const ImFont& font = m_atlas.font(face);
    const float width = align == Align::left ? 0 : textWidth(text, face);
    float pen = (at.x - (align == Align::center ? width / 2 : width)) * m_scale;
    const float top = snapped(at.y);
    const ImVec4 clip = m_list._CmdHeader.ClipRect;
    if (top >= clip.w || top + font.FontSize <= clip.y)
        return;
    const auto count = static_cast<int>(text.size());
    m_list.PrimReserve(count * 6, count * 4);
    int used = 0;
    const char* next = text.data();
    const char* const end = next + text.size();
    while (next < end) {
        const ImFontGlyph* glyph = font.FindGlyph(nextCharacter(next, end));
        if (glyph == nullptr)
            continue;
        if (glyph->Visible) {
            // Glyphs stand on whole pixels, the pen does not: sharp letters, true spacing.
            const float x = std::round(pen) + glyph->X0;
            m_list.PrimRectUV({x, top + glyph->Y0}, {x + glyph->X1 - glyph->X0, top + glyph->Y1}, {glyph->U0, glyph->V0},
                              {glyph->U1, glyph->V1}, color.value);
            ++used;
        }
        pen += glyph->AdvanceX;
    }
    m_list.PrimUnreserve((count - used) * 6, (count - used) * 4);
}

float ImGuiCanvas::textWidth(std::string_view text, FontFace face)
{
    const ImFont& font = m_atlas.font(face);
    float width = 0;
    const char* next = text.data();
    const char* const end = next + text.size();
    while (next < end)
        if (const ImFontGlyph* glyph = font.FindGlyph(nextCharacter(next, end)))
            width += glyph->AdvanceX;
    return width / m_scale;
}

float ImGuiCanvas::textHeight(FontFace face)
{
    return m_atlas.height(face);
}

void ImGuiCanvas::pushClip(Rect rect)
{
    m_list.PushClipRect({snapped(rect.left), snapped(rect.top)}, {snapped(rect.right), snapped(rect.bottom)}, true);
}

void ImGuiCanvas::popClip()
{
    m_list.PopClipRect();
}

} // namespace app
