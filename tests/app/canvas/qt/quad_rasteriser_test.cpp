#include "app/canvas/qt/quad_rasteriser.h"

#include "tests/app/canvas/qt/picture.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace app;
using test::Picture;

namespace {

constexpr std::uint32_t kHalfBlack = 0x80000000U, kHalfBlackOnWhite = 0xFF7F7F7FU;

struct Frame {
    Frame(int w, int h, std::uint32_t ground = test::kWhitePixel) : picture(w, h, ground), drawList(GlyphAtlas::forScale(1))
    {
        drawList.begin(w, h);
    }
    Picture picture;
    DrawList drawList;
    ImDrawList& list() { return drawList.list(); }
    void triangle(ImVec2 a, ImVec2 b, ImVec2 c, std::array<std::uint32_t, 3> colors)
    {
        list().PrimReserve(3, 3);
        const ImVec2 white{GlyphAtlas::kOpaqueTexel, GlyphAtlas::kOpaqueTexel};
        list().PrimVtx(a, white, colors[0]);
        list().PrimVtx(b, white, colors[1]);
        list().PrimVtx(c, white, colors[2]);
    }
    void triangle(ImVec2 a, ImVec2 b, ImVec2 c, std::uint32_t color) { triangle(a, b, c, {color, color, color}); }
    const Picture& drawn()
    {
        picture.draw(drawList);
        return picture;
    }
};

/// Twice the area of (a, b, p) on the grid of 1/256 pixel.
std::int64_t side(std::array<std::int64_t, 2> a, std::array<std::int64_t, 2> b, std::array<std::int64_t, 2> p)
{
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
}

} // namespace

TEST(Rasteriser, ABoxOwnsThePixelsWhoseCentresItHolds)
{
    Frame frame(8, 8);
    frame.list().AddRectFilled({1.4F, 2.6F}, {5.5F, 6.5F}, 0xFF0000FFU); // 0xAABBGGRR
    const Picture& picture = frame.drawn();
    for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 8; ++x)
            EXPECT_EQ(picture.at(x, y), x >= 1 && x < 5 && y >= 3 && y < 6 ? 0xFFFF0000U : test::kWhitePixel) << x << "," << y;
}

TEST(Rasteriser, BoxesThatTouchLeaveNeitherSeamNorOverlap)
{
    std::mt19937 random(3);
    std::uniform_real_distribution<float> width(0.1F, 3);
    Frame frame(64, 4);
    for (float left = 0; left < 64;) {
        const float right = left + width(random);
        frame.list().AddRectFilled({left, 0}, {right, 4}, kHalfBlack);
        left = right;
    }
    for (const std::uint32_t pixel : frame.drawn().pixels)
        EXPECT_EQ(pixel, kHalfBlackOnWhite);
}

TEST(Rasteriser, BlendsAsTheFormulaSays)
{
    for (const std::uint32_t alpha : {0U, 1U, 64U, 127U, 128U, 200U, 254U, 255U}) {
        Frame frame(11, 3, 0xFF102030U);
        frame.list().AddRectFilled({0, 0}, {11, 3}, (alpha << 24U) | 0x00305090U); // b 30 g 50 r 90
        const auto mix = [alpha](std::uint32_t over, std::uint32_t below) {
            return (over * alpha + below * (255 - alpha) + 127) / 255;
        };
        for (const std::uint32_t pixel : frame.drawn().pixels) // runs of four and what is left of them
            EXPECT_EQ(pixel, 0xFF000000U | (mix(0x90, 0x10) << 16U) | (mix(0x50, 0x20) << 8U) | mix(0x30, 0x30)) << alpha;
    }
}

