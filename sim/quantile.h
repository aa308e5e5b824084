// Where a part of sorted values lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace sim {

/// Between neighbours where it falls between them; 0 is the first, 1 the last. Of one value or more.
inline double quantileOf(std::span<const double> sorted, double part)
{
    const double place = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

} // namespace sim
