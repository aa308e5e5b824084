#include "app/shell/recorded/recorded_words.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QLabel>
#include <QLayout>

#include <cmath>

namespace app {

QLabel* wordsLabel(const char* role, const QString& text)
{
    auto* label = new QLabel(text);
    setRole(label, role);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void emptyLayout(QLayout& layout)
{
    while (QLayoutItem* item = layout.takeAt(0)) {
        delete item->widget();
        delete item;
    }
}

QString signedPercentText(double fraction)
{
    return (fraction >= 0 ? QStringLiteral("+") : QStringLiteral("−")) + percentQuantity(std::abs(fraction)).text();
}

} // namespace app
