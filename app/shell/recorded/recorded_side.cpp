#include "app/shell/recorded/recorded_side.h"

#include "app/shell/recorded/recorded_tabs.h"
#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/style.h"

#include <QEvent>
#include <QLabel>
#include <QScrollArea>

#include <algorithm>

namespace app {

RecordedSide::RecordedSide(RecordedTabs& tabs, QWidget* parent)
    : QFrame(parent), m_tabs(tabs), m_why(wordsLabel("muted12")), m_below(new QScrollArea(this))
{
    setRole(this, "panel");
    m_tabs.setParent(this);
    m_why->setContentsMargins(12, 6, 12, 8);
    m_below->setWidget(m_why);
    m_below->setWidgetResizable(true);
    m_below->setFrameShape(QFrame::NoFrame);
    m_below->setFocusPolicy(Qt::NoFocus);
    m_below->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_below->setAccessibleName(QObject::tr("Why the rank waits"));
    m_below->hide();
}

void RecordedSide::tell(const QString& why)
{
    m_why->setText(why);
    m_below->setVisible(!why.isEmpty());
    place();
}

QSize RecordedSide::sizeHint() const
{
    return m_tabs.sizeHint();
}

QSize RecordedSide::minimumSizeHint() const
{
    return m_tabs.minimumSizeHint();
}

bool RecordedSide::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) {
        updateGeometry();
        place();
    }
    return QFrame::event(event);
}

void RecordedSide::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    place();
}

/// All the words, while the tabs keep the name of the page and a line or two of it.
void RecordedSide::place()
{
    constexpr int kLeastTabs = 76;
    const int wanted = m_below->isHidden() ? 0 : m_why->heightForWidth(width());
    const int below = std::clamp(height() - kLeastTabs, 0, wanted);
    m_tabs.setGeometry(0, 0, width(), height() - below);
    m_below->setGeometry(0, height() - below, width(), below);
}

} // namespace app
