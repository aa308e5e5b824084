// What has the keyboard keeps it while docks are moved: each of them is hidden for a moment, and Qt gives the keyboard to
// whatever comes next.
#pragma once

#include <QPointer>
#include <QWidget>

namespace app {

/// While it lives docks of the window may come and go. What then is no longer to be seen does not get the keyboard back.
class KeptFocus {
public:
    explicit KeptFocus(QWidget& window);
    ~KeptFocus();
    KeptFocus(const KeptFocus&) = delete;
    KeptFocus& operator=(const KeptFocus&) = delete;

private:
    QWidget& m_window;
    QPointer<QWidget> m_had;
};

} // namespace app
