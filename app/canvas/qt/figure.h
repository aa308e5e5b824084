// A view as a figure to take away: SVG, PDF or PNG, in memory or as a file.
#pragma once

#include "app/canvas/view.h"

#include <QByteArray>
#include <QSize>
#include <QString>

#include <optional>

class QImage;

namespace app {

inline constexpr double kPointsPerInch = 72;

enum class FigureFormat { svg, pdf, png };

/// By the ending of a file's name.
std::optional<FigureFormat> figureFormatOf(const QString& path);
const char* figureEnding(FigureFormat); ///< "svg"

struct FigureShape {
    QSize logical;               ///< pixels that the view is laid out in
    qreal pngScale = 2;          ///< pixels of a .png for each logical one
    qreal pointsPerPixel = 0.75; ///< size on paper: points (1/72 inch) for each logical pixel; 0.75 is 96 pixels an inch
};

/// All throw sim::Error where the shape holds nothing, or more than memory does.
QByteArray figureBytes(View&, FigureFormat, const FigureShape&);
QImage figureImage(View&, QSize logicalSize, qreal scale);
/// The format is the path's ending. The file is written whole or not at all.
void saveFigure(View&, const QString& path, const FigureShape&);
void saveFigure(View&, const QString& path, QSize logicalSize, qreal scale = 2);

} // namespace app
