// What process groups are called where people read them, by the layout that they are of.
#pragma once

#include "sim/scenario/scenario.h"

#include <string>
#include <string_view>

namespace sim {

/// As spokenGroup(name), without axes of size 1: "dp_cp" is "dp" where cp is 1.
std::string spokenGroup(std::string_view name, const Layout&);

} // namespace sim
