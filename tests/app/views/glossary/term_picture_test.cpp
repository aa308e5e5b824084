// The drawings of the glossary: what is asked for is drawn, inside its place, in the colours that things have everywhere.
#include "app/views/glossary/term_picture.h"

#include "app/canvas/recorder_canvas.h"
#include "sim/error.h"

#include <gtest/gtest.h>

namespace app {
namespace {

constexpr Rect kPlace{0, 0, kTermPictureWidth, kTermPictureHeight};

RecorderCanvas drawn(const TermPicture& picture)
{
    RecorderCanvas canvas(kPlace);
    paintTermPicture(canvas, lightTheme(), kPlace, picture);
    EXPECT_TRUE(canvas.clipsAreBalanced());
    EXPECT_TRUE(canvas.cutTexts().empty());
    return canvas;
}

TEST(TermPicture, PassesHaveTheColoursAndLengthsThatTheyHaveEverywhere)
{
    const RecorderCanvas canvas = drawn({.kind = TermPicture::Kind::rows, .note = "waits", .rows = {{"pp 0", "F B2 .! d"}}});
    const auto forward = canvas.rectsOf(lightTheme().fill(sim::OpClass::forward));
    const auto backward = canvas.rectsOf(lightTheme().fill(sim::OpClass::backward));
    ASSERT_EQ(forward.size(), 1U);
    ASSERT_EQ(backward.size(), 1U);
    EXPECT_NEAR(backward[0].rect.width() + 1, 2 * (forward[0].rect.width() + 1), 1.01F);
    EXPECT_EQ(canvas.rectsOf(lightTheme().fill(sim::OpClass::dpComm)).size(), 1U);
    EXPECT_EQ(canvas.texts(), (std::vector<std::string>{"waits", "pp 0", "F", "B"}));
}

TEST(TermPicture, ABarsLimitIsDrawnWhereItIs)
{
    const RecorderCanvas canvas =
        drawn({.kind = TermPicture::Kind::bars, .bars = {{"needed", {{"parameters", 60}, {"optimizer", 40}}}}, .limit = 80});
    const auto parameters = canvas.rectsOf(lightTheme().parameters), optimizer = canvas.rectsOf(lightTheme().optimizer);
    ASSERT_EQ(parameters.size() + optimizer.size(), 2U);
    const auto line = std::find_if(canvas.primitives().begin(), canvas.primitives().end(),
                                   [](const Primitive& p) { return p.kind == Primitive::Kind::line; });
    ASSERT_NE(line, canvas.primitives().end());
    const float begin = parameters[0].rect.left, end = optimizer[0].rect.right + 1;
    EXPECT_NEAR(line->points[0].x, begin + 0.8F * (end - begin), 2);
}

TEST(TermPicture, WhatIsNoPassIsTold)
{
    EXPECT_EQ(termPasses("F B2 .!").size(), 3U);
    for (const char* bad : {"X", "F99", "F0", "Bx", "!"})
        EXPECT_THROW(termPasses(bad), sim::Error) << bad;
    EXPECT_TRUE(termPasses("").empty());
}

TEST(TermPicture, NothingIsDrawnOutsideHoweverSmallThePlace)
{
    for (const Rect place : {kPlace, Rect{0, 0, 120, 40}, Rect{0, 0, 20, 10}}) {
        RecorderCanvas canvas(place);
        for (const TermPicture& picture :
             {TermPicture{.kind = TermPicture::Kind::rows, .rows = {{"pp 0", "F F B2"}, {"pp 1", ". F B2"}}},
              TermPicture{.kind = TermPicture::Kind::grid, .cells = {"0", "1", "2", "3"}, .columns = 2, .groups = {{0, 1}}},
              TermPicture{.kind = TermPicture::Kind::flow, .cells = {"a", "b"}, .lit = {1}},
              TermPicture{.kind = TermPicture::Kind::curve, .points = {{0, 0}, {1, 1}}}, TermPicture{}})
            paintTermPicture(canvas, darkTheme(), place, picture);
        EXPECT_TRUE(canvas.cutTexts().empty());
    }
}

} // namespace
} // namespace app
