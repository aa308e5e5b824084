// Finds texts that do not fit their widgets.
#pragma once

#include "app/shell/widgets/scenario_header.h"

#include <QLabel>
#include <QStringList>
#include <QWidget>

namespace app::test {

/// Labels that show less than their text. Elided ones are not labels of their own size.
inline QStringList cutLabels(const QWidget& root)
{
    QStringList cut;
    for (const QLabel* label : root.findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty() || dynamic_cast<ElidedLabel*>(label->parentWidget()) ||
            label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored)
            continue;
        const bool tooNarrow = !label->wordWrap() && label->width() < label->sizeHint().width();
        const bool tooLow =
            label->height() < (label->wordWrap() ? label->heightForWidth(label->width()) : label->sizeHint().height());
        if (tooNarrow || tooLow)
            cut << QStringLiteral("%1 (%2x%3)").arg(label->text()).arg(label->width()).arg(label->height());
    }
    return cut;
}

} // namespace app::test
