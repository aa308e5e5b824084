#include "app/shell/widgets/wheel_habit.h"

#include "app/canvas/qt/canvas_widget.h"

#include <QCoreApplication>
#include <QWheelEvent>

namespace app {

WheelHabit::WheelHabit(QObject* parent) : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool WheelHabit::eventFilter(QObject* watched, QEvent* event)
{
    if (!m_zooms || m_isPassing || event->type() != QEvent::Wheel || !qobject_cast<CanvasWidget*>(watched))
        return false;
    const auto& wheel = static_cast<const QWheelEvent&>(*event);
    QWheelEvent turned(wheel.position(), wheel.globalPosition(), wheel.pixelDelta(), wheel.angleDelta(), wheel.buttons(),
                       wheel.modifiers() ^ Qt::ControlModifier, wheel.phase(), wheel.inverted(), wheel.source(),
                       wheel.pointingDevice());
    m_isPassing = true;
    QCoreApplication::sendEvent(watched, &turned);
    m_isPassing = false;
    event->setAccepted(turned.isAccepted());
    return true;
}

} // namespace app
