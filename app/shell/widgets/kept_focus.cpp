#include "app/shell/widgets/kept_focus.h"

#include <QTimer>

namespace app {

KeptFocus::KeptFocus(QWidget& window) : m_window(window), m_had(window.focusWidget()) {}

KeptFocus::~KeptFocus()
{
    if (!m_had || m_window.focusWidget() == m_had)
        return;
    const auto giveBack = [had = m_had.data()] {
        if (had->isVisible())
            had->setFocus(Qt::OtherFocusReason);
    };
    giveBack();
    if (!m_had->isVisible())
        QTimer::singleShot(0, m_had.data(), giveBack); // a tab comes forward when it has been laid out
}

} // namespace app
