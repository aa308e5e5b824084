// What a canvas shows, for screen readers: one child for each node of its view.
#pragma once

namespace app {

class CanvasWidget;

/// Makes QAccessible answer for CanvasWidgets; once per program is enough, more is harmless.
void installCanvasAccessibility();

/// Tells screen readers that the picture has changed and, if it has the keyboard, what is selected in it. Makes all nodes: only
/// for when somebody listens.
void announceChange(CanvasWidget&);

} // namespace app
