// How docks share their window: pixels say nothing in a window of another size.
#pragma once

#include <QMap>
#include <QSizeF>
#include <QString>

class QDataStream;
class QMainWindow;

namespace app {

class DockShares {
public:
    /// Of the docks that are seen; others keep what was measured of them before.
    void measure(const QMainWindow&);
    /// As far as the docks' least sizes allow.
    void apply(QMainWindow&) const;

    friend QDataStream& operator<<(QDataStream&, const DockShares&);
    friend QDataStream& operator>>(QDataStream&, DockShares&);

private:
    QMap<QString, QSizeF> m_shares; ///< [dock's object name] of its window's width and height
};

} // namespace app
