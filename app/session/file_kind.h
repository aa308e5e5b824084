// What a file is that somebody opens as a scenario, by its first bytes.
#pragma once

#include <string>
#include <string_view>

namespace app {

/// "a picture (PNG)", "a text, not JSON"; empty where it may be a scenario, if in UTF-16.
std::string otherKind(std::string_view firstBytes);

} // namespace app
