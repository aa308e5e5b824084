// A canvas that fills a Dear ImGui draw list. Coordinates come in logical pixels and leave in device pixels; edges of rectangles
// and glyphs are snapped to device pixels, so that the picture is crisp at every scale.
#pragma once

#include "app/canvas/canvas.h"
#include "app/canvas/qt/fonts.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <QRgb>

#include <memory>
#include <vector>

namespace app {

struct PixelBuffer;
struct PixelRect;

/// A draw list and what it needs, without a Dear ImGui context: no input, no windows, no global state. Texture coordinates count
/// texels of the atlas, which grows while the list is filled.
class DrawList {
public:
    explicit DrawList(std::shared_ptr<GlyphAtlas>);
    /// Empties it for a frame of this size.
    void begin(int widthPixels, int heightPixels);
    ImDrawList& list() { return m_list; }
    const ImDrawList& list() const { return m_list; }
    GlyphAtlas& atlas() { return *m_atlas; }
    const GlyphAtlas& atlas() const { return *m_atlas; }
    /// For our own rasteriser, which fills stacks itself: they are kept as they are, and the list has a place marked for each.
    void keepStacks(bool keep) { m_keepsStacks = keep; }
    bool keepsStacks() const { return m_keepsStacks; }
    void addStacks(ColumnStacks);
    const std::vector<ColumnStacks>& stacks() const { return m_stacks; }

private:
    std::shared_ptr<GlyphAtlas> m_atlas;
    ImDrawListSharedData m_shared;
    ImDrawList m_list;
    std::vector<ColumnStacks> m_stacks;
    bool m_keepsStacks = false;
};

/// All that is in sight within `only`, on `background`; other pixels stay as they are.
void rasterise(const DrawList&, const PixelBuffer&, QRgb background, const PixelRect& only);

class ImGuiCanvas final : public Canvas {
public:
    /// With `nodes`, what the view names is put there too.
    ImGuiCanvas(DrawList&, Rect area, std::vector<Node>* nodes = nullptr);

    Rect area() const override { return m_area; }
    void fillRect(Rect, Color) override;
    void strokeRect(Rect, Color, float thickness, LineStyle) override;
    void line(Point from, Point to, Color, float thickness, LineStyle) override;
    void polyline(const std::vector<Point>&, Color, float thickness) override;
    void fillConvex(const std::vector<Point>&, Color) override;
    void stacks(const ColumnStacks&) override;
    void text(Point at, std::string_view, Color, FontFace, Align) override;
    float textWidth(std::string_view, FontFace) override;
    float textHeight(FontFace) override;
    void pushClip(Rect) override;
    void popClip() override;
    void node(Node) override;
    bool wantsNodes() const override { return m_nodes != nullptr; }

private:
    struct Dashes;
    ImVec2 scaled(Point p) const { return {p.x * m_scale, p.y * m_scale}; }
    float snapped(float logical) const;
    float strokePixels(float thickness) const;
    const ImVec4& clip() const { return m_list._CmdHeader.ClipRect; }
    void fillPixels(float left, float top, float right, float bottom, Color);
    void slantedLine(ImVec2 from, ImVec2 to, Color, float pixels, LineStyle);

    DrawList& m_drawList;
    ImDrawList& m_list;
    GlyphAtlas& m_atlas;
    Rect m_area;
    float m_scale;
    std::vector<Node>* m_nodes;
};

} // namespace app
