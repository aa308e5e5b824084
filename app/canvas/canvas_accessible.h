// What a canvas shows, for screen readers: one child for each node of its view.
#pragma once

namespace app {

/// Makes QAccessible answer for CanvasWidgets; once per program is enough, more is harmless.
void installCanvasAccessibility();

} // namespace app
