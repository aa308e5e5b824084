#include "app/shell/widgets/focus_habit.h"

#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QToolButton>

namespace app {
namespace {

bool isTurnedByWheel(const QWidget& widget)
{
    return qobject_cast<const QAbstractSpinBox*>(&widget) || qobject_cast<const QComboBox*>(&widget) ||
           (qobject_cast<const QAbstractSlider*>(&widget) && !qobject_cast<const QScrollBar*>(&widget));
}

bool liesInAPage(const QWidget& widget)
{
    for (const QWidget* in = widget.parentWidget(); in != nullptr; in = in->parentWidget())
        if (qobject_cast<const QAbstractScrollArea*>(in) != nullptr)
            return true;
        else if (in->isWindow())
            break;
    return false;
}

/// What a field writes in: itself, the line of a spin box or of a box of choices; nullptr: nothing is written there.
const QLineEdit* lineOf(const QObject& watched)
{
    if (const auto* box = qobject_cast<const QComboBox*>(&watched))
        return box->lineEdit();
    if (const auto* spin = qobject_cast<const QAbstractSpinBox*>(&watched))
        return spin->findChild<QLineEdit*>(QString(), Qt::FindDirectChildrenOnly);
    return qobject_cast<const QLineEdit*>(&watched);
}

/// Return on a button that has the keyboard, as Space: Qt leaves it to dialogs, whose buttons take it themselves.
bool pressesButton(QObject& watched, const QKeyEvent& key)
{
    if ((key.key() != Qt::Key_Return && key.key() != Qt::Key_Enter) || (key.modifiers() & ~Qt::KeypadModifier) != 0)
        return false;
    if (auto* tool = qobject_cast<QToolButton*>(&watched); tool != nullptr && tool->isEnabled()) {
        if (tool->menu() != nullptr && tool->popupMode() == QToolButton::InstantPopup)
            tool->showMenu();
        else
            tool->click();
        return true;
    }
    auto* button = qobject_cast<QPushButton*>(&watched);
    if (button == nullptr || !button->isEnabled() || button->autoDefault() || button->isDefault())
        return false;
    button->click();
    return true;
}

} // namespace

FocusHabit::FocusHabit(QObject* parent) : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool FocusHabit::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::ShortcutOverride) {
        const QLineEdit* edit = lineOf(*watched);
        const auto& key = static_cast<const QKeyEvent&>(*event);
        const bool isNothingToUndo = edit != nullptr && ((key.matches(QKeySequence::Undo) && !edit->isUndoAvailable()) ||
                                                         (key.matches(QKeySequence::Redo) && !edit->isRedoAvailable()));
        if (isNothingToUndo)
            event->ignore(); // so that it is a shortcut of the window
        return isNothingToUndo;
    }
    if (event->type() == QEvent::KeyPress)
        return pressesButton(*watched, static_cast<const QKeyEvent&>(*event));
    if (!watched->isWidgetType() || (event->type() != QEvent::Polish && event->type() != QEvent::Wheel))
        return false;
    auto& widget = static_cast<QWidget&>(*watched);
    if (event->type() == QEvent::Polish) {
        if (auto* view = qobject_cast<QAbstractItemView*>(&widget))
            view->setTabKeyNavigation(false);
        if (isTurnedByWheel(widget) && widget.focusPolicy() == Qt::WheelFocus)
            widget.setFocusPolicy(Qt::StrongFocus); // or the wheel would give it the keyboard first
        return false;
    }
    if (!isTurnedByWheel(widget) || (widget.hasFocus() && !liesInAPage(widget)))
        return false;
    event->ignore(); // so that what it lies in gets it
    return true;
}

} // namespace app
