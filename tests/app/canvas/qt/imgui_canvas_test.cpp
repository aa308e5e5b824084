#include "app/canvas/qt/imgui_canvas.h"

#include "app/canvas/qt/qpainter_canvas.h"
#include "app/canvas/recorder_canvas.h"
#include "tests/app/canvas/qt/picture.h"
#include "tests/app/canvas/qt/sample_view.h"

#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

#include <random>

#include <cmath>
#include <string>

using namespace app;
using test::Picture;

namespace {

constexpr FontFace kFaces[] = {FontFace::body, FontFace::small, FontFace::bold, FontFace::mono};
constexpr const char* kTexts[] = {"Llama 3 405B on 16,384 H100s", "0F12 1B7 3W4", "minimum illicit willful",
                                  "rank 13, dp 1 pp 1 cp 0 tp 1, 42.1 GiB", "× · … – → µ ≤ Ωλ"};

Picture paintedByQt(View& view, int width, int height)
{
    QImage image(width, height, QImage::Format_RGB32);
    image.fill(Qt::white);
    {
        QPainter painter(&image);
        QPainterCanvas canvas(painter, {0, 0, static_cast<float>(width), static_cast<float>(height)});
        view.draw(canvas);
    }
    Picture picture(width, height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            picture.pixels[static_cast<std::size_t>(y * width + x)] = image.pixel(x, y);
    return picture;
}

} // namespace

TEST(ImGuiCanvas, ShowsWhatQPainterShows)
{
    test::SampleView view;
    const Picture onScreen = test::drawn(200, 140, 1, [&](Canvas& canvas) { view.draw(canvas); });
    const Picture inFigure = paintedByQt(view, 200, 140);
    RecorderCanvas recorder({0, 0, 200, 140});
    view.draw(recorder);

    const auto isSmoothed = [](const Primitive& p) { // where two renderers may differ in shades
        return p.kind == Primitive::Kind::text || p.kind == Primitive::Kind::polyline || p.kind == Primitive::Kind::fillConvex ||
               p.style != LineStyle::solid;
    };
    int compared = 0, differing = 0;
    for (int y = 0; y < 140; ++y)
        for (int x = 0; x < 200; ++x) {
            const Point at{static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F};
            bool isFree = true;
            for (const Primitive& p : recorder.primitives())
                isFree = isFree && !(isSmoothed(p) && p.rect.inset(-3).contains(at));
            const std::uint32_t a = onScreen.at(x, y), b = inFigure.at(x, y);
            if (isFree) {
                ++compared;
                EXPECT_EQ(a, b) << x << "," << y;
            }
            const int green = static_cast<int>((a >> 8U) & 0xFFU) - static_cast<int>((b >> 8U) & 0xFFU);
            differing += std::abs(green) > 64 ? 1 : 0;
        }
    EXPECT_GT(compared, 200 * 140 / 3);
    EXPECT_LT(differing, 200 * 140 / 50) << "texts and curves lie at the same places";
}

TEST(ImGuiCanvas, TextIsAsWideAsInFiguresAtEveryScale)
{
    QImage image(8, 8, QImage::Format_RGB32);
    QPainter painter(&image);
    QPainterCanvas figure(painter, {0, 0, 8, 8});
    for (const float scale : {1.0F, 1.25F, 2.0F}) {
        DrawList list(GlyphAtlas::forScale(scale));
        ImGuiCanvas canvas(list, {0, 0, 8, 8});
        for (const FontFace face : kFaces) {
            for (const char* text : kTexts)
                EXPECT_NEAR(canvas.textWidth(text, face), figure.textWidth(text, face), 0.02F * figure.textWidth(text, face))
                    << text << " at " << scale;
            EXPECT_EQ(canvas.textHeight(face), figure.textHeight(face));
            EXPECT_GE(canvas.textHeight(face), 13);
        }
    }
}

TEST(ImGuiCanvas, TextStaysInItsBoxAndEveryGlyphIsThere)
{
    for (const float scale : {1.0F, 1.25F, 2.0F})
        for (const FontFace face : kFaces)
            for (const std::string text : {"Hamburg 0123", "×", "µ", "→", "≤", "Ω", "–", "…", "·", "⋯"}) {
                float width = 0, height = 0;
                const Picture picture = test::drawn(200, 120, scale, [&](Canvas& canvas) {
                    width = canvas.textWidth(text, face);
                    height = canvas.textHeight(face);
                    canvas.text({50, 50}, text, test::kInk, face);
                });
                EXPECT_GT(picture.inked(), 0) << text;
                for (int y = 0; y < picture.height; ++y)
                    for (int x = 0; x < picture.width; ++x)
                        if (picture.at(x, y) != test::kWhitePixel) {
                            EXPECT_GE(static_cast<float>(x), 50 * scale - 1) << text;
                            EXPECT_LE(static_cast<float>(x), (50 + width) * scale + 1) << text;
                            EXPECT_GE(static_cast<float>(y), 50 * scale - 1) << text;
                            EXPECT_LE(static_cast<float>(y), (50 + height) * scale + 1) << text;
                        }
            }
}

TEST(ImGuiCanvas, TheSameTextLooksTheSameEverywhere)
{
    const auto at = [](float x) {
        return test::drawn(120, 30, 1, [x](Canvas& canvas) { canvas.text({x, 5}, "0F12 mfu", test::kInk); });
    };
    const Picture first = at(10), shifted = at(20.3F);
    for (int y = 0; y < 30; ++y)
        for (int x = 0; x < 100; ++x)
            ASSERT_EQ(first.at(x, y), shifted.at(x + 10, y)) << x << "," << y;
}

TEST(ImGuiCanvas, AlignedTextEndsAndCentresWhereAsked)
{
    const auto inkOf = [](Align align) {
        const Picture picture = test::drawn(200, 30, 1, [align](Canvas& canvas) {
            canvas.text({100, 5}, "HHHH", test::kInk, FontFace::body, align);
        });
        int first = 200, last = -1;
        for (int x = 0; x < 200; ++x)
            for (int y = 0; y < 30; ++y)
                if (picture.at(x, y) != test::kWhitePixel) {
                    first = std::min(first, x);
                    last = std::max(last, x);
                }
        return std::pair(first, last + 1);
    };
    EXPECT_NEAR(inkOf(Align::left).first, 101, 1);
    EXPECT_NEAR(inkOf(Align::right).second, 99, 1);
    const auto [first, last] = inkOf(Align::center);
    EXPECT_NEAR((first + last) / 2.0, 100, 1);
}

TEST(ImGuiCanvas, BrokenTextAndRareScriptsAreShownWithoutHarm)
{
    const Picture picture = test::drawn(300, 40, 1, [](Canvas& canvas) {
        canvas.text({5, 5}, "\xFF\xC3", test::kInk);                           // no UTF-8
        canvas.text({5, 20}, std::string(100'000, 'x'), test::kInk);           // more corners than 16 bits count
        canvas.text({60, 5}, "\xF0\x9F\x9A\x80 \xE6\xA8\xA1\n\t", test::kInk); // beyond the basic plane; control characters
    });
    EXPECT_GT(picture.inked(), 0);
    for (int y = 28; y < 32; ++y) {
        bool reachesTheEdge = false;
        for (int x = 290; x < 300; ++x)
            reachesTheEdge = reachesTheEdge || picture.at(x, y) != test::kWhitePixel;
        EXPECT_TRUE(reachesTheEdge) << y;
    }
}

TEST(ImGuiCanvas, RectanglesAreWholePixelsAtEveryScale)
{
    for (const float scale : {1.0F, 1.25F, 1.5F, 2.0F}) {
        const Picture picture = test::drawn(100, 40, scale, [](Canvas& canvas) {
            for (int i = 0; i < 30; ++i) // touching cells of odd widths
                canvas.fillRect({static_cast<float>(i) * 3.3F, 0, static_cast<float>(i + 1) * 3.3F, 40}, Color::rgb(0, 0.5F));
        });
        for (int x = 0; x < static_cast<int>(99 * scale); ++x)
            EXPECT_EQ(picture.at(x, 5), 0xFF7F7F7FU) << x << " at " << scale;
    }
}

TEST(ImGuiCanvas, LinesAlongAnAxisAndStairsAreSharp)
{
    for (const float scale : {1.0F, 1.25F, 2.0F})
        for (const float thickness : {1.0F, 2.0F, 3.0F}) {
            const Picture picture = test::drawn(100, 100, scale, [thickness](Canvas& canvas) {
                canvas.line({10, 10}, {90, 10}, test::kInk, thickness);
                canvas.polyline({{10, 50}, {50, 50}, {50, 80}, {90, 80}}, test::kInk, thickness);
            });
            const auto width = static_cast<int>(std::round(thickness * scale));
            for (const int x : {30, 40}) {
                int ink = 0;
                for (int y = 0; y < picture.height; ++y) {
                    const std::uint32_t pixel = picture.at(static_cast<int>(static_cast<float>(x) * scale), y);
                    EXPECT_TRUE(pixel == test::kWhitePixel || pixel == 0xFF202020U) << std::hex << pixel << " at " << scale;
                    ink += pixel != test::kWhitePixel ? 1 : 0;
                }
                EXPECT_EQ(ink, 2 * width) << "thickness " << thickness << " at " << scale;
            }
        }
}

TEST(ImGuiCanvas, DashesAreCutToWhatIsSeen)
{
    DrawList list(GlyphAtlas::forScale(1));
    list.begin(100, 100);
    ImGuiCanvas imgui(list, {0, 0, 100, 100});
    Canvas& canvas = imgui;
    for (const LineStyle style : {LineStyle::dashed, LineStyle::dotted})
        for (const float far : {1e3F, 1e7F, 1e12F, 1e30F}) {
            canvas.line({-far, 20}, {far, 20}, test::kInk, 1, style);
            canvas.line({20, -far}, {20, far}, test::kInk, 1, style);
            canvas.line({-far, -far}, {far, far}, test::kInk, 1, style);
            canvas.strokeRect({-far, 30, far, 60}, test::kInk, 1, style);
        }
    EXPECT_LT(list.list().VtxBuffer.Size, 20'000) << "no more than fit on the screen";

    const Picture picture = test::drawn(100, 20, 1, [](Canvas& c) {
        c.line({-3, 10}, {100, 10}, test::kInk, 1, LineStyle::dashed);
    });
    for (int x = 0; x < 100; ++x) // dashes of 4, gaps of 3, from the line's beginning
        EXPECT_EQ(picture.at(x, 10) != test::kWhitePixel, (x + 3) % 7 < 4) << x;
}

TEST(ImGuiCanvas, ALongSlantedLineIsTheSameLineWhenCut)
{
    const Picture near = test::drawn(100, 50, 1, [](Canvas& c) { c.line({-100, -50}, {200, 100}, test::kInk, 2); });
    const Picture far = test::drawn(100, 50, 1, [](Canvas& c) {
        c.line({-200'000, -100'000}, {200'000, 100'000}, test::kInk, 2);
    });
    EXPECT_GT(near.inked(), 200);
    int differing = 0;
    for (std::size_t i = 0; i < near.pixels.size(); ++i)
        differing += std::abs(static_cast<int>(near.pixels[i] & 0xFFU) - static_cast<int>(far.pixels[i] & 0xFFU)) > 8 ? 1 : 0;
    EXPECT_EQ(differing, 0);
}

TEST(ImGuiCanvas, ManyRectanglesNeedMoreThanSixteenBitIndices)
{
    const Picture picture = test::drawn(256, 256, 1, [](Canvas& canvas) {
        for (int y = 0; y < 256; ++y)
            for (int x = 0; x < 256; ++x)
                canvas.fillRect(
                    {static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + 1), static_cast<float>(y + 1)},
                    Color::rgb(static_cast<std::uint32_t>(x << 16 | y << 8)));
    });
    for (int y = 0; y < 256; ++y)
        for (int x = 0; x < 256; ++x)
            ASSERT_EQ(picture.at(x, y), 0xFF000000U | static_cast<std::uint32_t>(x << 16 | y << 8));
}

TEST(ImGuiCanvas, ALongCurveIsOnePiece)
{
    std::vector<Point> curve;
    for (int i = 0; i <= 40'000; ++i)
        curve.push_back({static_cast<float>(i) * 0.005F, 20 + 10 * std::sin(static_cast<float>(i) * 0.001F)});
    const Picture picture = test::drawn(200, 40, 1, [&](Canvas& canvas) { canvas.polyline(curve, test::kInk, 2); });
    for (int x = 1; x < 199; ++x) {
        int ink = 0;
        for (int y = 0; y < 40; ++y)
            ink += (picture.at(x, y) & 0xFFU) < 0x80 ? 1 : 0;
        EXPECT_GE(ink, 1) << x;
        EXPECT_LE(ink, 5) << x;
    }
}

TEST(ImGuiCanvas, ShapesAreSmoothedAlikeWhicheverWayTheyTurn)
{
    const auto shape = [](std::vector<Point> points) {
        return test::drawn(40, 40, 1, [&](Canvas& canvas) { canvas.fillConvex(points, test::kInk); });
    };
    EXPECT_EQ(shape({{5, 5}, {33, 12}, {11, 34}}), shape({{11, 34}, {33, 12}, {5, 5}}));
}

TEST(GlyphAtlas, GrowsWithoutLosingWhatItHas)
{
    const auto atlas = GlyphAtlas::forScale(3);
    EXPECT_EQ(atlas, GlyphAtlas::forScale(3)) << "shared";
    const Glyph first = atlas->glyph(FontFace::body, U'A', 0);
    const auto texelsOf = [&] {
        std::vector<std::uint8_t> out;
        const CoverageTexture t = atlas->texture();
        for (int v = first.v; v < first.v + first.height; ++v)
            out.insert(out.end(), t.texels + v * t.width + first.u, t.texels + v * t.width + first.u + first.width);
        return out;
    };
    const std::vector<std::uint8_t> before = texelsOf();
    const int generation = atlas->generation(), height = atlas->texture().height;
    for (char32_t c = U'!'; c < U'ſ'; ++c)
        for (int step = 0; step < GlyphAtlas::kSteps; ++step)
            atlas->glyph(FontFace::bold, c, step);
    EXPECT_GT(atlas->texture().height, height);
    EXPECT_NE(atlas->generation(), generation);
    EXPECT_EQ(texelsOf(), before);
    EXPECT_GT(*std::max_element(before.begin(), before.end()), 200);
}

TEST(RecorderCanvas, TellsWhatWasDrawn)
{
    test::SampleView view;
    RecorderCanvas recorder({0, 0, 200, 140});
    view.draw(recorder);
    EXPECT_EQ(recorder.texts().size(), 4U);
    EXPECT_EQ(recorder.rectsOf(test::kBlue).size(), 1U);
    EXPECT_EQ(recorder.nodesOf("cell").at(0).name, "blue box");
    EXPECT_TRUE(recorder.clipsAreBalanced());
    const std::string text = recorder.asText();
    for (const char* line : {"rect 10,10 30x20 #0072b2\n", "outline 50,10 30x20 #202020 2px\n",
                             "outline 90,10 40x20 #202020 dashed\n", "line 160,10 190,40 #202020 dotted\n",
                             "text 10,100 small #202020 Small 0123456789\n", "rect 0,100 200x100 #e69f00/128\n"})
        EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
    EXPECT_TRUE(recorder.cutTexts().empty());
    static_cast<Canvas&>(recorder).text({190, 10}, "cut", test::kInk);
    EXPECT_EQ(recorder.cutTexts().at(0).text, "cut");
    recorder.pushClip({0, 0, 1, 1});
    EXPECT_FALSE(recorder.clipsAreBalanced());
}

TEST(ImGuiCanvas, StacksLookLikeTheRectanglesTheyStandFor)
{
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
        ColumnStacks stacks{.area = {3, 5, 93, 25}, .columnWidth = 1, .quantum = 0.5F, .colors = {}, .tops = {}};
        const std::size_t bars = 1 + random() % 3;
        for (std::size_t i = 0; i < bars; ++i)
            stacks.colors.push_back(Color::rgb(random() & 0xFFFFFFU, i == 1 && round % 2 == 0 ? 0.5F : 1.0F));
        for (int column = 0; column < 90; ++column) {
            unsigned top = 0;
            for (std::size_t i = 0; i < bars; ++i)
                stacks.tops.push_back(static_cast<std::uint16_t>(top += static_cast<unsigned>(random() % 14)));
        }
        const auto draw = [&](Canvas& canvas) {
            canvas.pushClip({10, 8, 80, 22});
            canvas.stacks(stacks);
            canvas.popClip();
            canvas.fillRect({40, 0, 50, 30}, Color::rgb(0x123456)); // later things lie above
        };
        for (const float scale : {1.0F, 2.0F})
            EXPECT_EQ(test::drawn(100, 30, scale, draw, true), test::drawn(100, 30, scale, draw, false)) << round;
    }
}
