// Four habits of the toolkit that surprise people, turned off in one place for every window: the wheel changes a control that
// lies under the pointer while a page is scrolled, Tab is caught in a table, a field in which nothing was written keeps
// Undo, and Return does nothing on a button.
#pragma once

#include <QObject>

namespace app {

/// While it lives, the wheel scrolls the page that spin boxes, boxes of choices and sliders lie in, and never turns them, though
/// one has the keyboard; beside no page it turns the one that has it. And Tab leaves tables and lists for what is beside them:
/// the arrow keys go from cell to cell. And Undo and Redo are the window's where a field, be it
/// a spin box's or that of a box of choices, has nothing to undo or redo. And Return presses a button that has the keyboard.
class FocusHabit : public QObject {
public:
    explicit FocusHabit(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject*, QEvent*) override;
};

} // namespace app
