// What a view draws on. Views are pure: (model, geometry) -> primitives here. Behind it: Dear ImGui's draw list on screen,
// QPainter for figures, a recorder for tests and screen readers. No Qt, no GL, no ImGui in this header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace app {

struct Point {
    float x = 0, y = 0;
    bool operator==(const Point&) const = default;
};

/// Logical pixels, y down. right/bottom are exclusive.
struct Rect {
    float left = 0, top = 0, right = 0, bottom = 0;
    float width() const { return right - left; }
    float height() const { return bottom - top; }
    bool contains(Point p) const { return p.x >= left && p.x < right && p.y >= top && p.y < bottom; }
    Rect inset(float d) const { return {left + d, top + d, right - d, bottom - d}; }
    bool operator==(const Rect&) const = default;
};

/// The part that both share; empty (all zero) if they share none.
inline Rect intersected(Rect a, Rect b)
{
    const Rect both{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right), std::min(a.bottom, b.bottom)};
    return both.left < both.right && both.top < both.bottom ? both : Rect{};
}

/// 0xAABBGGRR, as Dear ImGui packs it.
struct Color {
    std::uint32_t value = 0;
    static constexpr Color rgb(std::uint32_t hex, float alpha = 1.0F)
    {
        const auto a = static_cast<std::uint32_t>(alpha * 510.0F + 1.0F) / 2; // rounded
        return {(a << 24) | ((hex & 0xFF) << 16) | (hex & 0xFF00) | ((hex >> 16) & 0xFF)};
    }
    bool operator==(const Color&) const = default;
};

enum class FontFace : std::uint8_t { body, small, bold, mono }; ///< 13, 11, 13 semibold, 12 px at scale 1; never below 11
enum class Align : std::uint8_t { left, center, right };
enum class LineStyle : std::uint8_t { solid, dashed, dotted };

/// Something a pointer can be over and a screen reader can name. One tree of these serves hover, accessibility and tests.
struct Node {
    std::uint64_t id = 0; ///< the view's own; stable while the thing exists
    std::string role;     ///< "cell", "span", "row", "chip", "button", "choice", "toggle", "slider", "text", "number", "axis"
    std::string name;     ///< "rank 13, dp 1 pp 1 cp 0 tp 1, 42.1 GiB"
    Rect rect;
    bool selected = false;
};

/// Columns of equal width, side by side over an area; in each, bars of the same colours stacked from below. What a dense timeline
/// is made of: hundreds of thousands of bars that are not worth a rectangle each.
struct ColumnStacks {
    Rect area;
    float columnWidth = 1;
    float quantum = 1;         ///< height of a unit of `tops`
    std::vector<Color> colors; ///< [bar of a stack]
    std::vector<std::uint16_t>
        tops; ///< [column][bar]: where it ends, in quanta from below; as the one below it: it has no height
    std::size_t columns() const { return colors.empty() ? 0 : tops.size() / colors.size(); }
};

class Canvas {
public:
    virtual ~Canvas() = default;
    virtual Rect area() const = 0; ///< where the view may draw

    virtual void fillRect(Rect, Color) = 0;
    /// Inside the rectangle.
    virtual void strokeRect(Rect, Color, float thickness = 1, LineStyle = LineStyle::solid) = 0;
    /// Along an axis it covers the pixels right of and below its coordinate, as a rectangle would.
    virtual void line(Point from, Point to, Color, float thickness = 1, LineStyle = LineStyle::solid) = 0;
    virtual void polyline(const std::vector<Point>&, Color, float thickness = 1) = 0;
    virtual void fillConvex(const std::vector<Point>&, Color) = 0;
    /// As rectangles, like neighbours joined, unless a canvas knows better.
    virtual void stacks(const ColumnStacks&);
    /// `at` is the top left, top centre or top right of the text.
    virtual void text(Point at, std::string_view, Color, FontFace = FontFace::body, Align = Align::left) = 0;
    virtual float textWidth(std::string_view, FontFace = FontFace::body) = 0;
    virtual float textHeight(FontFace = FontFace::body) = 0;
    virtual void pushClip(Rect) = 0;
    virtual void popClip() = 0;
    /// Many cells may be told to wantsNodes() == false and spare the strings.
    virtual void node(Node) = 0;
    virtual bool wantsNodes() const { return false; }
};

} // namespace app
