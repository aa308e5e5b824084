#include "app/shell/window/order_editor_panel.h"

#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

namespace app {

OrderEditorPanel::OrderEditorPanel(Renderer renderer, QWidget* parent)
    : QWidget(parent), m_view(lightTheme()), m_canvas(new CanvasWidget(m_view, renderer)),
      m_save(new QPushButton(tr("Save as Custom"))), m_takeBack(new QPushButton(tr("Take Back"))),
      m_cancel(new QPushButton(tr("Cancel")))
{
    m_view.setAskBecause([this](const Becauses& of, Rect at) { openBecause(*m_canvas, of, at); });
    m_canvas->setFocusPolicy(Qt::StrongFocus);
    m_canvas->setAccessibleName(tr("Order of actions"));
    m_canvas->setObjectName(QStringLiteral("orderCanvas"));
    setRole(m_save, "primary");
    m_save->setToolTip(tr("Make this order the scenario's schedule; one step of the history"));
    m_takeBack->setToolTip(tr("Undo the last move"));
    m_save->setAccessibleName(tr("Save as Custom"));
    connect(m_save, &QPushButton::clicked, this, &OrderEditorPanel::saved);
    connect(m_takeBack, &QPushButton::clicked, this, &OrderEditorPanel::takeBack);
    connect(m_cancel, &QPushButton::clicked, this, &OrderEditorPanel::cancelled);
    connect(m_canvas, &CanvasWidget::viewChanged, this, &OrderEditorPanel::refresh);

    auto* title = new ElidedLabel("heading"); // gives way to the buttons
    title->setText(tr("Edit Order"));
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(12, 6, 12, 2);
    bar->setSpacing(8);
    bar->addWidget(title, 1);
    for (QPushButton* button : {m_takeBack, m_cancel, m_save})
        bar->addWidget(button);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(bar);
    column->addWidget(m_canvas, 1);
    constexpr int kNarrowest = 160;
    m_title = title;
    setMinimumWidth(kNarrowest); // its bar folds: what it holds would make the window wider, or be cut at its edge
}

/// In a narrow panel without its title, then with a shorter word: the picture and the tip say the rest.
void OrderEditorPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    constexpr int kAround = 24, kSpaces = 16, kReadableTitle = 90;
    const auto needed = [this] {
        return kAround + kSpaces + m_takeBack->sizeHint().width() + m_cancel->sizeHint().width() + m_save->sizeHint().width();
    };
    m_save->setText(tr("Save as Custom"));
    m_title->setVisible(needed() + kReadableTitle <= width());
    if (needed() > width())
        m_save->setText(tr("Save"));
}

OrderEditorPanel::~OrderEditorPanel()
{
    delete m_canvas; // before the view that it shows
}

void OrderEditorPanel::start(OrderDraft draft)
{
    if (hasMoves() && this->draft()->original() == draft.original())
        m_view.goOn(std::move(draft));
    else
        m_view.setDraft(std::move(draft));
    m_canvas->requestFrame();
    refresh();
}

void OrderEditorPanel::takeBack()
{
    m_view.takeBack();
    m_canvas->requestFrame();
    refresh();
}

void OrderEditorPanel::giveUp()
{
    m_view.setDraft({});
}

void OrderEditorPanel::setTheme(const Theme& theme)
{
    m_view.setTheme(theme);
    m_canvas->requestFrame();
}

void OrderEditorPanel::refresh()
{
    if (m_view.canTakeBack() != m_takeBack->isEnabled()) {
        m_takeBack->setEnabled(m_view.canTakeBack());
        Q_EMIT moved();
    }
    m_save->setEnabled(draft() && draft()->isChanged() && draft()->canRun());
}

} // namespace app
