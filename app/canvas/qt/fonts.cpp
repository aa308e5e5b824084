#include "app/canvas/qt/fonts.h"

#include <QFileInfo>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QGlyphRun>
#include <QImage>
#include <QPainter>
#include <QRawFont>
#include <QTextLayout>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace app {
namespace {

/// A machine without fontconfig may have the files all the same.
void loadFontsQtDoesNotSee()
{
    const QStringList known = QFontDatabase::families();
    const auto load = [&](const char* family, std::initializer_list<const char*> files) {
        if (!known.contains(QLatin1String(family)))
            for (const char* file : files)
                if (const QString path = QStringLiteral("/usr/share/fonts/") + QLatin1String(file); QFileInfo::exists(path))
                    QFontDatabase::addApplicationFont(path);
    };
    load("Inter", {"opentype/inter/Inter-Regular.otf", "opentype/inter/Inter-SemiBold.otf"});
    load("JetBrains Mono", {"truetype/jetbrains-mono/JetBrainsMono-Regular.ttf"});
}

QFont makeFont(FontFace face)
{
    static const bool loaded = (loadFontsQtDoesNotSee(), true);
    (void)loaded;
    QFont font(face == FontFace::mono ? QStringList{QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono")}
                                      : QStringList{QStringLiteral("Inter"), QStringLiteral("DejaVu Sans")});
    font.setStyleHint(face == FontFace::mono ? QFont::Monospace : QFont::SansSerif);
    font.setPixelSize(static_cast<int>(fontPixels(face)));
    font.setHintingPreference(QFont::PreferVerticalHinting); // sharp horizontals, true widths
    if (face == FontFace::bold)
        font.setWeight(QFont::DemiBold);
    return font;
}

template <class T>
using PerFace = std::array<T, kFontFaceCount>;

template <class Make>
auto perFace(Make make)
{
    return PerFace<decltype(make(FontFace::body))>{make(FontFace::body), make(FontFace::small), make(FontFace::bold),
                                                   make(FontFace::mono)};
}

std::size_t indexOf(FontFace face)
{
    return static_cast<std::size_t>(face);
}

/// The font that Qt takes for a character which the face itself lacks, and the glyph in it.
QGlyphRun fallbackRun(FontFace face, char32_t character)
{
    QTextLayout layout(QString::fromUcs4(&character, 1), qtFont(face));
    layout.beginLayout();
    layout.createLine();
    layout.endLayout();
    const QList<QGlyphRun> runs = layout.glyphRuns();
    return runs.isEmpty() ? QGlyphRun() : runs.front();
}

struct Bitmap {
    QImage coverage; ///< Alpha8
    int left = 0, top = 0;
};

/// A glyph drawn `shift` pixels right of a whole pixel, cut to what is covered.
Bitmap bake(const QRawFont& font, quint32 index, qreal shift)
{
    const QRectF bounds = font.boundingRect(index);
    if (bounds.isEmpty())
        return {};
    const QRect box = bounds.translated(shift, 0).toAlignedRect().adjusted(-1, -1, 1, 1); // hinting may move an edge
    QImage picture(box.size(), QImage::Format_ARGB32_Premultiplied);
    picture.fill(Qt::transparent); // on a transparent ground Qt blends without gamma: what comes out is coverage
    QGlyphRun run;
    run.setRawFont(font);
    run.setGlyphIndexes({index});
    run.setPositions({QPointF(0, 0)});
    QPainter painter(&picture);
    painter.setPen(Qt::white);
    painter.drawGlyphRun(QPointF(shift - box.left(), -box.top()), run);
    painter.end();

    const QImage coverage = picture.convertToFormat(QImage::Format_Alpha8);
    QRect covered;
    for (int y = 0; y < coverage.height(); ++y)
        for (int x = 0; x < coverage.width(); ++x)
            if (coverage.constScanLine(y)[x] != 0)
                covered |= QRect(x, y, 1, 1);
    return {coverage.copy(covered), box.left() + covered.left(), box.top() + covered.top()};
}

} // namespace

QFont qtFont(FontFace face)
{
    static const PerFace<QFont> fonts = perFace(makeFont);
    return fonts[indexOf(face)];
}

LineMetrics lineMetrics(FontFace face)
{
    static const PerFace<LineMetrics> metrics = perFace([](FontFace f) {
        const QRawFont font = QRawFont::fromFont(makeFont(f));
        return LineMetrics{static_cast<float>(std::round(font.ascent())),
                           static_cast<float>(std::round(font.ascent() + font.descent()))};
    });
    return metrics[indexOf(face)];
}

float printedWidth(std::string_view text, FontFace face)
{
    // Threads share no font: Qt keeps what it knows of one in the thread that asked last.
    thread_local const PerFace<QFontMetricsF> metrics = perFace([](FontFace f) { return QFontMetricsF(makeFont(f)); });
    return static_cast<float>(
        metrics[indexOf(face)].horizontalAdvance(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()))));
}

struct GlyphAtlas::Data {
    struct Character {
        QRawFont font;
        quint32 index = 0;
        float advance = 0;
        std::array<std::optional<Glyph>, kSteps> glyphs;
    };

