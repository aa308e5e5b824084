// A problem of a file in the words of the form.
#pragma once

#include "sim/scenario/document.h"

#include <QString>

namespace app {

/// What is wrong, as the form would say it; of a key that it does not have, as the file has it.
QString saidPlainly(const sim::Problem&);

} // namespace app
