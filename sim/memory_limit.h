// How much memory one schedule, step or trace may take. Files hold numbers of any size; what is allocated in proportion to them
// is estimated first, and refused with the numbers if it is too much.
#pragma once

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace sim {

inline constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

/// Five times what 16,384 ranks need that are simulated one by one; a laptop has that.
inline constexpr double kMemoryLimitBytes = 8 * kBytesPerGib;

/// As many decimals, so many or more, as show a need to be more than the limit that it is beyond: not 8.0 of 8.0.
inline int decimalsBeyond(double need, double limit, int decimals)
{
    constexpr int kMostDecimals = 9; // one byte of a GiB
    const auto shown = [&decimals](double value) { return std::round(value * std::pow(10.0, decimals)); };
    while (need > limit && decimals < kMostDecimals && shown(need) <= std::max(shown(limit), limit * std::pow(10.0, decimals)))
        ++decimals;
    return decimals;
}

/// "<what> needs 37.3 GiB of memory, the limit is 8.0 GiB; nearest: <nearest>"
[[noreturn]] inline void refuseMemory(const std::string& what, double bytes, double limit, const std::string& nearest)
{
    const int decimals = decimalsBeyond(bytes / kBytesPerGib, limit / kBytesPerGib, 1);
    const auto gib = [decimals](double size) {
        std::array<char, 400> text{}; // the largest double has 309 digits
        std::snprintf(text.data(), text.size(), "%.*f GiB", decimals, size / kBytesPerGib);
        return std::string(text.data());
    };
    throw Error(what + " needs " + gib(bytes) + " of memory, the limit is " + gib(limit) + "; nearest: " + nearest);
}

} // namespace sim
