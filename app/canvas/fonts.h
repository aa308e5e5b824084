// The faces of the canvas: which files, which sizes; as QFonts for QPainter and as a glyph atlas for Dear ImGui.
#pragma once

#include "app/canvas/canvas.h"

#include <QFont>

#include <memory>

struct ImFont;
struct ImFontAtlas;

namespace app {

inline constexpr int kFontFaceCount = 4;
inline constexpr float kSmallestFontPx = 11;

/// Size of the em square in logical pixels.
float fontPixels(FontFace);
QFont qtFont(FontFace);

/// Glyphs of all faces for one device pixel ratio, as coverage (one byte a texel).
class GlyphAtlas {
public:
    /// One for each ratio, shared. Throws std::runtime_error if no font file is found.
    static std::shared_ptr<const GlyphAtlas> forScale(float scale);
    ~GlyphAtlas();

    float scale() const { return m_scale; }
    const ImFont& font(FontFace) const;
    float ascent(FontFace) const; ///< logical pixels from the top of a line to its baseline
    float height(FontFace) const; ///< of a line, logical pixels, whole
    const ImFontAtlas& atlas() const { return *m_atlas; }
    const std::uint8_t* coverage() const { return m_coverage; }
    int width() const { return m_width; }
    int heightPixels() const { return m_height; }

private:
    explicit GlyphAtlas(float scale);
    float m_scale;
    std::unique_ptr<ImFontAtlas> m_atlas;
    ImFont* m_fonts[kFontFaceCount] = {};
    float m_ascent[kFontFaceCount] = {}, m_lineHeight[kFontFaceCount] = {};
    std::uint8_t* m_coverage = nullptr; ///< owned by the atlas
    int m_width = 0, m_height = 0;
};

} // namespace app