TEST(Rasteriser, ATriangleOwnsExactlyThePixelsInsideIt)
{
    std::mt19937 random(11);
    std::uniform_int_distribution<int> coordinate(-10 * 256, 50 * 256);
    for (int round = 0; round < 400; ++round) {
        Frame frame(40, 40);
        std::array<std::array<std::int64_t, 2>, 3> p{};
        for (auto& corner : p)
            for (auto& c : corner)
                c = coordinate(random) / (round % 2 == 0 ? 1 : 128) * (round % 2 == 0 ? 1 : 128); // also through centres
        const auto at = [&](int i) {
            return ImVec2{static_cast<float>(p[static_cast<std::size_t>(i)][0]) / 256,
                          static_cast<float>(p[static_cast<std::size_t>(i)][1]) / 256};
        };
        frame.triangle(at(0), at(1), at(2), 0xFF000000U);
        if (side(p[0], p[1], p[2]) < 0)
            std::swap(p[1], p[2]);
        const Picture& picture = frame.drawn();
        for (int y = 0; y < 40; ++y)
            for (int x = 0; x < 40; ++x) {
                bool isInside = side(p[0], p[1], p[2]) != 0;
                for (std::size_t i = 0; i < 3; ++i) {
                    const auto &a = p[i], &b = p[(i + 1) % 3];
                    const std::int64_t s = side(a, b, {x * 256 + 128, y * 256 + 128});
                    const bool isTopLeft = b[1] < a[1] || (b[1] == a[1] && b[0] > a[0]);
                    isInside = isInside && (s > 0 || (s == 0 && isTopLeft));
                }
                ASSERT_EQ(picture.at(x, y), isInside ? 0xFF000000U : test::kWhitePixel) << round << ": " << x << "," << y;
            }
    }
}

TEST(Rasteriser, TrianglesThatShareEdgesCoverEachPixelOnce)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<float> jitter(-3, 3);
    for (int round = 0; round < 50; ++round) {
        Frame frame(64, 64);
        std::vector<ImVec2> rim;
        for (int i = 0; i < 12; ++i) {
            const float angle = static_cast<float>(i) * 0.5236F;
            rim.push_back({32 + 25 * std::cos(angle) + jitter(random), 32 + 25 * std::sin(angle) + jitter(random)});
        }
        const ImVec2 centre{32 + jitter(random), 32};
        for (std::size_t i = 0; i < rim.size(); ++i) // half black: what is covered twice would be darker
            frame.triangle(centre, rim[i], rim[(i + 1) % rim.size()], kHalfBlack);
        for (const std::uint32_t pixel : frame.drawn().pixels)
            EXPECT_TRUE(pixel == test::kWhitePixel || pixel == kHalfBlackOnWhite) << std::hex << pixel;
        EXPECT_EQ(frame.picture.at(32, 32), kHalfBlackOnWhite) << "no hole in the middle";
    }
}

TEST(Rasteriser, TheTwoTrianglesOfASlantedQuadAreOnePiece)
{
    Frame frame(64, 64);
    const ImVec2 a{10, 20}, b{40, 5}, c{55, 35}, d{25, 50}; // a rectangle turned by some degrees
    frame.triangle(a, b, c, kHalfBlack);
    frame.triangle(a, c, d, kHalfBlack);
    long covered = 0;
    for (const std::uint32_t pixel : frame.drawn().pixels) {
        ASSERT_TRUE(pixel == test::kWhitePixel || pixel == kHalfBlackOnWhite) << std::hex << pixel;
        covered += pixel == kHalfBlackOnWhite ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(covered), 30.0 * 30 + 15 * 15, 20) << "as many pixels as its area";
}

TEST(Rasteriser, ColoursRunLinearlyBetweenCorners)
{
    Frame frame(100, 10);
    frame.triangle({0, 0}, {100, 0}, {0, 100}, {0xFF000000U, 0xFF0000FFU, 0xFF000000U}); // red grows to the right
    frame.drawn();
    for (int x = 0; x < 90; ++x)
        EXPECT_NEAR((frame.picture.at(x, 3) >> 16U) & 0xFFU, (static_cast<double>(x) + 0.5) * 2.55, 1.01) << x;
    EXPECT_EQ(frame.picture.at(50, 3) & 0xFFFFU, 0U);

    Frame fading(100, 10);
    fading.triangle({0, 0}, {100, 0}, {0, 100}, {0xFF000000U, 0x00000000U, 0xFF000000U}); // alpha alone
    fading.drawn();
    for (int x = 0; x < 90; ++x)
        EXPECT_NEAR(fading.picture.at(x, 3) & 0xFFU, (static_cast<double>(x) + 0.5) * 2.55, 1.51) << x;
}

