// Logarithm, exponential and cosine by additions, multiplications and divisions alone, which IEEE 754 rounds the same on every
// machine; those of libm differ between its versions in the last bit, and then a jittered step is another one. Series after range
// reduction, within two units of the last place.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace sim {

namespace portable {
inline constexpr double kLn2High = 0x1.62e42fefa3800p-1,
                        kLn2Low = 0x1.ef35793c76730p-45; // high: a whole number times it is exact
inline constexpr double kHalfPi = 0x1.921fb54442d18p+0;

struct Split {
    double mantissa; ///< within [sqrt(1/2), sqrt(2))
    int exponent;
};
inline Split split(double x)
{
    Split out{};
    out.mantissa = std::frexp(x, &out.exponent);
    if (out.mantissa < 0x1.6a09e667f3bcdp-1) {
        out.mantissa *= 2;
        --out.exponent;
    }
    return out;
}

/// Of a mantissa: 2 artanh((m - 1) / (m + 1)).
inline double logOfMantissa(double mantissa)
{
    const double s = (mantissa - 1) / (mantissa + 1), square = s * s;
    double sum = 0;
    for (int power = 23; power > 1; power -= 2)
        sum = (sum + 1.0 / power) * square;
    return 2 * s + 2 * s * sum;
}
} // namespace portable

/// Natural logarithm of what is not negative.
inline double portableLog(double x)
{
    if (x == 0 || !std::isfinite(x))
        return x == 0 ? -std::numeric_limits<double>::infinity() : x;
    const auto [mantissa, exponent] = portable::split(x);
    return exponent * portable::kLn2High + (exponent * portable::kLn2Low + portable::logOfMantissa(mantissa));
}

/// Of a positive, finite number. Exact for powers of two.
inline double portableLog2(double x)
{
    const auto [mantissa, exponent] = portable::split(x);
    return exponent + portable::logOfMantissa(mantissa) / (portable::kLn2High + portable::kLn2Low);
}

inline double portableExp(double x)
{
    constexpr double kMost = 709.78, kLeast = -745.2; // beyond which doubles end
    if (!(x < kMost && x > kLeast))
        return x >= kMost ? std::numeric_limits<double>::infinity() : x <= kLeast ? 0 : x;
    const double turns = std::floor(x / portable::kLn2High + 0.5);
    const double rest = (x - turns * portable::kLn2High) - turns * portable::kLn2Low;
    double sum = 0;
    for (int power = 16; power > 0; --power)
        sum = (sum + 1) * rest / power;
    return std::ldexp(1 + sum, static_cast<int>(turns));
}

/// Cosine of a part of a turn: of 0.25 it is 0, of 0.5 it is -1.
inline double portableCosOfTurn(double turn)
{
    const double quarters = (turn - std::floor(turn)) * 4, nearest = std::floor(quarters + 0.5);
    const double angle = (quarters - nearest) * portable::kHalfPi, square = angle * angle;
    double cosine = 0, sine = 0;
    for (int power = 18; power > 0; power -= 2) {
        cosine = (cosine + 1) * -square / (power * (power - 1));
        sine = (sine + 1) * -square / (power * (power + 1));
    }
    const std::array<double, 4> ofQuarter = {1 + cosine, -(angle + angle * sine), -(1 + cosine), angle + angle * sine};
    return ofQuarter[static_cast<std::size_t>(nearest) % ofQuarter.size()];
}

} // namespace sim
