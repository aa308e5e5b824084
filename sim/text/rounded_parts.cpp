#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace sim {
namespace {

std::string percentDigits(double share, int decimals)
{
    std::array<char, 400> text{}; // the largest double has 309 digits
    std::snprintf(text.data(), text.size(), "%.*f", decimals, share * 100);
    return text.data();
}

} // namespace

std::string tenthsOfPercentText(double share)
{
    return percentDigits(share, 1);
}

std::vector<double> roundedParts(std::vector<double> parts, double whole, int decimals)
{
    const auto largest = std::max_element(parts.begin(), parts.end());
    return parts.empty() ? parts : roundedPartsAndRest(parts, static_cast<std::size_t>(largest - parts.begin()), whole, decimals);
}

std::vector<double> roundedPartsAndRest(std::vector<double> parts, std::size_t rest, double whole, int decimals)
{
    const double inAPercent = std::pow(10.0, decimals);
    const auto units = [&](double share) {
        return std::round(inAPercent * std::strtod(percentDigits(share, decimals).c_str(), nullptr));
    };
    double left = units(whole);
    for (double& part : parts) {
        part = units(part);
        left -= part;
    }
    (parts[rest] + left < 0 ? *std::max_element(parts.begin(), parts.end()) : parts[rest]) += left;
    for (double& part : parts)
        part /= 100 * inAPercent;
    return parts;
}

std::vector<std::int64_t> wholesThatAddUp(const std::vector<double>& parts)
{
    std::vector<std::int64_t> out;
    for (const double part : parts)
        out.push_back(std::llround(part));
    std::int64_t left =
        std::llround(std::accumulate(parts.begin(), parts.end(), 0.0)) - std::accumulate(out.begin(), out.end(), std::int64_t{0});
    const std::int64_t one = left < 0 ? -1 : 1;
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto missing = [&](std::size_t i) { return static_cast<double>(one) * (parts[i] - std::round(parts[i])); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return missing(a) > missing(b); });
    for (auto i = order.begin(); i != order.end() && left != 0; ++i, left -= one)
        out[*i] += one;
    return out;
}

} // namespace sim
