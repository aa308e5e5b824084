// A canvas that draws with QPainter: figures as PDF and PNG.
#pragma once

#include "app/canvas/canvas.h"

class QPainter;

namespace app {

class QPainterCanvas final : public Canvas {
public:
    QPainterCanvas(QPainter&, Rect area);

    Rect area() const override { return m_area; }
    void fillRect(Rect, Color) override;
    void strokeRect(Rect, Color, float thickness, LineStyle) override;
    void line(Point from, Point to, Color, float thickness, LineStyle) override;
    void polyline(const std::vector<Point>&, Color, float thickness) override;
    void fillConvex(const std::vector<Point>&, Color) override;
    void text(Point at, std::string_view, Color, FontFace, Align) override;
    float textWidth(std::string_view, FontFace) override;
    float textHeight(FontFace) override;
    void pushClip(Rect) override;
    void popClip() override;
    void node(Node) override {}

private:
    QPainter& m_painter;
    Rect m_area;
};

} // namespace app
