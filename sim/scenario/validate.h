// The rules between the values of a scenario: what frameworks refuse (error) and what is legal but unwise (warning).
#pragma once

#include "sim/scenario/resolve.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Rules on values that are broken already are not looked at. Adds to `problems` in the order of the file's blocks.
void validate(const Resolution&, const std::string& file, std::vector<Problem>& problems);

} // namespace sim
