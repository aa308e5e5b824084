#include "sim/text/number_text.h"

#include "sim/text/rounded_parts.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

namespace sim {
namespace {

struct Scale {
    double factor;
    const char* name;
};

/// Ascending; a value is said in the largest that leaves at least one before the point.
std::span<const Scale> scalesOf(Unit unit)
{
    static constexpr std::array<Scale, 4> kSeconds{{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}};
    static constexpr std::array<Scale, 6> kBytes{
        {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {1099511627776, "TiB"}, {1125899906842624, "PiB"}}};
    static constexpr std::array<Scale, 6> kFlops{
        {{1, "FLOP"}, {1e9, "GFLOP"}, {1e12, "TFLOP"}, {1e15, "PFLOP"}, {1e18, "EFLOP"}, {1e21, "ZFLOP"}}};
    static constexpr std::array<Scale, 2> kFlopRate{{{1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}}};
    static constexpr std::array<Scale, 1> kFraction{{{0.01, "%"}}};
    static constexpr std::array<Scale, 1> kRate{{{1, "/s"}}};
    static constexpr std::array<Scale, 4> kByteRate{{{1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
    static constexpr std::array<Scale, 1> kPlain{{{1, ""}}};
    const std::array<std::span<const Scale>, 9> scales{kPlain,    kPlain,    kSeconds, kBytes,   kFlops,
                                                       kFlopRate, kFraction, kRate,    kByteRate};
    return scales[static_cast<std::size_t>(unit)];
}

const Scale& scaleOf(double value, Unit unit)
{
    const std::span<const Scale> scales = scalesOf(unit);
    std::size_t place = 0;
    constexpr double kNextFrom = 0.9995; // what would be shown as 1.00 of the next one
    while (place + 1 < scales.size() && std::abs(value) >= kNextFrom * scales[place + 1].factor)
        ++place;
    return scales[place];
}

constexpr int kUsualDigits = 3;

int decimalsFor(double size, Unit unit, int digits)
{
    if (unit == Unit::count || size == 0)
        return 0;
    const int before = static_cast<int>(std::floor(std::log10(size * (1 + 0.5 * std::pow(10.0, -digits))))) + 1;
    constexpr int kMostDecimals = 9;
    int decimals = std::min(std::max(0, digits - before), kMostDecimals);
    // In a formula 989 TFLOP/s is exact, and 989.0 would look measured.
    const auto isExactWith = [size](int places) {
        const double scaled = size * std::pow(10.0, places);
        return std::abs(scaled - std::round(scaled)) < 1e-9 * scaled;
    };
    while (digits > kUsualDigits && decimals > 0 && isExactWith(decimals - 1))
        --decimals;
    return decimals;
}

std::string separated(std::string digits)
{
    const std::size_t sign = digits.front() == '-' ? 1 : 0;
    const std::size_t point = std::min(digits.find('.'), digits.size());
    for (std::size_t place = point; place > sign + 3; place -= 3)
        digits.insert(place - 3, ",");
    return digits;
}

} // namespace

std::string numberText(double value, Unit unit, int digits)
{
    const Scale& scale = scaleOf(value, unit);
    const double scaled = value / scale.factor;
    std::array<char, 64> out{};
    std::snprintf(out.data(), out.size(), "%.*f", decimalsFor(std::abs(scaled), unit, digits), scaled);
    std::string text = separated(out.data());
    if (*scale.name != '\0')
        text += std::string(" ") + scale.name;
    return text;
}

double asShown(double value, Unit unit, int digits)
{
    const Scale& scale = scaleOf(value, unit);
    const double scaled = value / scale.factor;
    const double step = std::pow(10.0, decimalsFor(std::abs(scaled), unit, digits));
    return std::round(scaled * step) / step * scale.factor;
}

std::string percentText(double fraction)
{
    if (fraction < 0.9995)
        return tenthsOfPercentText(fraction) + " %";
    std::array<char, 400> out{};
    std::snprintf(out.data(), out.size(), "%.0f %%", fraction * 100);
    return out.data();
}

std::string chosenPercentText(double fraction)
{
    constexpr int kDigits = kUsualDigits + 1; // with more than the usual ones zeros at the end go
    return numberText(fraction, Unit::fraction, kDigits);
}

std::string gibText(std::int64_t bytes)
{
    return numberText(static_cast<double>(bytes), Unit::bytes);
}

std::string countedText(std::int64_t count, const char* noun)
{
    const std::string_view word = noun;
    const char* const many = word.ends_with("ch") || word.ends_with("s") ? "es" : "s";
    return numberText(static_cast<double>(count), Unit::count) + " " + noun + (count == 1 ? "" : many);
}

} // namespace sim
