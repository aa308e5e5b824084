#include "app/shell/window/guarded_application.h"

#include "app/session/failure.h"

namespace app {

bool GuardedApplication::notify(QObject* receiver, QEvent* event)
{
    try {
        return QApplication::notify(receiver, event);
    } catch (...) {
        // Told later: whoever is told may stand in the middle of what was thrown out of.
        const QString why = QString::fromStdString(failureText());
        QMetaObject::invokeMethod(
            this, [this, why] { Q_EMIT failed(why); }, Qt::QueuedConnection);
        return true;
    }
}

} // namespace app
