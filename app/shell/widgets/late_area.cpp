#include "app/shell/widgets/late_area.h"

#include <utility>

namespace app {

LateArea::LateArea(std::function<QWidget*(QWidget*)> build, QWidget* parent) : QScrollArea(parent), m_build(std::move(build))
{
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
}

void LateArea::place()
{
    if (!isPlaced())
        setWidget(m_build(viewport()));
}

void LateArea::showEvent(QShowEvent* event)
{
    place();
    QScrollArea::showEvent(event);
}

} // namespace app
