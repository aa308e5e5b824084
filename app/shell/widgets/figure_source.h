// A picture that can be taken away as a figure: the view as it is on screen, with its zoom and selection.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"

#include <QSize>
#include <QString>

#include <functional>

namespace app {

struct FigureSource {
    QString title, fileName; ///< the latter stands behind the name of what it is of
    View* view = nullptr;
    std::function<void(const Theme&)> setTheme; ///< of the view
    QSize onScreen;
};

} // namespace app
