// What would have been right: the nearest words and numbers, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// "; nearest: \"1f1b\", \"zb-1p\"": up to three words that are close to `word` (edits, or one contains the other); all of them
/// if none is close and there are few. Capitals do not count, nor what stands before a "/"; where `word` has a part with letters
/// and digits that some have, as "h100", only those are close.
std::string nearestWords(std::string_view word, const std::vector<std::string>& words);

/// The largest legal value below and the smallest above `value`, both multiples of `unit` within [low, high], as far as there
/// are. Looks at no more than 65,536 values to each side.
template <typename Legal>
std::vector<std::int64_t> nearestValues(std::int64_t value, std::int64_t low, std::int64_t high, Legal legal,
                                        std::int64_t unit = 1)
{
    constexpr int kReach = 65536;
    std::vector<std::int64_t> found;
    std::int64_t below = (value > high ? high : value - 1) / unit * unit;
    for (int steps = 0; below >= low && steps < kReach; below -= unit, ++steps)
        if (legal(below)) {
            found.push_back(below);
            break;
        }
    std::int64_t above = ((value < low ? low : value + 1) + unit - 1) / unit * unit;
    for (int steps = 0; above <= high && steps < kReach; above += unit, ++steps)
        if (legal(above)) {
            found.push_back(above);
            break;
        }
    return found;
}

/// "4, 8"
std::string numbersText(const std::vector<std::int64_t>& values);
/// "; nearest: 4, 8"; empty for none.
std::string nearestText(const std::vector<std::int64_t>& values);

template <typename Legal>
std::string nearestNumbers(std::int64_t value, std::int64_t low, std::int64_t high, Legal legal, std::int64_t unit = 1)
{
    return nearestText(nearestValues(value, low, high, legal, unit));
}

} // namespace sim
