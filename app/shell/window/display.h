// Whether there is a screen to show a window on.
#pragma once

#include <QString>

namespace app {

/// What is wrong with the display; empty: it can be tried. Qt itself ends the program where an X server of this machine is not
/// there, with advice that does not help.
QString noDisplay();

} // namespace app
