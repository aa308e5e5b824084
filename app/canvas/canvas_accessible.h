// What a canvas shows, for screen readers: one child for each node of its view.
#pragma once

namespace app {

class CanvasWidget;

/// Makes QAccessible answer for CanvasWidgets; once per program is enough, more is harmless.
void installCanvasAccessibility();

/// Tells a screen reader, if there is one, that the picture has changed and what is selected in it now.
void announceChange(CanvasWidget&);

} // namespace app
