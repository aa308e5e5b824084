// A canvas that remembers what was drawn: for tests, for hit regions and for screen readers. Needs no fonts: every character of a
// face is equally wide, so that what is recorded is the same on every machine.
#pragma once

#include "app/canvas/canvas.h"

#include <string>
#include <vector>

namespace app {

struct Primitive {
    enum class Kind : std::uint8_t { fillRect, strokeRect, line, polyline, fillConvex, text };
    Kind kind = Kind::fillRect;
    Rect rect; ///< of a text its box; of lines what they span
    Color color;
    float thickness = 0;
    LineStyle style = LineStyle::solid;
    std::vector<Point> points; ///< of line, polyline, fillConvex
    std::string text;
    FontFace face = FontFace::body;
    Rect clip; ///< that was in force
};

class RecorderCanvas final : public Canvas {
public:
    explicit RecorderCanvas(Rect area, bool wantsNodes = true);

    const std::vector<Primitive>& primitives() const { return m_primitives; }
    const std::vector<Node>& nodes() const { return m_nodes; }
    std::vector<std::string> texts() const;      ///< in the order drawn
    std::vector<Primitive> cutTexts() const;     ///< texts that the clip or the area cuts
    std::vector<Primitive> rectsOf(Color) const; ///< filled rectangles of a colour
    std::vector<Node> nodesOf(std::string_view role) const;
    bool clipsAreBalanced() const { return m_clips.size() == 1; } ///< every pushClip has its popClip
    /// One line a primitive: "rect 10,20 30x40 #0072b2", "text 12,22 body #202020 F 3".
    std::string asText() const;

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
    void node(Node) override;
    bool wantsNodes() const override { return m_wantsNodes; }

private:
    void add(Primitive);

    Rect m_area;
    bool m_wantsNodes;
    std::vector<Rect> m_clips;
    std::vector<Primitive> m_primitives;
    std::vector<Node> m_nodes;
};

} // namespace app
