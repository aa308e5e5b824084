#include "app/shell/widgets/status_line.h"

#include <QPainter>
#include <QStyleOption>

#include <algorithm>

namespace app {

StatusLine::StatusLine(QWidget* parent) : QStatusBar(parent)
{
    connect(this, &QStatusBar::messageChanged, this, &StatusLine::fitToolTip);
}

/// Left of what stays beside a message; all else is hidden while there is one.
QRect StatusLine::messageRect() const
{
    constexpr int kLeft = 6, kRight = 12, kBeside = 2;
    int right = width() - kRight;
    for (const QWidget* part : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
        if (part->isVisible())
            right = std::min(right, part->x() - kBeside);
    return {kLeft, 0, std::max(0, right - kLeft), height()};
}

QString StatusLine::shownMessage() const
{
    return fontMetrics().elidedText(currentMessage(), Qt::ElideRight, messageRect().width());
}

void StatusLine::fitToolTip()
{
    const QString whole = currentMessage();
    setToolTip(shownMessage() == whole ? QString() : QStringLiteral("<p>%1</p>").arg(whole.toHtmlEscaped()));
}

void StatusLine::resizeEvent(QResizeEvent* event)
{
    QStatusBar::resizeEvent(event);
    fitToolTip();
}

/// As QStatusBar does, which cuts a message wherever its room ends.
void StatusLine::paintEvent(QPaintEvent* event)
{
    if (currentMessage().isEmpty())
        return QStatusBar::paintEvent(event);
    QPainter painter(this);
    QStyleOption option;
    option.initFrom(this);
    style()->drawPrimitive(QStyle::PE_PanelStatusBar, &option, &painter, this);
    painter.setPen(palette().windowText().color());
    painter.drawText(messageRect(), Qt::AlignLeading | Qt::AlignVCenter | Qt::TextSingleLine, shownMessage());
}

} // namespace app
