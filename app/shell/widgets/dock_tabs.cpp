#include "app/shell/widgets/dock_tabs.h"

#include "app/shell/widgets/style.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QEvent>
#include <QFontMetrics>
#include <QLayout>
#include <QMainWindow>
#include <QTabBar>

#include <algorithm>

namespace app {
namespace {

/// That lies below the bar; nullptr: none does.
const QDockWidget* dockBelow(const QMainWindow& window, const QTabBar& bar)
{
    if (!bar.isVisible() || bar.count() == 0)
        return nullptr;
    const QString title = bar.tabText(bar.currentIndex());
    const auto docks = window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly);
    const auto found = std::find_if(docks.begin(), docks.end(),
                                    [&](const QDockWidget* dock) { return dock->windowTitle() == title && !dock->isFloating(); });
    return found == docks.end() ? nullptr : *found;
}

/// Narrower than its tabs, though the dock below it is wider.
bool isCut(const QMainWindow& window, const QTabBar& bar)
{
    const QDockWidget* dock = dockBelow(window, bar);
    return dock != nullptr && bar.width() < std::min(bar.sizeHint().width(), dock->width());
}

/// Pixels that tabs take with the room around their texts that the style sheet usually gives them.
int usualWidth(const QTabBar& bar)
{
    constexpr int kLeast = 72, kAround = 24;
    const QFontMetrics metrics(uiFont(12, QFont::DemiBold));
    int width = 0;
    for (int tab = 0; tab < bar.count(); ++tab)
        width += bar.isTabVisible(tab) ? std::max(kLeast, metrics.horizontalAdvance(bar.tabText(tab))) + kAround : 0;
    return width;
}

/// Tabs that would be cut stand closer to each other.
bool squeezeTabs(const QMainWindow& window, QTabBar& bar)
{
    const QDockWidget* dock = dockBelow(window, bar);
    const bool isNarrow = dock != nullptr && usualWidth(bar) > dock->width();
    if (dock == nullptr || isNarrow == (bar.property("role").toByteArray() == "narrow"))
        return false;
    setRole(&bar, isNarrow ? "narrow" : "");
    QEvent change(QEvent::StyleChange); // or its tabs keep their widths
    QCoreApplication::sendEvent(&bar, &change);
    return true;
}

/// With one that is shown: a dock that is hidden keeps its place, and has no tab.
bool sharesPlace(const QMainWindow& window, QDockWidget& dock)
{
    const QList<QDockWidget*> others = window.tabifiedDockWidgets(&dock);
    return std::any_of(others.begin(), others.end(), [](const QDockWidget* other) { return !other->isHidden(); });
}

} // namespace

void tidyDockTabs(QMainWindow& window)
{
    for (QDockWidget* dock : window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        const bool tabbed = !dock->isFloating() && sharesPlace(window, *dock);
        QWidget* const title = dock->titleBarWidget();
        if (tabbed && title == nullptr) {
            dock->setTitleBarWidget(new QWidget);
        } else if (!tabbed && title != nullptr) {
            dock->setTitleBarWidget(nullptr);
            delete title;
        }
    }
    bool areCut = false; // the place of a bar is what it needed before it was styled, or had all its tabs
    for (QTabBar* bar : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (bar->count() == 0) // of a place without docks: Qt shows it where it was last, over what is there now
            bar->move(-bar->width(), -bar->height());
        areCut = squeezeTabs(window, *bar) || areCut || isCut(window, *bar);
        if (bar->elideMode() == Qt::ElideNone && !bar->expanding() && !bar->drawBase() && bar->usesScrollButtons())
            continue; // each would lay it out anew
        bar->setElideMode(Qt::ElideNone);
        bar->setExpanding(false);
        bar->setDrawBase(false);
        bar->setUsesScrollButtons(true);
        areCut = areCut || isCut(window, *bar);
    }
    if (areCut) {
        window.layout()->invalidate();
        window.layout()->activate();
    }
}

bool isInSight(const QDockWidget& dock)
{
    const auto isSeen = [](const QWidget* part) { return !part->visibleRegion().isEmpty(); }; // what its parts do not cover
    const auto parts = dock.findChildren<QWidget*>();
    return isSeen(&dock) || std::any_of(parts.begin(), parts.end(), isSeen);
}

bool isOutOfSight(const QWidget& widget)
{
    if (const auto* bar = qobject_cast<const QTabBar*>(&widget); bar != nullptr && bar->count() == 0)
        return true;
    for (const QWidget* in = &widget; in != nullptr; in = in->parentWidget())
        if (const auto* dock = qobject_cast<const QDockWidget*>(in); dock != nullptr && !isInSight(*dock))
            return true;
    return false;
}

void bringForward(QDockWidget& dock)
{
    dock.lower();
    dock.raise();
}

} // namespace app
