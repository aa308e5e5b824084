// The two ways to write a key of a scenario: as the file's pointer and as --set takes it. Either becomes either.
#pragma once

#include <string>

namespace sim {

/// "layout.tp"
std::string dotted(std::string pointer);
/// "/layout/tp"
std::string slashed(std::string pointer);

} // namespace sim
