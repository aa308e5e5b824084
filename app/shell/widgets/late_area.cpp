#include "app/shell/widgets/late_area.h"

#include <QEvent>

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

void LateArea::setFoot(QWidget* foot)
{
    m_foot = foot;
    foot->setParent(this);
    foot->installEventFilter(this);
    placeFoot();
}

void LateArea::placeFoot()
{
    const int high = m_foot && !m_foot->isHidden() ? m_foot->sizeHint().height() : 0;
    setViewportMargins(0, 0, 0, high);
    if (m_foot)
        m_foot->setGeometry(0, height() - high, width(), high);
}

void LateArea::resizeEvent(QResizeEvent* event)
{
    QScrollArea::resizeEvent(event);
    placeFoot();
}

bool LateArea::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_foot && (event->type() == QEvent::ShowToParent || event->type() == QEvent::HideToParent ||
                              event->type() == QEvent::LayoutRequest))
        placeFoot();
    return QScrollArea::eventFilter(watched, event);
}

void LateArea::showEvent(QShowEvent* event)
{
    place();
    QScrollArea::showEvent(event);
}

} // namespace app
