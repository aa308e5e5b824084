// While many widgets come and go at once, nothing is laid out; once afterwards is enough.
#pragma once

#include <QPointer>
#include <QWidget>

#include <vector>

class QLayout;

namespace app {

/// Holds the layout of the widget and of all in it that were not held already. Requests meanwhile are answered afterwards.
class HeldLayouts {
public:
    explicit HeldLayouts(QWidget& root);
    ~HeldLayouts();
    HeldLayouts(const HeldLayouts&) = delete;
    HeldLayouts& operator=(const HeldLayouts&) = delete;

private:
    std::vector<QPointer<QLayout>> m_held;
};

} // namespace app
