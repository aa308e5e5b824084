// The Live view of a real training: how long from a click to its first step, what one picture costs, that a paused run costs
// nothing.
#pragma once

namespace app {

/// Prints a table; returns the program's exit code. Needs rankscope-live beside this program and a QApplication.
int benchLive();

} // namespace app
