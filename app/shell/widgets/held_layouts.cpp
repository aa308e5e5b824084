#include "app/shell/widgets/held_layouts.h"

#include <QLayout>

namespace app {

HeldLayouts::HeldLayouts(QWidget& root)
{
    const auto hold = [this](const QWidget& widget) {
        QLayout* layout = widget.layout();
        if (layout == nullptr || !layout->isEnabled())
            return;
        layout->setEnabled(false);
        m_held.emplace_back(layout);
    };
    hold(root);
    for (const QWidget* widget : root.findChildren<QWidget*>())
        hold(*widget);
}

HeldLayouts::~HeldLayouts()
{
    for (const auto& layout : m_held)
        if (layout)
            layout->setEnabled(true);
}

} // namespace app
