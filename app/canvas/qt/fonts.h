// The faces of the canvas: as QFonts for figures, and as an atlas of glyphs for the screen.
#pragma once

#include "app/canvas/qt/quad_rasteriser.h"
#include "app/canvas/type_metrics.h"

#include <QFont>

#include <memory>
#include <string_view>

namespace app {

inline constexpr int kFontFaceCount = 4;

/// Inter and JetBrains Mono, or what Qt finds in their place.
QFont qtFont(FontFace);

LineMetrics lineMetrics(FontFace);
/// Of a text in a figure, with kerning; logical pixels. On any thread.
float printedWidth(std::string_view, FontFace);
/// The same two, for canvases that know no Qt.
const TypeMetrics& printedType();

/// Where a glyph lies in the atlas, and where its box goes.
struct Glyph {
    int u = 0, v = 0, width = 0, height = 0; ///< texels; empty for a space
    int left = 0, top = 0;                   ///< from the pen on the baseline, device pixels
};

/// Coverage of glyphs for one device pixel ratio. Baked when first used, with whatever font of the system has the character, at
/// quarters of a pixel: letters keep their true distances and stay sharp. For the GUI thread.
class GlyphAtlas {
public:
    static constexpr int kSteps = 4; ///< positions of a glyph inside a pixel

    /// One for each ratio, shared by all who draw at it.
    static std::shared_ptr<GlyphAtlas> forScale(float scale);
    ~GlyphAtlas();

    float scale() const;
    float advance(FontFace, char32_t);                ///< device pixels
    const Glyph& glyph(FontFace, char32_t, int step); ///< standing `step` / kSteps of a pixel right of a whole one
    CoverageTexture texture() const;                  ///< grows while glyphs are asked for
    int generation() const;                           ///< another number when the texture has changed
    static constexpr float kOpaqueTexel = 0.5F;       ///< u and v of a texel that is wholly covered

private:
    explicit GlyphAtlas(float scale);
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