    static constexpr int kWidth = 1024;
    static constexpr char32_t kPlain = 0x80; ///< ASCII, which nearly all text is: found without a search
    static constexpr int kOpaqueBlock = 4;   ///< texels a side, in the corner

    explicit Data(float pixelRatio) : scale(pixelRatio), texels(static_cast<std::size_t>(kWidth) * 64)
    {
        for (int v = 0; v < kOpaqueBlock; ++v)
            std::fill_n(texels.begin() + static_cast<std::ptrdiff_t>(v) * kWidth, kOpaqueBlock, std::uint8_t{255});
    }

    int height() const { return static_cast<int>(texels.size()) / kWidth; }

    QRawFont atScale(QRawFont font, FontFace face) const
    {
        font.setPixelSize(static_cast<qreal>(fontPixels(face)) * static_cast<qreal>(scale));
        return font;
    }

    Character& character(FontFace face, char32_t code)
    {
        Character** const known = code < kPlain ? &plain[indexOf(face)][code] : nullptr;
        if (known != nullptr && *known != nullptr)
            return **known;
        const auto [at, isNew] = characters[indexOf(face)].try_emplace(code);
        if (isNew)
            at->second = made(face, code);
        if (known != nullptr)
            *known = &at->second;
        return at->second;
    }

    Character made(FontFace face, char32_t code)
    {
        if (code < U' ')
            return {};
        QRawFont& own = fonts[indexOf(face)];
        if (!own.isValid())
            own = atScale(QRawFont::fromFont(qtFont(face)), face);
        Character out{.font = own};
        if (own.supportsCharacter(static_cast<uint>(code))) {
            out.index = own.glyphIndexesForString(QString::fromUcs4(&code, 1)).value(0);
        } else if (const QGlyphRun run = fallbackRun(face, code); !run.glyphIndexes().isEmpty()) {
            out.font = atScale(run.rawFont(), face);
            out.index = run.glyphIndexes().front();
        }
        out.advance = static_cast<float>(out.font.advancesForGlyphIndexes({out.index}, QRawFont::UseDesignMetrics).value(0).x());
        return out;
    }

    /// Side by side in rows as high as their highest glyph; a pixel apart.
    Glyph placed(const Bitmap& bitmap)
    {
        const int width = bitmap.coverage.width(), rows = bitmap.coverage.height();
        if (width == 0 || width > kWidth)
            return {};
        if (nextU + width > kWidth) {
            nextU = 0;
            nextV += rowHeight + 1;
            rowHeight = 0;
        }
        rowHeight = std::max(rowHeight, rows);
        while (nextV + rows > height())
            texels.resize(texels.size() * 2);
        const Glyph glyph{nextU, nextV, width, rows, bitmap.left, bitmap.top};
        for (int y = 0; y < rows; ++y)
            std::copy_n(bitmap.coverage.constScanLine(y), width,
                        texels.begin() + static_cast<std::ptrdiff_t>(nextV + y) * kWidth + nextU);
        nextU += width + 1;
        ++generation;
        return glyph;
    }

    float scale;
    PerFace<QRawFont> fonts;
    PerFace<std::unordered_map<char32_t, Character>> characters;
    PerFace<std::array<Character*, kPlain>> plain{}; ///< of `characters`, once it is there
    std::vector<std::uint8_t> texels;                ///< rows of kWidth
    int nextU = kOpaqueBlock + 1, nextV = 0, rowHeight = kOpaqueBlock;
    int generation = 1;
};

std::shared_ptr<GlyphAtlas> GlyphAtlas::forScale(float scale)
{
    // Widgets on one screen share an atlas; it goes when the last of them does.
    static std::map<float, std::weak_ptr<GlyphAtlas>> atlases;
    auto shared = atlases[scale].lock();
    if (!shared) {
        shared.reset(new GlyphAtlas(scale));
        atlases[scale] = shared;
    }
    return shared;
}

GlyphAtlas::GlyphAtlas(float scale) : m_data(std::make_unique<Data>(scale)) {}

GlyphAtlas::~GlyphAtlas() = default;

float GlyphAtlas::scale() const
{
    return m_data->scale;
}

float GlyphAtlas::advance(FontFace face, char32_t character)
{
    return m_data->character(face, character).advance;
}

const Glyph& GlyphAtlas::glyph(FontFace face, char32_t character, int step)
{
    Data::Character& found = m_data->character(face, character);
    std::optional<Glyph>& glyph = found.glyphs[static_cast<std::size_t>(step)];
    if (!glyph)
        glyph = found.font.isValid() ? m_data->placed(bake(found.font, found.index, static_cast<qreal>(step) / kSteps)) : Glyph{};
    return *glyph;
}

CoverageTexture GlyphAtlas::texture() const
{
    return {m_data->texels.data(), Data::kWidth, m_data->height()};
}

int GlyphAtlas::generation() const
{
    return m_data->generation;
}

const TypeMetrics& printedType()
{
    class Printed final : public TypeMetrics {
        LineMetrics line(FontFace face) const override { return lineMetrics(face); }
        float width(std::string_view text, FontFace face) const override { return printedWidth(text, face); }
    };
    static const Printed printed;
    return printed;
}

} // namespace app
