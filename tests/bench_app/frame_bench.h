// What frames cost on the software canvas, how quiet an idle window is, how soon the gallery is there.
#pragma once

namespace app {

/// Prints a table; returns the program's exit code. Needs a QApplication.
int benchFrames();
/// Shows the gallery, says so on standard output and ends: what benchFrames starts to measure a start.
int showGalleryOnce();

} // namespace app
