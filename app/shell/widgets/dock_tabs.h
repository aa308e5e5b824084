// Docks that share a place: the tab is the title.
#pragma once

class QDockWidget;
class QMainWindow;
class QWidget;

namespace app {

/// No second title below a tab, and no tab is cut. To be said again whenever docks have been moved.
void tidyDockTabs(QMainWindow&);

/// In front of those it shares a place with. QWidget::raise() alone does nothing for what was raised last, wherever it lies
/// since.
void bringForward(QDockWidget&);
/// Whether anything of it is seen: not of one whose tab is not in front.
bool isInSight(const QDockWidget&);
/// Whether Qt shows it outside of the window: what lies in a dock whose tab is not in front, and tabs of a place without docks.
bool isOutOfSight(const QWidget&);

} // namespace app
