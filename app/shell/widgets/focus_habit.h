// Two habits of the toolkit that surprise people, turned off in one place for every window: the wheel changes a control that only
// lies under the pointer while a page is scrolled, and Tab is caught in a table.
#pragma once

#include <QObject>

namespace app {

/// While it lives, the wheel turns spin boxes, boxes of choices and sliders only where they have the keyboard, and scrolls what
/// they lie in otherwise; and Tab leaves tables and lists for what is beside them: the arrow keys go from cell to cell.
class FocusHabit : public QObject {
public:
    explicit FocusHabit(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject*, QEvent*) override;
};

} // namespace app
