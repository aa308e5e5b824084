#include "app/shell/widgets/groove_slider.h"

#include <QMouseEvent>
#include <QStyle>
#include <QStyleOptionSlider>
#include <QStylePainter>

#include <utility>

namespace app {

void GrooveSlider::moveTo(double x)
{
    QStyleOptionSlider option;
    initStyleOption(&option);
    const QRect groove = style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderGroove, this);
    const QRect handle = style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this);
    const int span = groove.width() - handle.width();
    const int at = qRound(x - m_grabbed) - groove.left() - handle.width() / 2;
    setSliderPosition(QStyle::sliderValueFromPosition(minimum(), maximum(), at, span, option.upsideDown));
}

void GrooveSlider::setKnown(bool isKnown)
{
    if (std::exchange(m_isKnown, isKnown) != isKnown)
        update();
}

void GrooveSlider::paintEvent(QPaintEvent* event)
{
    if (m_isKnown)
        return QSlider::paintEvent(event);
    QStylePainter painter(this);
    QStyleOptionSlider option;
    initStyleOption(&option);
    option.subControls = QStyle::SC_SliderGroove;
    option.activeSubControls = QStyle::SC_None;
    painter.drawComplexControl(QStyle::CC_Slider, option);
}

void GrooveSlider::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) {
        event->ignore();
        return;
    }
    QStyleOptionSlider option;
    initStyleOption(&option);
    const QRect handle = style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this);
    const double x = event->position().x();
    m_grabbed = handle.contains(event->position().toPoint()) ? x - QRectF(handle).center().x() : 0;
    setSliderDown(true);
    moveTo(x);
}

void GrooveSlider::mouseMoveEvent(QMouseEvent* event)
{
    if (isSliderDown())
        moveTo(event->position().x());
}

void GrooveSlider::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        setSliderDown(false);
}

} // namespace app
