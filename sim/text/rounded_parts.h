// Parts of a whole as they are read: rounded ones that still add up to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// Per cent with one decimal and without the sign, "13.2": how shares are rounded wherever they are shown.
std::string tenthsOfPercentText(double share);

/// Each to tenths of a per cent as tenthsOfPercentText rounds it, or to so many decimals of one, and all together to `whole` as
/// that is rounded: what rounding leaves goes to the largest part, of which it is the least.
std::vector<double> roundedParts(std::vector<double> parts, double whole = 1, int decimals = 1);

/// What rounding leaves goes to the part at `rest`, which is told nowhere else: the others read as they do where each is told
/// alone. To the largest where it would take more than `rest` has.
std::vector<double> roundedPartsAndRest(std::vector<double> parts, std::size_t rest, double whole = 1, int decimals = 1);

/// Each to a whole number next to it, and all together to their sum as that is rounded: what rounding leaves goes, one each, to
/// those that rounding has moved furthest the other way. None is more than a whole from what it is, whatever the others are.
std::vector<std::int64_t> wholesThatAddUp(const std::vector<double>& parts);

} // namespace sim
