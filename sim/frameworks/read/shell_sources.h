// Which of several scripts sources which, without reading them.
#pragma once

#include <string_view>

namespace sim::frameworks {

/// Whether a script has a command "source …/NAME" of a file.
bool isSourcedBy(std::string_view script, std::string_view file);

} // namespace sim::frameworks
