// What frames cost on the software canvas, how quiet an idle window is, how soon the gallery is there.
#pragma once

#include <QSize>

namespace app {

/// Prints a table of a window of this size, times the screen's scale; returns the program's exit code. Needs a QApplication.
int benchFrames(QSize window = {1600, 900});
/// Shows the gallery, says so on standard output and ends: what benchFrames starts to measure a start.
int showGalleryOnce();

} // namespace app
