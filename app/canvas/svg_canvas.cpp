#include "app/canvas/svg_canvas.h"

#include "sim/text/quoted.h"

#include "app/canvas/strokes.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

namespace app {
namespace {

/// To a thousandth, without what needs no saying.
std::string number(double value)
{
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, std::round(value * 1000) / 1000).ptr;
    return {text, end};
}

std::string attribute(const char* name, const std::string& value)
{
    return std::string(" ") + name + "=\"" + value + "\"";
}

std::string attribute(const char* name, double value)
{
    return attribute(name, number(value));
}

std::string attributes(Rect rect)
{
    return attribute("x", rect.left) + attribute("y", rect.top) + attribute("width", rect.width()) +
           attribute("height", rect.height());
}

/// `what` is fill or stroke.
std::string painted(const std::string& what, Color color)
{
    constexpr const char* kHex = "0123456789abcdef";
    std::string hex = "#";
    for (const unsigned shift : {0U, 8U, 16U}) {
        hex += kHex[(color.value >> (shift + 4)) & 0xFU];
        hex += kHex[(color.value >> shift) & 0xFU];
    }
    const std::uint32_t alpha = color.value >> 24U;
    return attribute(what.c_str(), hex) + (alpha == 255 ? "" : attribute((what + "-opacity").c_str(), alpha / 255.0));
}

std::string stroked(Color color, float thickness, LineStyle style)
{
    std::string out = attribute("fill", "none") + painted("stroke", color) + attribute("stroke-width", thickness);
    const double t = thickness;
    if (style != LineStyle::solid)
        out += attribute("stroke-dasharray",
                         style == LineStyle::dashed ? number(4 * t) + " " + number(3 * t) : number(t) + " " + number(2 * t));
    return out;
}

std::string pointsOf(const std::vector<Point>& points, float shift)
{
    std::string out;
    for (const Point& p : points)
        out += (out.empty() ? "" : " ") + number(p.x + shift) + "," + number(p.y + shift);
    return attribute("points", out);
}

Rect boundsOf(const std::vector<Point>& points, float margin)
{
    Rect bounds{points[0].x, points[0].y, points[0].x, points[0].y};
    for (const Point& p : points)
        bounds = {std::min(bounds.left, p.x), std::min(bounds.top, p.y), std::max(bounds.right, p.x),
                  std::max(bounds.bottom, p.y)};
    return bounds.inset(-margin);
}

/// What XML can hold: no control characters, no broken UTF-8, which would break the whole file, and its own signs escaped.
std::string escaped(std::string_view text)
{
    std::string out;
    for (const char c : sim::validUtf8(text)) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20)
            out += c;
    }
    return out;
}

std::string fontAttributes(FontFace face)
{
    return attribute("font-family",
                     face == FontFace::mono ? "JetBrains Mono, DejaVu Sans Mono, monospace" : "Inter, DejaVu Sans, sans-serif") +
           attribute("font-size", fontPixels(face)) + (face == FontFace::bold ? attribute("font-weight", "600") : "");
}

const char* anchor(Align align)
{
    return align == Align::center ? "middle" : "end";
}

} // namespace

SvgCanvas::SvgCanvas(Rect area, const TypeMetrics& type, std::string clipName)
    : m_area(area), m_type(type), m_clipName(std::move(clipName)), m_clips{area}
{
}

std::string SvgCanvas::document(std::string_view title, float pointsPerPixel) const
{
    const auto side = [&](const char* name, float pixels) {
        constexpr float kOfWebPages = 0.75F;
        return pointsPerPixel == kOfWebPages ? attribute(name, pixels) : attribute(name, number(pixels * pointsPerPixel) + "pt");
    };
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
                      side("width", m_area.width()) + side("height", m_area.height()) +
                      attribute("viewBox", number(m_area.left) + " " + number(m_area.top) + " " + number(m_area.width()) + " " +
                                               number(m_area.height())) +
                      ">\n<title>" + escaped(title) + "</title>\n";
    if (!m_clipIds.empty()) {
        out += "<defs>\n";
        for (const auto& [rect, id] : m_clipIds)
            out += "<clipPath" + attribute("id", m_clipName + std::to_string(id)) + "><rect" + rect + "/></clipPath>\n";
        out += "</defs>\n";
    }
    // Neighbours share an edge: smoothed, it would show as a seam.
    out += "<g shape-rendering=\"crispEdges\" xml:space=\"preserve\">\n" + m_shapes + "</g>\n";
    if (!m_names.empty())
        out += "<g fill=\"none\" pointer-events=\"all\">\n" + m_names + "</g>\n";
    return out + "</svg>\n";
}

