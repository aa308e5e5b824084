// A canvas that writes SVG: small files of plain elements with true text, clipped (Qt 6.4's QSvgGenerator ignores clips), with
// the names of nodes as tooltips for browsers and screen readers.
#pragma once

#include "app/canvas/type_metrics.h"

#include <map>
#include <string>
#include <vector>

namespace app {

class SvgCanvas final : public Canvas {
public:
    /// The metrics outlive the canvas. `clipName`: what ids of clips begin with, where several figures share a document.
    SvgCanvas(Rect area, const TypeMetrics&, std::string clipName = "clip");
    /// The whole file, with texts as they came: their UTF-8 is not looked at. In inches it is as large as pixels of that many
    /// points; 0.75 is a web page's 96 pixels an inch.
    std::string document(std::string_view title, float pointsPerPixel = 0.75F) const;

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
    bool wantsNodes() const override { return true; }

private:
    void add(Rect bounds, const std::string& element, const std::string& content = {});

    Rect m_area;
    const TypeMetrics& m_type;
    std::string m_clipName;
    std::vector<Rect> m_clips;
    std::map<std::string, int> m_clipIds; ///< rectangle as attributes -> number
    std::string m_shapes, m_names;
};

} // namespace app
