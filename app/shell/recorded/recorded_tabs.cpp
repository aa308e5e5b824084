#include "app/shell/recorded/recorded_tabs.h"

#include "app/shell/widgets/style.h"

#include <QComboBox>
#include <QEvent>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

namespace app {

RecordedTabs::RecordedTabs(const QString& accessibleName, QWidget* parent)
    : QWidget(parent), m_bar(new QTabBar), m_list(new QComboBox), m_pages(new QStackedWidget)
{
    setRole(m_bar, "narrow");
    m_bar->setExpanding(false);
    m_bar->setDocumentMode(true);
    m_bar->setUsesScrollButtons(true); // else its least width is that of all tabs
    m_bar->setElideMode(Qt::ElideNone);
    m_bar->setDrawBase(false);
    m_list->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (QWidget* chooser : std::initializer_list<QWidget*>{m_bar, m_list})
        chooser->setAccessibleName(accessibleName);
    m_list->hide();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_bar);
    column->addWidget(m_list);
    column->addWidget(m_pages, 1);
    const auto choose = [this](int page) {
        const QSignalBlocker bar(m_bar), list(m_list);
        m_bar->setCurrentIndex(page);
        m_list->setCurrentIndex(page);
        m_pages->setCurrentIndex(page);
        Q_EMIT currentChanged(page);
    };
    connect(m_bar, &QTabBar::currentChanged, this, choose);
    connect(m_list, &QComboBox::currentIndexChanged, this, choose);
}

void RecordedTabs::add(const QString& name, QWidget* page)
{
    m_pages->addWidget(page);
    const QSignalBlocker list(m_list);
    m_list->addItem(name);
    m_bar->addTab(name);
}

int RecordedTabs::current() const
{
    return m_pages->currentIndex();
}

void RecordedTabs::setCurrent(int page)
{
    m_bar->setCurrentIndex(page);
}

bool RecordedTabs::isList() const
{
    return !m_list->isHidden();
}

void RecordedTabs::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fit();
}

void RecordedTabs::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        fit();
}

void RecordedTabs::fit()
{
    int width = 0;
    for (int tab = 0; tab < m_bar->count(); ++tab)
        width += m_bar->tabRect(tab).width();
    const bool fits = width <= this->width();
    const bool hadFocus = m_bar->hasFocus() || m_list->hasFocus();
    m_bar->setVisible(fits);
    m_list->setVisible(!fits);
    if (hadFocus)
        (fits ? static_cast<QWidget*>(m_bar) : m_list)->setFocus();
}

} // namespace app