/// Leaves out what the clip hides and clips what it cuts.
void SvgCanvas::add(Rect bounds, const std::string& element, const std::string& content)
{
    const Rect clip = m_clips.back(), seen = intersected(bounds, clip);
    if (seen == Rect{})
        return;
    m_shapes += "<" + element;
    if (seen != bounds) {
        const int id = m_clipIds.try_emplace(attributes(clip), static_cast<int>(m_clipIds.size()) + 1).first->second;
        m_shapes += attribute("clip-path", "url(#" + m_clipName + std::to_string(id) + ")");
    }
    const std::string name = element.substr(0, element.find(' '));
    m_shapes += content.empty() ? "/>\n" : ">" + content + "</" + name + ">\n";
}

void SvgCanvas::fillRect(Rect rect, Color color)
{
    const Rect seen = intersected(rect, m_clips.back());
    if (seen != Rect{} && color.value >> 24U != 0)
        add(seen, "rect" + attributes(seen) + painted("fill", color));
}

void SvgCanvas::strokeRect(Rect rect, Color color, float thickness, LineStyle style)
{
    const float t = std::min(thickness, std::min(rect.width(), rect.height()) / 2);
    if (t > 0)
        add(rect, "rect" + attributes(rect.inset(t / 2)) + stroked(color, t, style));
}

void SvgCanvas::line(Point from, Point to, Color color, float thickness, LineStyle style)
{
    const bool isVertical = from.x == to.x, isSlanted = !isVertical && from.y != to.y;
    const float t = thickness;
    if (!isSlanted && style == LineStyle::solid)
        return fillRect(isVertical ? Rect{from.x, std::min(from.y, to.y), from.x + t, std::max(from.y, to.y)}
                                   : Rect{std::min(from.x, to.x), from.y, std::max(from.x, to.x), from.y + t},
                        color);
    const Point shift = strokeShift(from, to, t);
    add(boundsOf({from, to}, t), "line" + attribute("x1", from.x + shift.x) + attribute("y1", from.y + shift.y) +
                                     attribute("x2", to.x + shift.x) + attribute("y2", to.y + shift.y) +
                                     stroked(color, t, style) +
                                     (isSlanted ? attribute("shape-rendering", "geometricPrecision") : ""));
}

void SvgCanvas::polyline(const std::vector<Point>& points, Color color, float thickness)
{
    if (points.size() > 1)
        add(boundsOf(points, thickness), "polyline" + pointsOf(points, polylineShift(thickness)) +
                                             stroked(color, thickness, LineStyle::solid) +
                                             attribute("shape-rendering", "geometricPrecision"));
}

void SvgCanvas::fillConvex(const std::vector<Point>& points, Color color)
{
    if (points.size() > 2)
        add(boundsOf(points, 0),
            "polygon" + pointsOf(points, 0) + painted("fill", color) + attribute("shape-rendering", "geometricPrecision"));
}

void SvgCanvas::text(Point at, std::string_view text, Color color, FontFace face, Align align)
{
    const LineMetrics line = m_type.line(face);
    const float width = textWidth(text, face);
    const float left = at.x - (align == Align::left ? 0 : align == Align::center ? width / 2 : width);
    // Anchored where the view said and as wide as the view thought, so that it fits in a viewer that has another font, too.
    if (!text.empty())
        add({left, at.y, left + width, at.y + line.height},
            "text" + attribute("x", at.x) + attribute("y", at.y + line.ascent) +
                (align == Align::left ? "" : attribute("text-anchor", anchor(align))) + fontAttributes(face) +
                attribute("textLength", width) + attribute("lengthAdjust", "spacingAndGlyphs") + painted("fill", color),
            escaped(text));
}

float SvgCanvas::textWidth(std::string_view text, FontFace face)
{
    return m_type.width(text, face);
}

float SvgCanvas::textHeight(FontFace face)
{
    return m_type.line(face).height;
}

void SvgCanvas::pushClip(Rect rect)
{
    m_clips.push_back(intersected(rect, m_clips.back()));
}

void SvgCanvas::popClip()
{
    assert(m_clips.size() > 1);
    m_clips.pop_back();
}

void SvgCanvas::node(Node node)
{
    if (const Rect seen = intersected(node.rect, m_clips.back()); seen != Rect{})
        m_names += "<rect" + attributes(seen) + "><title>" + escaped(node.name) + "</title></rect>\n";
}

} // namespace app
