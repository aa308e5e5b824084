#include "app/canvas/qt/figure_size.h"

#include "tests/app/canvas/qt/sample_view.h"

#include <QImage>

#include <gtest/gtest.h>

namespace app {
namespace {

constexpr QSize kScreen{960, 480};

TEST(FigureSize, OnPaperTheSmallestTextHasSevenPoints)
{
    for (const FigureSize size : {FigureSize::column, FigureSize::doubleColumn}) {
        const QSizeF usual = usualSize(size, kScreen);
        const FigureShape shape = shapeOf(size, kScreen, usual);
        EXPECT_GE(smallestTextPoints(shape), 7 - 1e-9);
        EXPECT_LT(smallestTextPoints(shape), 7.1) << "larger would show less of the picture";
        EXPECT_NEAR(inchesOf(shape).width(), size == FigureSize::column ? 3.35 : 7, 1e-9);
        EXPECT_NEAR(inchesOf(shape).height(), usual.height(), 0.01);
        EXPECT_NEAR(pngPixelsOf(shape).width(), inchesOf(shape).width() * 600, 1);
    }
}

TEST(FigureSize, ASlideHasTheProjectorsPixels)
{
    const FigureShape shape = shapeOf(FigureSize::slide, kScreen, {});
    EXPECT_EQ(pngPixelsOf(shape), QSize(1920, 1080));
    EXPECT_EQ(figureImage(*std::make_unique<test::SampleView>(), shape.logical, shape.pngScale).size(), QSize(1920, 1080));
}

TEST(FigureSize, ScreenAndCustomAreInPixels)
{
    EXPECT_EQ(shapeOf(FigureSize::screen, kScreen, {1, 1}).logical, kScreen);
    EXPECT_EQ(shapeOf(FigureSize::custom, kScreen, {700, 300}).logical, QSize(700, 300));
    EXPECT_EQ(usualSize(FigureSize::custom, kScreen), QSizeF(kScreen));
}

TEST(FigureSize, AFlatOrATallPictureStillMakesAPage)
{
    for (const QSize screen : {QSize(2000, 50), QSize(50, 2000), QSize(0, 0)}) {
        const QSizeF usual = usualSize(FigureSize::column, screen);
        EXPECT_GE(usual.height(), 0.9);
        EXPECT_LE(usual.height(), 5);
        EXPECT_FALSE(shapeOf(FigureSize::column, screen, usual).logical.isEmpty());
    }
}

TEST(FigureSize, FilesTellTheirSizeOnPaper)
{
    test::SampleView view;
    const FigureShape shape = shapeOf(FigureSize::column, kScreen, {0, 2});
    const QByteArray svg = figureBytes(view, FigureFormat::svg, shape);
    EXPECT_TRUE(svg.contains("width=\"241.2pt\"")) << "3.35 inches";
    const QByteArray pdf = figureBytes(view, FigureFormat::pdf, shape);
    EXPECT_TRUE(pdf.contains("/MediaBox [0 0 241.")) << "points";
    const QImage png = QImage::fromData(figureBytes(view, FigureFormat::png, shape));
    EXPECT_NEAR(png.dotsPerMeterX() * 0.0254, 600, 1);
}

} // namespace
} // namespace app
