// Docks that share a place: the tab is the title.
#pragma once

class QMainWindow;

namespace app {

/// No second title below a tab, and no tab is cut. To be said again whenever docks have been moved.
void tidyDockTabs(QMainWindow&);

} // namespace app
