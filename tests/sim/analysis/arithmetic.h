// Does the sum that a line of text says: numbers with units, + − × / and brackets. For checking that what is shown adds up.
#pragma once

#include <string_view>

namespace test {

/// Throws std::runtime_error where the line is no arithmetic.
double evaluate(std::string_view line);

} // namespace test
