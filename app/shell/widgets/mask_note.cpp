#include "app/shell/widgets/mask_note.h"

#include "app/shell/widgets/style.h"

#include <QEvent>

namespace app {

MaskNote::MaskNote(QWidget* over) : QLabel(over)
{
    constexpr int kMargin = 14;
    setRole(this, "cover"); // labels let what is behind them through
    setWordWrap(true);
    setTextFormat(Qt::PlainText);
    setAlignment(Qt::AlignTop | Qt::AlignLeft);
    setMargin(kMargin);
    setGeometry(over->rect());
    over->installEventFilter(this);
    hide();
}

bool MaskNote::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize)
        setGeometry(parentWidget()->rect());
    return QLabel::eventFilter(watched, event);
}

} // namespace app
