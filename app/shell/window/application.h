// From the command line to the window, a picture, or an exit code.
#pragma once

#include <QString>

namespace app {

/// A moving slider asks for the same tens of megabytes again and again: from now on they are kept instead of given back each
/// time.
void keepMemory();

/// 0 success, 1 bad input, 2 called wrongly; messages on standard error, help and version on standard output.
int runApplication(int argc, char** argv, const QString& version);

} // namespace app
