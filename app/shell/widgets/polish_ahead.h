// Styles what is not shown yet while the window rests, so that the first thing a person opens does not wait for it.
#pragma once

class QWidget;

namespace app {

/// All within it, leaves first, a few milliseconds at a time between what else the event loop does; ends by itself, and with it.
void polishAhead(QWidget& root);

} // namespace app
