#include "app/shell/widgets/run_header.h"

#include "app/shell/widgets/action_buttons.h"
#include "app/shell/widgets/style.h"

#include <QAction>
#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QMenu>
#include <QToolButton>
#include <QVBoxLayout>

namespace app {

RunHeader::RunHeader(QWidget* name, QWidget* headline, const QList<QWidget*>& choices, QWidget* parent)
    : QFrame(parent), m_words(new QWidget), m_choices(new QWidget), m_buttons(new QWidget),
      m_buttonRow(new QHBoxLayout(m_buttons)), m_more(new QToolButton), m_grid(new QGridLayout(this))
{
    setRole(this, "header");
    auto* words = new QVBoxLayout(m_words);
    words->setContentsMargins(0, 0, 0, 0);
    words->setSpacing(2);
    words->addWidget(name);
    words->addWidget(headline);
    auto* row = new QHBoxLayout(m_choices);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    for (QWidget* choice : choices)
        row->addWidget(choice);
    m_buttonRow->setContentsMargins(0, 0, 0, 0);
    m_buttonRow->setSpacing(4);
    m_more->setText(tr("More"));
    m_more->setPopupMode(QToolButton::InstantPopup);
    m_more->setMenu(new QMenu(m_more));
    setRole(m_more, "button");
    m_grid->setHorizontalSpacing(8);
    m_grid->setVerticalSpacing(4);
    m_grid->setColumnStretch(0, 1);
    arrange(false);
}

void RunHeader::setActions(const QList<QAction*>& actions)
{
    addActionButtons(*m_buttonRow, actions);
    m_more->menu()->addActions(actions);
    fit();
}

void RunHeader::arrange(bool narrow)
{
    m_isNarrow = narrow;
    for (QWidget* part : {m_words, m_choices, m_buttons, static_cast<QWidget*>(m_more)})
        m_grid->removeWidget(part);
    m_grid->setContentsMargins(16, narrow ? 4 : 8, 12, narrow ? 4 : 8);
    m_grid->addWidget(m_words, 0, 0, 1, narrow ? 2 : 1);
    m_grid->addWidget(m_choices, narrow ? 1 : 0, narrow ? 0 : 1, narrow ? Qt::AlignLeft | Qt::AlignVCenter : Qt::Alignment());
    m_grid->addWidget(narrow ? static_cast<QWidget*>(m_more) : m_buttons, narrow ? 1 : 0, narrow ? 1 : 2);
    m_buttons->setVisible(!narrow);
    m_more->setVisible(narrow);
}

void RunHeader::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fit();
}

/// What is to be chosen comes and goes, and text grows.
bool RunHeader::event(QEvent* event)
{
    const bool taken = QFrame::event(event);
    if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        fit();
    return taken;
}

/// In one line where the words have room for a name and some of the headline beside the rest.
void RunHeader::fit()
{
    constexpr int kRoomForWords = 200, kMargins = 44;
    const int rest = m_choices->sizeHint().width() + m_buttons->sizeHint().width();
    if (const bool narrow = width() < rest + kRoomForWords + kMargins; narrow != m_isNarrow)
        arrange(narrow);
}

} // namespace app
