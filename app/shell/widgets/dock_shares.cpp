#include "app/shell/widgets/dock_shares.h"

#include "app/shell/widgets/dock_tabs.h"

#include <QDataStream>
#include <QDockWidget>
#include <QMainWindow>
#include <QTabBar>

#include <algorithm>

namespace app {
namespace {

/// Those that float or lie behind another tab have sizes that say nothing.
QList<QDockWidget*> seenDocks(const QMainWindow& window)
{
    QList<QDockWidget*> docks = window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly);
    docks.removeIf([](const QDockWidget* dock) { return dock->isFloating() || !isInSight(*dock); });
    return docks;
}

/// Of the place that is shared out: with the tabs above it.
QSize sizeOf(const QMainWindow& window, const QDockWidget& dock)
{
    QSize size = dock.size();
    if (window.tabifiedDockWidgets(const_cast<QDockWidget*>(&dock)).isEmpty())
        return size;
    for (const QTabBar* bar : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
        for (int tab = 0; bar->isVisible() && tab < bar->count(); ++tab)
            if (bar->tabText(tab) == dock.windowTitle())
                size.rheight() += bar->height();
    return size;
}

} // namespace

void DockShares::measure(const QMainWindow& window)
{
    if (window.size().isEmpty())
        return;
    for (const QDockWidget* dock : seenDocks(window)) {
        const QSizeF size = sizeOf(window, *dock);
        m_shares[dock->objectName()] = {size.width() / window.width(), size.height() / window.height()};
    }
}

void DockShares::apply(QMainWindow& window) const
{
    QList<QDockWidget*> docks = seenDocks(window);
    docks.removeIf([this](const QDockWidget* dock) { return !m_shares.contains(dock->objectName()); });
    QList<int> widths, heights;
    for (const QDockWidget* dock : docks) {
        const QSizeF share = m_shares[dock->objectName()];
        widths << qRound(share.width() * window.width());
        heights << qRound(share.height() * window.height());
    }
    window.resizeDocks(docks, widths, Qt::Horizontal);
    window.resizeDocks(docks, heights, Qt::Vertical);
}

QDataStream& operator<<(QDataStream& out, const DockShares& shares)
{
    return out << shares.m_shares;
}

QDataStream& operator>>(QDataStream& in, DockShares& shares)
{
    return in >> shares.m_shares;
}

} // namespace app
