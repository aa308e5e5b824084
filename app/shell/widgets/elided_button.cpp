#include "app/shell/widgets/elided_button.h"

#include <QEvent>
#include <QStyleOptionToolButton>
#include <QStylePainter>

#include <algorithm>

namespace app {

ElidedButton::ElidedButton(QWidget* parent) : QToolButton(parent)
{
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

QString ElidedButton::shownText() const
{
    const int around = sizeHint().width() - fontMetrics().horizontalAdvance(text());
    return width() >= sizeHint().width() ? text() : fontMetrics().elidedText(text(), Qt::ElideRight, width() - around);
}

QSize ElidedButton::minimumSizeHint() const
{
    constexpr int kLeast = 40;
    const QSize whole = sizeHint();
    return {std::min(whole.width(), kLeast), whole.height()};
}

bool ElidedButton::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip)
        setToolTip(shownText() == text() ? QString() : text());
    return QToolButton::event(event);
}

void ElidedButton::paintEvent(QPaintEvent*)
{
    QStylePainter painter(this);
    QStyleOptionToolButton option;
    initStyleOption(&option);
    option.text = shownText();
    painter.drawComplexControl(QStyle::CC_ToolButton, option);
}

} // namespace app
