// A number as people type it: with a point or a comma, whatever the machine's language is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sim {

struct TypedNumber {
    std::optional<double> value;
    std::string problem; ///< why it is none; empty where it is one
};
/// "6.2", "6,2", "1,234.5", "1.234,5", "1 234", "1,234,567", "3/8". What may be read in two ways ("1,234") is refused, and so is
/// what is no number.
TypedNumber readTypedNumber(std::string_view text);
/// The same where per cent are asked for: 37.5 of "37.5", "37.5 %" and "3/8". A fraction is a share of one unless it says "%".
TypedNumber readTypedPercent(std::string_view text);

} // namespace sim
