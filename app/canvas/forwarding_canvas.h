// A canvas that hands all on to another: what draws a part, or draws otherwise, overrides what it changes.
#pragma once

#include "app/canvas/canvas.h"

#include <utility>

namespace app {

class ForwardingCanvas : public Canvas {
public:
    explicit ForwardingCanvas(Canvas& whole) : m_whole(whole) {}

    Rect area() const override { return m_whole.area(); }
    void fillRect(Rect rect, Color color) override { m_whole.fillRect(rect, color); }
    void strokeRect(Rect rect, Color color, float thickness, LineStyle style) override
    {
        m_whole.strokeRect(rect, color, thickness, style);
    }
    void line(Point from, Point to, Color color, float thickness, LineStyle style) override
    {
        m_whole.line(from, to, color, thickness, style);
    }
    void polyline(const std::vector<Point>& points, Color color, float thickness) override
    {
        m_whole.polyline(points, color, thickness);
    }
    void fillConvex(const std::vector<Point>& points, Color color) override { m_whole.fillConvex(points, color); }
    void stacks(const ColumnStacks& stacks) override { m_whole.stacks(stacks); }
    void text(Point at, std::string_view text, Color color, FontFace face, Align align) override
    {
        m_whole.text(at, text, color, face, align);
    }
    float textWidth(std::string_view text, FontFace face) override { return m_whole.textWidth(text, face); }
    float textHeight(FontFace face) override { return m_whole.textHeight(face); }
    void pushClip(Rect rect) override { m_whole.pushClip(rect); }
    void popClip() override { m_whole.popClip(); }
    void node(Node node) override { m_whole.node(std::move(node)); }
    bool wantsNodes() const override { return m_whole.wantsNodes(); }

protected:
    Canvas& m_whole;
};

} // namespace app
