// Text that is scrolled by whole lines.
#pragma once

#include <QEvent>
#include <QScrollArea>
#include <QScrollBar>

namespace app {

/// Its widget stands at a whole line wherever the scroll bar is: by the wheel, by keys, or dragged. The bar itself goes on
/// smoothly, so that small movements of a touchpad add up.
class LinesArea : public QScrollArea {
public:
    using QScrollArea::QScrollArea;
    void setLine(int height)
    {
        m_line = height;
        verticalScrollBar()->setSingleStep(height);
        toWholeLine();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched == widget() && event->type() == QEvent::Move)
            toWholeLine();
        return QScrollArea::eventFilter(watched, event);
    }

private:
    /// The nearest; at the end whatever shows the last one whole.
    void toWholeLine()
    {
        if (widget() == nullptr)
            return;
        const int value = verticalScrollBar()->value(), half = value == verticalScrollBar()->maximum() ? m_line - 1 : m_line / 2;
        if (const QPoint place(widget()->x(), -((value + half) / m_line * m_line)); widget()->pos() != place)
            widget()->move(place);
    }

    int m_line = 1;
};

} // namespace app
