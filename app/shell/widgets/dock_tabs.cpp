#include "app/shell/widgets/dock_tabs.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QTabBar>

namespace app {

void tidyDockTabs(QMainWindow& window)
{
    for (QDockWidget* dock : window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        const bool tabbed = !dock->isFloating() && !window.tabifiedDockWidgets(dock).isEmpty();
        QWidget* const title = dock->titleBarWidget();
        if (tabbed && title == nullptr) {
            dock->setTitleBarWidget(new QWidget);
        } else if (!tabbed && title != nullptr) {
            dock->setTitleBarWidget(nullptr);
            delete title;
        }
    }
    for (QTabBar* bar : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (bar->elideMode() == Qt::ElideNone && !bar->expanding() && !bar->drawBase() && bar->usesScrollButtons())
            continue; // each would lay it out anew
        bar->setElideMode(Qt::ElideNone);
        bar->setExpanding(false);
        bar->setDrawBase(false);
        bar->setUsesScrollButtons(true);
    }
}

void bringForward(QDockWidget& dock)
{
    dock.lower();
    dock.raise();
}

} // namespace app
