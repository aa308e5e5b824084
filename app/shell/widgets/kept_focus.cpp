#include "app/shell/widgets/kept_focus.h"

#include <QTimer>

namespace app {

KeptFocus::KeptFocus(QWidget& window) : m_window(window), m_had(window.focusWidget()) {}

KeptFocus::~KeptFocus()
{
    if (!m_had || m_window.focusWidget() == m_had)
        return;
    if (m_had->isVisible())
        return m_had->setFocus(Qt::OtherFocusReason);
    QTimer::singleShot(0, m_had.data(), [had = m_had.data()] { // a tab comes forward when it has been laid out
        if (had->isVisible())
            had->setFocus(Qt::OtherFocusReason);
    });
}

} // namespace app
