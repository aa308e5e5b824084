#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sim {
namespace {

constexpr double kTenths = 1000; ///< of a per cent, in a whole

double tenthsOf(double share)
{
    return std::round(10 * std::strtod(tenthsOfPercentText(share).c_str(), nullptr));
}

} // namespace

std::string tenthsOfPercentText(double share)
{
    std::array<char, 400> text{}; // the largest double has 309 digits
    std::snprintf(text.data(), text.size(), "%.1f", share * 100);
    return text.data();
}

std::vector<double> roundedParts(std::vector<double> parts, double whole)
{
    const auto largest = std::max_element(parts.begin(), parts.end());
    return parts.empty() ? parts : roundedPartsAndRest(parts, static_cast<std::size_t>(largest - parts.begin()), whole);
}

std::vector<double> roundedPartsAndRest(std::vector<double> parts, std::size_t rest, double whole)
{
    double left = tenthsOf(whole);
    for (double& part : parts) {
        part = tenthsOf(part);
        left -= part;
    }
    (parts[rest] + left < 0 ? *std::max_element(parts.begin(), parts.end()) : parts[rest]) += left;
    for (double& part : parts)
        part /= kTenths;
    return parts;
}

} // namespace sim
