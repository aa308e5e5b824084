#include "app/shell/widgets/late_area.h"

namespace app {

LateArea::LateArea(QWidget* page, QWidget* parent) : QScrollArea(parent), m_page(page), m_unseen(page)
{
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
}

void LateArea::place()
{
    if (m_unseen)
        setWidget(m_unseen.release());
}

void LateArea::showEvent(QShowEvent* event)
{
    place();
    QScrollArea::showEvent(event);
}

} // namespace app
