// Which of several scripts runs which, without reading them.
#pragma once

#include <string_view>

namespace sim::frameworks {

/// Whether a script has a command "source …/NAME", "bash …/NAME" or "…/NAME" of a file.
bool isRunBy(std::string_view script, std::string_view file);

} // namespace sim::frameworks
