// What the dialogs that open files show: everything that the program reads there.
#pragma once

#include <QString>

namespace app {

QString scenarioFilter();
QString recordedFilter();
QString settingsFilter(); ///< of other frameworks
QString openFilter();     ///< all of them together, and each by itself

} // namespace app
