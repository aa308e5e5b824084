#include "app/canvas/qt/figure_size.h"

#include "app/canvas/qt/fonts.h"

#include <QtGlobal>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr double kColumnInches = 3.35, kDoubleColumnInches = 7; // IEEE and ACM: 3.3 to 3.5, and 7
constexpr double kSmallestPrint = 7;                            // points
constexpr double kPaperDotsPerInch = 600;                       // what journals ask of line art
constexpr QSize kSlidePixels{1920, 1080};
constexpr double kSlideScale = 2;               // text is read from far away
constexpr double kLowest = 0.5, kHighest = 1.4; // height of a figure on paper for its width

double paperWidth(FigureSize size)
{
    return size == FigureSize::column ? kColumnInches : kDoubleColumnInches;
}

} // namespace

const FigureSizeRule& ruleOf(FigureSize size)
{
    static constexpr FigureSizeRule kScreen{QT_TRANSLATE_NOOP("FigureSize", "As on screen"), LengthUnit::pixels, false, false};
    static constexpr FigureSizeRule kColumn{QT_TRANSLATE_NOOP("FigureSize", "Paper, one column"), LengthUnit::inches, false,
                                            true};
    static constexpr FigureSizeRule kDouble{QT_TRANSLATE_NOOP("FigureSize", "Paper, two columns"), LengthUnit::inches, false,
                                            true};
    static constexpr FigureSizeRule kSlide{QT_TRANSLATE_NOOP("FigureSize", "Slide, 16:9"), LengthUnit::pixels, false, false};
    static constexpr FigureSizeRule kCustom{QT_TRANSLATE_NOOP("FigureSize", "Custom"), LengthUnit::pixels, true, true};
    switch (size) {
    case FigureSize::column:
        return kColumn;
    case FigureSize::doubleColumn:
        return kDouble;
    case FigureSize::slide:
        return kSlide;
    case FigureSize::custom:
        return kCustom;
    default:
        return kScreen;
    }
}

QSizeF usualSize(FigureSize size, QSize onScreen)
{
    if (size == FigureSize::slide)
        return kSlidePixels;
    if (ruleOf(size).unit == LengthUnit::pixels)
        return onScreen;
    const double width = paperWidth(size);
    const double slope = onScreen.width() > 0 ? static_cast<double>(onScreen.height()) / onScreen.width() : 1;
    return {width, std::round(width * std::clamp(slope, kLowest, kHighest) * 20) / 20};
}

FigureShape shapeOf(FigureSize size, QSize onScreen, QSizeF chosen)
{
    if (size == FigureSize::screen)
        return {.logical = onScreen};
    if (size == FigureSize::custom)
        return {.logical = chosen.toSize()};
    if (size == FigureSize::slide)
        return {.logical = kSlidePixels / kSlideScale, .pngScale = kSlideScale, .pointsPerPixel = 1};
    const double widthPoints = paperWidth(size) * kPointsPerInch;
    const double smallest = fontPixels(FontFace::small);
    const int width = static_cast<int>(std::floor(widthPoints * smallest / kSmallestPrint));
    const double points = widthPoints / width;
    return {.logical = {width, static_cast<int>(std::lround(chosen.height() * kPointsPerInch / points))},
            .pngScale = kPaperDotsPerInch * points / kPointsPerInch,
            .pointsPerPixel = points};
}

double smallestTextPoints(const FigureShape& shape)
{
    return fontPixels(FontFace::small) * shape.pointsPerPixel;
}

QSizeF inchesOf(const FigureShape& shape)
{
    return QSizeF(shape.logical) * shape.pointsPerPixel / kPointsPerInch;
}

QSize pngPixelsOf(const FigureShape& shape)
{
    return shape.logical * shape.pngScale;
}

} // namespace app