TEST(Rasteriser, StretchedGlyphsAreFilledTexelByTexel)
{
    Frame frame(32, 32);
    const Glyph glyph = frame.drawList.atlas().glyph(FontFace::body, U'I', 0);
    ASSERT_GT(glyph.width, 0);
    const ImVec2 texel{static_cast<float>(glyph.u), static_cast<float>(glyph.v)};
    const ImVec2 end{texel.x + static_cast<float>(glyph.width), texel.y + static_cast<float>(glyph.height)};
    frame.list().PrimReserve(6, 4);
    frame.list().PrimRectUV({2, 2}, {2 + 2 * static_cast<float>(glyph.width), 2 + 2 * static_cast<float>(glyph.height)}, texel,
                            end, 0xFF000000U);
    frame.drawn();
    const CoverageTexture texture = frame.drawList.atlas().texture();
    for (int y = 0; y < 2 * glyph.height; ++y)
        for (int x = 0; x < 2 * glyph.width; ++x) {
            const std::uint32_t coverage = texture.texels[(glyph.v + y / 2) * texture.width + glyph.u + x / 2];
            ASSERT_EQ(frame.picture.at(2 + x, 2 + y) & 0xFFU, 255U - coverage) << x << "," << y;
        }
}

TEST(Rasteriser, NothingLeavesTheClipOrThePicture)
{
    const Picture picture = test::drawn(32, 32, 1, [](Canvas& canvas) {
        canvas.pushClip({8, 8, 16, 16});
        canvas.fillRect({-1000, -1000, 1000, 1000}, Color::rgb(0x0072B2));
        canvas.fillConvex({{-50, -50}, {90, -40}, {20, 90}}, Color::rgb(0x0072B2));
        canvas.line({-1e6F, -1e6F}, {1e6F, 1e6F}, Color::rgb(0x202020), 3);
        canvas.text({-20, 6}, "a long text that is wider than the clip", Color::rgb(0x202020));
        canvas.popClip();
    });
    for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x)
            EXPECT_EQ(picture.at(x, y) != test::kWhitePixel, x >= 8 && x < 16 && y >= 8 && y < 16) << x << "," << y;
}

TEST(Rasteriser, NumbersThatAreNoneOrHugeDoNoHarm)
{
    constexpr float kHuge = std::numeric_limits<float>::max(), kInfinite = std::numeric_limits<float>::infinity(),
                    kNone = std::numeric_limits<float>::quiet_NaN();
    std::mt19937 random(5);
    const std::array<float, 8> values{0, 5, 17.5F, -kHuge, kHuge, kInfinite, -kInfinite, kNone};
    const auto any = [&] { return values[random() % values.size()]; };
    for (int round = 0; round < 500; ++round) {
        Frame frame(16, 16);
        frame.triangle({any(), any()}, {any(), any()}, {any(), any()}, 0xFF000000U);
        frame.triangle({any(), any()}, {any(), any()}, {any(), any()}, {0xFF000000U, 0x000000FFU, 0xFF00FF00U});
        frame.list().PrimReserve(6, 4);
        frame.list().PrimRectUV({any(), any()}, {any(), any()}, {any(), any()}, {any(), any()}, 0xFF000000U);
        frame.drawn();
    }
    Frame frame(16, 16);
    frame.triangle({-kHuge, -kHuge}, {kHuge, -kHuge}, {0, kHuge}, 0xFF000000U);
    EXPECT_EQ(frame.drawn().at(8, 8), 0xFF000000U) << "what covers everything covers the picture";
}
