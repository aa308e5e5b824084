#include "app/canvas/recorder_canvas.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdio>

namespace app {
namespace {

float advanceOf(FontFace face)
{
    switch (face) {
    case FontFace::small:
        return 6;
    case FontFace::bold:
        return 7.5F;
    default:
        return 7;
    }
}

std::size_t characters(std::string_view utf8)
{
    return static_cast<std::size_t>(
        std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Rect boundsOf(const std::vector<Point>& points)
{
    if (points.empty())
        return {};
    Rect bounds{points[0].x, points[0].y, points[0].x, points[0].y};
    for (const Point& p : points)
        bounds = {std::min(bounds.left, p.x), std::min(bounds.top, p.y), std::max(bounds.right, p.x),
                  std::max(bounds.bottom, p.y)};
    return bounds;
}

std::string number(float value)
{
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr; // whatever the locale
    return {text, end};
}

std::string hex(Color color)
{
    const std::uint32_t v = color.value, alpha = v >> 24U;
    char text[16];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", v & 0xFFU, (v >> 8U) & 0xFFU, (v >> 16U) & 0xFFU);
    return alpha == 0xFFU ? std::string(text) : std::string(text) + "/" + std::to_string(alpha);
}

const char* name(Primitive::Kind kind)
{
    switch (kind) {
    case Primitive::Kind::fillRect:
        return "rect";
    case Primitive::Kind::strokeRect:
        return "outline";
    case Primitive::Kind::line:
        return "line";
    case Primitive::Kind::polyline:
        return "polyline";
    case Primitive::Kind::fillConvex:
        return "convex";
    default:
        return "text";
    }
}

const char* name(LineStyle style)
{
    return style == LineStyle::solid ? "" : style == LineStyle::dashed ? " dashed" : " dotted";
}

const char* name(FontFace face)
{
    switch (face) {
    case FontFace::small:
        return "small";
    case FontFace::bold:
        return "bold";
    case FontFace::mono:
        return "mono";
    default:
        return "body";
    }
}

} // namespace

RecorderCanvas::RecorderCanvas(Rect area, bool wantsNodes) : m_area(area), m_wantsNodes(wantsNodes), m_clips{area} {}

std::vector<std::string> RecorderCanvas::texts() const
{
    std::vector<std::string> out;
    for (const Primitive& p : m_primitives)
        if (p.kind == Primitive::Kind::text)
            out.push_back(p.text);
    return out;
}

std::vector<Primitive> RecorderCanvas::cutTexts() const
{
    std::vector<Primitive> out;
    for (const Primitive& p : m_primitives) {
        const Rect& r = p.rect;
        const bool isInside =
            r.left >= p.clip.left && r.right <= p.clip.right && r.top >= p.clip.top && r.bottom <= p.clip.bottom;
        const bool isOutside = intersected(r, p.clip) == Rect{};
        if (p.kind == Primitive::Kind::text && !isInside && !isOutside)
            out.push_back(p);
    }
    return out;
}

std::vector<Primitive> RecorderCanvas::rectsOf(Color color) const
{
    std::vector<Primitive> out;
    for (const Primitive& p : m_primitives)
        if (p.kind == Primitive::Kind::fillRect && p.color == color)
            out.push_back(p);
    return out;
}

std::vector<Node> RecorderCanvas::nodesOf(std::string_view role) const
{
    std::vector<Node> out;
    for (const Node& node : m_nodes)
        if (node.role == role)
            out.push_back(node);
    return out;
}

std::string RecorderCanvas::asText() const
{
    std::string out;
    for (const Primitive& p : m_primitives) {
        out += name(p.kind);
        if (p.points.empty()) {
            out += " " + number(p.rect.left) + "," + number(p.rect.top);
            if (p.kind != Primitive::Kind::text)
                out += " " + number(p.rect.width()) + "x" + number(p.rect.height());
        }
        for (const Point& point : p.points)
            out += " " + number(point.x) + "," + number(point.y);
        if (p.kind == Primitive::Kind::text)
            out += std::string(" ") + name(p.face);
        out += " " + hex(p.color);
        if (p.thickness != 0 && p.thickness != 1)
            out += " " + number(p.thickness) + "px";
        out += name(p.style);
        if (p.kind == Primitive::Kind::text)
            out += " " + p.text;
        out += "\n";
    }
    return out;
}

void RecorderCanvas::add(Primitive primitive)
{
    primitive.clip = m_clips.back();
    m_primitives.push_back(std::move(primitive));
}

void RecorderCanvas::fillRect(Rect rect, Color color)
{
    add({.kind = Primitive::Kind::fillRect, .rect = rect, .color = color});
}

void RecorderCanvas::strokeRect(Rect rect, Color color, float thickness, LineStyle style)
{
    add({.kind = Primitive::Kind::strokeRect, .rect = rect, .color = color, .thickness = thickness, .style = style});
}

void RecorderCanvas::line(Point from, Point to, Color color, float thickness, LineStyle style)
{
    add({.kind = Primitive::Kind::line,
         .rect = boundsOf({from, to}),
         .color = color,
         .thickness = thickness,
         .style = style,
         .points = {from, to}});
}

void RecorderCanvas::polyline(const std::vector<Point>& points, Color color, float thickness)
{
    add({.kind = Primitive::Kind::polyline, .rect = boundsOf(points), .color = color, .thickness = thickness, .points = points});
}

void RecorderCanvas::fillConvex(const std::vector<Point>& points, Color color)
{
    add({.kind = Primitive::Kind::fillConvex, .rect = boundsOf(points), .color = color, .points = points});
}

void RecorderCanvas::text(Point at, std::string_view text, Color color, FontFace face, Align align)
{
    const float width = textWidth(text, face);
    const float left = align == Align::left ? at.x : align == Align::center ? at.x - width / 2 : at.x - width;
    add({.kind = Primitive::Kind::text,
         .rect = {left, at.y, left + width, at.y + textHeight(face)},
         .color = color,
         .text = std::string(text),
         .face = face});
}

float RecorderCanvas::textWidth(std::string_view text, FontFace face)
{
    return advanceOf(face) * static_cast<float>(characters(text));
}

float RecorderCanvas::textHeight(FontFace face)
{
    return face == FontFace::small ? 13 : 16;
}

void RecorderCanvas::pushClip(Rect rect)
{
    m_clips.push_back(intersected(rect, m_clips.back()));
}

void RecorderCanvas::popClip()
{
    assert(m_clips.size() > 1);
    m_clips.pop_back();
}

void RecorderCanvas::node(Node node)
{
    if (m_wantsNodes)
        m_nodes.push_back(std::move(node));
}

} // namespace app
