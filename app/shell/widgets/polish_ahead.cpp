#include "app/shell/widgets/polish_ahead.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>
#include <QWidget>

#include <utility>
#include <vector>

namespace app {

void polishAhead(QWidget& root)
{
    // Parents come before their children, and polishing one polishes all in it: from the end each is a step of its own.
    std::vector<QPointer<QWidget>> waiting{&root};
    for (QWidget* widget : root.findChildren<QWidget*>())
        waiting.emplace_back(widget);
    auto* timer = new QTimer(&root);
    QObject::connect(timer, &QTimer::timeout, timer, [timer, waiting = std::move(waiting)]() mutable {
        constexpr qint64 kSliceMs = 4;
        QElapsedTimer slice;
        slice.start();
        while (!waiting.empty() && slice.elapsed() < kSliceMs) {
            if (QWidget* widget = waiting.back())
                widget->ensurePolished();
            waiting.pop_back();
        }
        if (waiting.empty())
            timer->deleteLater();
    });
    timer->start(0);
}

} // namespace app
