#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <cmath>

namespace sim {

std::vector<double> roundedParts(std::vector<double> parts, double whole, double step)
{
    const auto largest = std::max_element(parts.begin(), parts.end());
    return parts.empty() ? parts : roundedPartsAndRest(parts, static_cast<std::size_t>(largest - parts.begin()), whole, step);
}

std::vector<double> roundedPartsAndRest(std::vector<double> parts, std::size_t rest, double whole, double step)
{
    const auto rounded = [step](double value) { return std::nearbyint(value / step); }; // halves as printf has them
    double left = rounded(whole);
    for (double& part : parts) {
        part = rounded(part);
        left -= part;
    }
    (parts[rest] + left < 0 ? *std::max_element(parts.begin(), parts.end()) : parts[rest]) += left;
    for (double& part : parts)
        part *= step;
    return parts;
}

} // namespace sim
