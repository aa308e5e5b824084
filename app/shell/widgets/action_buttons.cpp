#include "app/shell/widgets/action_buttons.h"

#include "app/shell/widgets/style.h"

#include <QAction>
#include <QLayout>
#include <QToolButton>

namespace app {

void addActionButtons(QLayout& layout, const QList<QAction*>& actions)
{
    for (QAction* action : actions) {
        auto* button = new QToolButton;
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        setRole(button, "button");
        layout.addWidget(button);
    }
}

} // namespace app
