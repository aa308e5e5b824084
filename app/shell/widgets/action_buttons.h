// Commands as buttons of a page's header.
#pragma once

#include <QList>

class QAction;
class QLayout;

namespace app {

/// A button with the action's text for each, at the end of the layout.
void addActionButtons(QLayout&, const QList<QAction*>&);

} // namespace app
