#include "app/canvas/quad_rasteriser.h"

#include "app/canvas/imgui_canvas.h"
#include "app/canvas/recorder_canvas.h"
#include "tests/app/canvas/sample_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace app;

namespace {

struct Picture {
    Picture(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w * h), 0xFFFFFFFFU) {}
    int width, height;
    std::vector<std::uint32_t> pixels;
    std::uint32_t at(int x, int y) const { return pixels[static_cast<std::size_t>(y * width + x)]; }
    void draw(const DrawList& list) { rasterise(list.list(), list.atlas().texture(), {pixels.data(), width, height, width}); }
    long inked() const
    {
        return std::count_if(pixels.begin(), pixels.end(), [](std::uint32_t p) { return p != 0xFFFFFFFFU; });
    }
};

/// A fan around a centre: neighbouring triangles share edges in every direction.
void fan(ImDrawList& list, ImVec2 centre, const std::vector<ImVec2>& rim, std::uint32_t color)
{
    for (std::size_t i = 0; i < rim.size(); ++i) {
        const ImVec2 a = rim[i], b = rim[(i + 1) % rim.size()];
        list.PrimReserve(3, 3);
        for (const ImVec2 p : {centre, a, b}) {
            list.PrimWriteIdx(static_cast<ImDrawIdx>(list._VtxCurrentIdx));
            list.PrimWriteVtx(p, {0, 0}, color);
        }
    }
}

} // namespace

TEST(Rasteriser, TrianglesThatShareEdgesCoverEachPixelOnce)
{
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        DrawList list(GlyphAtlas::forScale(1));
        list.begin(64, 64);
        std::uniform_real_distribution<float> jitter(-3, 3);
        std::vector<ImVec2> rim;
        for (int i = 0; i < 12; ++i) {
            const float angle = static_cast<float>(i) * 0.5236F;
            rim.push_back({32 + 25 * std::cos(angle) + jitter(random), 32 + 25 * std::sin(angle) + jitter(random)});
        }
        fan(list.list(), {32 + jitter(random), 32}, rim, 0x80000000U); // half black: covered twice would be darker
        Picture picture(64, 64);
        picture.draw(list);
        for (const std::uint32_t pixel : picture.pixels)
            EXPECT_TRUE(pixel == 0xFFFFFFFFU || pixel == 0xFF7F7F7FU) << std::hex << pixel;
        EXPECT_EQ(picture.at(32, 32), 0xFF7F7F7FU) << "no hole in the middle";
    }
}

TEST(Rasteriser, BlendsAsTheFormulaSays)
{
    for (const std::uint32_t alpha : {0U, 1U, 64U, 127U, 128U, 200U, 254U, 255U}) {
        DrawList list(GlyphAtlas::forScale(1));
        list.begin(8, 8);
        list.list().AddRectFilled({0, 0}, {8, 8}, (alpha << 24U) | 0x00305090U); // b 30 g 50 r 90
        Picture picture(8, 8);
        std::fill(picture.pixels.begin(), picture.pixels.end(), 0xFF102030U);
        picture.draw(list);
        const auto mix = [alpha](std::uint32_t over, std::uint32_t below) {
            return (over * alpha + below * (255 - alpha) + 127) / 255;
        };
        EXPECT_EQ(picture.at(3, 3), 0xFF000000U | (mix(0x90, 0x10) << 16U) | (mix(0x50, 0x20) << 8U) | mix(0x30, 0x30)) << alpha;
    }
}

TEST(Rasteriser, NothingLeavesTheClipOrThePicture)
{
    DrawList list(GlyphAtlas::forScale(1));
    list.begin(32, 32);
    ImGuiCanvas canvas(list, {0, 0, 32, 32});
    canvas.pushClip({8, 8, 16, 16});
    canvas.fillRect({-1000, -1000, 1000, 1000}, test::kBlue);
    canvas.fillConvex({{-50, -50}, {90, -40}, {20, 90}}, test::kBlue);
    canvas.text({-20, 6}, "a long text that is wider than the clip", test::kInk, FontFace::body, Align::left);
    canvas.popClip();
    Picture picture(32, 32);
    picture.draw(list);
    for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x)
            EXPECT_EQ(picture.at(x, y) != 0xFFFFFFFFU, x >= 8 && x < 16 && y >= 8 && y < 16) << x << "," << y;
}

TEST(ImGuiCanvas, TextIsAsWideAsItSaysAndEveryGlyphIsThere)
{
    for (const float scale : {1.0F, 1.25F, 2.0F}) {
        DrawList list(GlyphAtlas::forScale(scale));
        const int size = static_cast<int>(300 * scale);
        for (const FontFace face : {FontFace::body, FontFace::small, FontFace::bold, FontFace::mono})
            for (const char* text : {"Hamburg 0123", "×", "µ", "→", "≤", "Ω", "–", "…", "·"}) {
                list.begin(size, size);
                ImGuiCanvas canvas(list, {0, 0, 300, 300});
                const float width = canvas.textWidth(text, face);
                canvas.text({100, 100}, text, test::kInk, face, Align::left);
                Picture picture(size, size);
                picture.draw(list);
                EXPECT_GT(picture.inked(), 0) << text;
                for (int y = 0; y < size; ++y)
                    for (int x = 0; x < size; ++x)
                        if (picture.at(x, y) != 0xFFFFFFFFU) {
                            EXPECT_GE(static_cast<float>(x), 99 * scale) << text;
                            EXPECT_LE(static_cast<float>(x), (101 + width) * scale) << text;
                            EXPECT_GE(static_cast<float>(y), 100 * scale - 1) << text;
                            EXPECT_LE(static_cast<float>(y), (100 + canvas.textHeight(face)) * scale + 1) << text;
                        }
            }
    }
}

TEST(ImGuiCanvas, ManyRectanglesNeedMoreThanSixteenBitIndices)
{
    DrawList list(GlyphAtlas::forScale(1));
    list.begin(256, 256);
    ImGuiCanvas canvas(list, {0, 0, 256, 256});
    for (int y = 0; y < 256; ++y)
        for (int x = 0; x < 256; ++x)
            canvas.fillRect({static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + 1), static_cast<float>(y + 1)},
                            Color::rgb(static_cast<std::uint32_t>(x << 16 | y << 8)));
    Picture picture(256, 256);
    picture.draw(list);
    for (int y = 0; y < 256; ++y)
        for (int x = 0; x < 256; ++x)
            ASSERT_EQ(picture.at(x, y), 0xFF000000U | static_cast<std::uint32_t>(x << 16 | y << 8));
}

TEST(RecorderCanvas, TellsWhatWasDrawn)
{
    test::SampleView view;
    RecorderCanvas recorder({0, 0, 200, 140});
    view.draw(recorder);
    EXPECT_EQ(recorder.texts().size(), 4U);
    EXPECT_EQ(recorder.rectsOf(test::kBlue).size(), 1U);
    EXPECT_EQ(recorder.nodesOf("cell").at(0).name, "blue box");
    EXPECT_NE(recorder.asText().find("rect 10,10 30x20 #0072b2\n"), std::string::npos);
    EXPECT_TRUE(recorder.cutTexts().empty());
    recorder.text({190, 10}, "cut", test::kInk, FontFace::body, Align::left);
    EXPECT_EQ(recorder.cutTexts().at(0).text, "cut");
}
