// Two habits of every window: what is drawn has been laid out, and a dialog fits its screen.
#pragma once

#include <QObject>

class QDialog;

namespace app {

/// While it lives: before a window is drawn, the layouts that wait are made, so that nothing is seen in the place of what stood
/// there before; and a dialog that its screen has no room for, at large text or on a small screen, scrolls, with its buttons in
/// sight below.
class LayoutHabit : public QObject {
public:
    explicit LayoutHabit(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void fit(QDialog&);
    void fitSoon(QDialog&);
};

} // namespace app
