// The sizes that figures are made in. On paper the smallest text of a picture (11 pixels) is 7 points high, as journals ask.
#pragma once

#include "app/canvas/qt/figure.h"

#include <QSizeF>

#include <array>

namespace app {

enum class FigureSize { screen, column, doubleColumn, slide, custom };
inline constexpr std::array kFigureSizes{FigureSize::screen, FigureSize::column, FigureSize::doubleColumn, FigureSize::slide,
                                         FigureSize::custom};

enum class LengthUnit { pixels, inches };

struct FigureSizeRule {
    const char* title; ///< on screen
    LengthUnit unit;   ///< that width and height are told in
    bool choosesWidth, choosesHeight;
};
const FigureSizeRule& ruleOf(FigureSize);

/// In the rule's unit: what it is if nobody chooses. On paper as high as the picture on screen is for its width.
QSizeF usualSize(FigureSize, QSize onScreen);
/// `chosen` counts where the rule lets it.
FigureShape shapeOf(FigureSize, QSize onScreen, QSizeF chosen);

/// Height of the smallest text on paper.
double smallestTextPoints(const FigureShape&);
QSizeF inchesOf(const FigureShape&);
QSize pngPixelsOf(const FigureShape&);

} // namespace app
