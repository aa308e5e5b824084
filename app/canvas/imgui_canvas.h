// A canvas that fills a Dear ImGui draw list. Coordinates come in logical pixels and leave in device pixels; edges of rectangles
// and glyphs are snapped to device pixels, so that the picture is crisp at every scale.
#pragma once

#include "app/canvas/canvas.h"
#include "app/canvas/fonts.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <memory>

namespace app {

/// A draw list and what it needs, without a Dear ImGui context: no input, no windows, no global state.
class DrawList {
public:
    explicit DrawList(std::shared_ptr<const GlyphAtlas>);
    /// Empties it for a frame of this size.
    void begin(int widthPixels, int heightPixels);
    ImDrawList& list() { return m_list; }
    const ImDrawList& list() const { return m_list; }
    const GlyphAtlas& atlas() const { return *m_atlas; }

private:
    std::shared_ptr<const GlyphAtlas> m_atlas;
    ImDrawListSharedData m_shared;
    ImDrawList m_list;
};

class ImGuiCanvas final : public Canvas {
public:
    ImGuiCanvas(DrawList&, Rect area);

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
    ImVec2 scaled(Point p) const { return {p.x * m_scale, p.y * m_scale}; }
    float snapped(float logical) const;
    float strokePixels(float thickness) const;
    void fillPixels(float left, float top, float right, float bottom, Color);

    ImDrawList& m_list;
    const GlyphAtlas& m_atlas;
    Rect m_area;
    float m_scale;
};

} // namespace app
