#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <cmath>

namespace sim {

std::vector<double> roundedParts(std::vector<double> parts, double whole, double step)
{
    if (parts.empty())
        return parts;
    double left = std::round(whole / step);
    for (double& part : parts) {
        part = std::round(part / step);
        left -= part;
    }
    *std::max_element(parts.begin(), parts.end()) += left;
    for (double& part : parts)
        part *= step;
    return parts;
}

} // namespace sim
