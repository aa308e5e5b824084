// How long lessons keep a learner waiting: until one is open, from an answer to its verdict, from Next to the next step with its
// pictures.
#pragma once

namespace app {

/// Prints a table, a row a lesson; returns the program's exit code. `only`: those whose file begins so. Needs a QApplication.
int benchLessons(const char* only = "");

} // namespace app
