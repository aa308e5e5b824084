#include "app/shell/widgets/late_dock.h"

#include <QLayout>

#include <utility>

namespace app {

LateDock::LateDock(const QString& title, const char* name, std::function<QWidget*()> build, QWidget* parent)
    : QDockWidget(title, parent), m_build(std::move(build))
{
    setObjectName(QLatin1String(name));
    hide();
}

void LateDock::place()
{
    if (widget() == nullptr)
        setContents(*this, *m_build());
}

void LateDock::setVisible(bool visible)
{
    if (visible)
        place();
    QDockWidget::setVisible(visible);
}

void setContents(QDockWidget& dock, QWidget& contents)
{
    contents.layout()->setEnabled(false);
    dock.setWidget(&contents);
    contents.layout()->setEnabled(true);
}

} // namespace app
