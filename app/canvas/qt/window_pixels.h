// A picture of all of a widget, drawn where the window keeps its pixels: an image between the two would be 25 MB at 3840x2160, to
// be written and read once more for every frame.
#pragma once

#include "app/canvas/qt/quad_rasteriser.h"

#include <functional>

class QImage;
class QRegion;
class QWidget;

namespace app {

/// Of 32 bits each.
PixelBuffer pixelsOf(QImage&);

/// Pixels from the picture's top left corner, and which of them to draw; no others may be touched, nor may they be there.
using FillPixels = std::function<void(const PixelBuffer&, const PixelRect&)>;

/// While `widget` is painted: has `fill` draw all of `region` (logical pixels of the widget). Where the window's pixels are of
/// another kind, they come by way of an image.
void paintPixels(QWidget& widget, const QRegion& region, const FillPixels& fill);

} // namespace app
