// Parts of a whole as they are read: rounded ones that still add up to it.
#pragma once

#include <cstddef>
#include <vector>

namespace sim {

/// Tenths of a per cent, as percentText tells them.
inline constexpr double kShownShare = 0.001;

/// Each to a whole number of `step`, and all together to `whole` as that is rounded: what rounding leaves goes to the largest
/// part, of which it is the least.
std::vector<double> roundedParts(std::vector<double> parts, double whole = 1, double step = kShownShare);

/// What rounding leaves goes to the part at `rest`, which is told nowhere else: the others read as they do where each is told
/// alone. To the largest where it would take more than `rest` has.
std::vector<double> roundedPartsAndRest(std::vector<double> parts, std::size_t rest, double whole = 1, double step = kShownShare);

} // namespace sim
