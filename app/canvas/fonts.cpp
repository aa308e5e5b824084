#include "app/canvas/fonts.h"

#include <imgui.h>
#include <imgui_freetype.h>

#include <QFileInfo>
#include <QFontDatabase>
#include <QRawFont>
#include <QStandardPaths>

#include <cmath>
#include <map>
#include <stdexcept>

namespace app {
namespace {

/// Debian's fonts-inter and fonts-jetbrains-mono, and what other systems usually have.
QStringList candidates(FontFace face)
{
    const QString inter = QStringLiteral("opentype/inter/Inter-");
    switch (face) {
    case FontFace::bold:
        return {inter + QStringLiteral("SemiBold.otf"), QStringLiteral("truetype/inter/Inter-SemiBold.ttf"),
                QStringLiteral("truetype/dejavu/DejaVuSans-Bold.ttf"), QStringLiteral("dejavu/DejaVuSans-Bold.ttf")};
    case FontFace::mono:
        return {QStringLiteral("truetype/jetbrains-mono/JetBrainsMono-Regular.ttf"),
                QStringLiteral("truetype/dejavu/DejaVuSansMono.ttf"), QStringLiteral("dejavu/DejaVuSansMono.ttf")};
    default:
        return {inter + QStringLiteral("Regular.otf"), QStringLiteral("truetype/inter/Inter-Regular.ttf"),
                QStringLiteral("truetype/dejavu/DejaVuSans.ttf"), QStringLiteral("dejavu/DejaVuSans.ttf")};
    }
}

QString fontFile(FontFace face)
{
    for (const QString& folder : QStandardPaths::standardLocations(QStandardPaths::FontsLocation))
        for (const QString& name : candidates(face))
            if (const QString file = folder + QLatin1Char('/') + name; QFileInfo::exists(file))
                return file;
    for (const QString& name : candidates(face))
        if (const QString file = QStringLiteral("/usr/share/fonts/") + name; QFileInfo::exists(file))
            return file;
    throw std::runtime_error("no font was found; install Inter and JetBrains Mono (Debian: fonts-inter, fonts-jetbrains-mono)");
}

/// Latin, Greek, punctuation, super- and subscripts, currency, arrows, mathematics, shapes.
constexpr ImWchar kGlyphs[] = {0x0020, 0x017F, 0x0370, 0x03FF, 0x2000, 0x206F, 0x2070, 0x209F, 0x20A0,
                               0x20BF, 0x2190, 0x21FF, 0x2200, 0x22FF, 0x25A0, 0x25FF, 0};

} // namespace

float fontPixels(FontFace face)
{
    switch (face) {
    case FontFace::small:
        return 11;
    case FontFace::mono:
        return 12;
    default:
        return 13;
    }
}

QFont qtFont(FontFace face)
{
    QFont font(face == FontFace::mono ? QStringList{QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono")}
                                      : QStringList{QStringLiteral("Inter"), QStringLiteral("DejaVu Sans")});
    font.setPixelSize(static_cast<int>(fontPixels(face)));
    if (face == FontFace::bold)
        font.setWeight(QFont::DemiBold);
    return font;
}

std::shared_ptr<const GlyphAtlas> GlyphAtlas::forScale(float scale)
{
    // Widgets on one screen share an atlas; it goes when the last of them does.
    static std::map<float, std::weak_ptr<const GlyphAtlas>> atlases; // GUI thread only
    auto shared = atlases[scale].lock();
    if (!shared) {
        shared.reset(new GlyphAtlas(scale));
        atlases[scale] = shared;
    }
    return shared;
}

GlyphAtlas::GlyphAtlas(float scale) : m_scale(scale), m_atlas(std::make_unique<ImFontAtlas>())
{
    m_atlas->Flags = ImFontAtlasFlags_NoMouseCursors | ImFontAtlasFlags_NoBakedLines;
    m_atlas->FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
    m_atlas->FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
    for (int i = 0; i < kFontFaceCount; ++i) {
        const auto face = static_cast<FontFace>(i);
        const QString file = fontFile(face);
        // ImGui's size is that of a line, the canvas's that of the em square.
        const QRawFont raw(file, 100);
        const auto line = static_cast<float>((raw.ascent() + raw.descent()) / 100);
        const float pixels = fontPixels(face);
        m_ascent[i] = std::round(static_cast<float>(raw.ascent() / 100) * pixels);
        m_lineHeight[i] = std::round(line * pixels);
        m_fonts[i] = m_atlas->AddFontFromFileTTF(file.toUtf8().constData(), pixels * line * scale, nullptr, kGlyphs);
        if (m_fonts[i] == nullptr)
            throw std::runtime_error("the font " + file.toStdString() + " cannot be read");
    }
    m_atlas->GetTexDataAsAlpha8(&m_coverage, &m_width, &m_height);
}

GlyphAtlas::~GlyphAtlas() = default;

const ImFont& GlyphAtlas::font(FontFace face) const
{
    return *m_fonts[static_cast<int>(face)];
}
float GlyphAtlas::ascent(FontFace face) const
{
    return m_ascent[static_cast<int>(face)];
}
float GlyphAtlas::height(FontFace face) const
{
    return m_lineHeight[static_cast<int>(face)];
}

} // namespace app
