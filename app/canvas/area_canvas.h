// A part of a canvas as a canvas of its own: for a view inside a view.
#pragma once

#include "app/canvas/canvas.h"

namespace app {

class AreaCanvas final : public Canvas {
public:
    /// `nodeIds` is added to the ids of all nodes, so that two parts' do not meet.
    AreaCanvas(Canvas& whole, Rect area, std::uint64_t nodeIds = 0) : m_whole(whole), m_area(area), m_nodeIds(nodeIds)
    {
        m_whole.pushClip(area);
    }
    ~AreaCanvas() override { m_whole.popClip(); }
    AreaCanvas(const AreaCanvas&) = delete;
    AreaCanvas& operator=(const AreaCanvas&) = delete;

    Rect area() const override { return m_area; }
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
    void text(Point at, std::string_view text, Color color, FontFace face, Align align) override
    {
        m_whole.text(at, text, color, face, align);
    }
    float textWidth(std::string_view text, FontFace face) override { return m_whole.textWidth(text, face); }
    float textHeight(FontFace face) override { return m_whole.textHeight(face); }
    void pushClip(Rect rect) override { m_whole.pushClip(rect); }
    void popClip() override { m_whole.popClip(); }
    void node(Node node) override
    {
        node.id += m_nodeIds;
        m_whole.node(std::move(node));
    }
    bool wantsNodes() const override { return m_whole.wantsNodes(); }

private:
    Canvas& m_whole;
    Rect m_area;
    std::uint64_t m_nodeIds;
};

} // namespace app
