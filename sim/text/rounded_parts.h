// Parts of a whole as they are read: rounded ones that still add up to it.
#pragma once

#include <vector>

namespace sim {

/// Tenths of a per cent, as percentText tells them.
inline constexpr double kShownShare = 0.001;

/// Each to a whole number of `step`, and all together to `whole` as that is rounded: what rounding leaves goes to the largest
/// part, of which it is the least.
std::vector<double> roundedParts(std::vector<double> parts, double whole = 1, double step = kShownShare);

} // namespace sim
