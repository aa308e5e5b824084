#include "app/shell/window/guarded_application.h"

#include "app/session/failure.h"
#include "app/shell/widgets/text_habit.h"

#include <clocale>

namespace app {

GuardedApplication::GuardedApplication(int& argc, char** argv) : QApplication(argc, argv)
{
    std::setlocale(LC_NUMERIC, "C"); // Qt takes the user's: std::to_string and printf would write 41,4 into scenario files
    new TextHabit(this);
}

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
