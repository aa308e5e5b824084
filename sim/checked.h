// Whole numbers that throw where others would wrap. Bytes, parameters and nanoseconds are std::int64_t; the sums and products on
// the way there are made with Checked, and seconds become nanoseconds in durationNs alone. What a whole step may add up to is
// looked at once, before it runs (sim/engine/range.h), so that its inner loops need no checks.
#pragma once

#include "sim/error.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

namespace sim {

/// A number left the range in which it is counted.
class OutOfRange : public Error {
public:
    using Error::Error;
};

/// Sums over ranks: 2^63 ns is a step of an hour on a million of them.
__extension__ using Wide = __int128;

/// "1.2e+25".
inline std::string roughly(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throwOutOfRange(std::int64_t a, const char* sign, std::int64_t b)
{
    throw OutOfRange(std::to_string(a) + sign + std::to_string(b) + " is more than " +
                     std::to_string(std::numeric_limits<std::int64_t>::max()));
}

inline std::int64_t checkedAdd(std::int64_t a, std::int64_t b)
{
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        throwOutOfRange(a, " + ", b);
    return sum;
}

inline std::int64_t checkedMultiply(std::int64_t a, std::int64_t b)
{
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        throwOutOfRange(a, " x ", b);
    return product;
}

/// a times a factor that is not negative, to the nearest whole number.
inline std::int64_t checkedScale(std::int64_t a, double factor)
{
    if (factor == 1)
        return a;
    const double product = static_cast<double>(a) * factor;
    if (!(product < 9.2e18))
        throw OutOfRange(std::to_string(a) + " x " + roughly(factor) + " is more than " +
                         std::to_string(std::numeric_limits<std::int64_t>::max()));
    return std::llround(product);
}

/// For b > 0.
constexpr std::int64_t ceilDivide(std::int64_t a, std::int64_t b)
{
    return a / b + (a % b > 0 ? 1 : 0);
}

/// A whole number whose sums and products throw OutOfRange instead of wrapping.
class Checked {
public:
    constexpr Checked() = default;
    constexpr Checked(std::integral auto value) : m_value(static_cast<std::int64_t>(value)) {}
    constexpr operator std::int64_t() const { return m_value; }

    Checked& operator+=(Checked other) { return *this = *this + other; }
    friend Checked operator+(Checked a, Checked b) { return checkedAdd(a.m_value, b.m_value); }
    friend Checked operator*(Checked a, Checked b) { return checkedMultiply(a.m_value, b.m_value); }
    friend Checked operator/(Checked a, Checked b) { return a.m_value / b.m_value; }
    // Exact matches, so that no number converts to what has built-in operators.
    template <std::integral T>
    friend Checked operator+(Checked a, T b)
    {
        return a + Checked(b);
    }
    template <std::integral T>
    friend Checked operator+(T a, Checked b)
    {
        return Checked(a) + b;
    }
    template <std::integral T>
    friend Checked operator*(Checked a, T b)
    {
        return a * Checked(b);
    }
    template <std::integral T>
    friend Checked operator*(T a, Checked b)
    {
        return Checked(a) * b;
    }
    template <std::integral T>
    friend Checked operator/(Checked a, T b)
    {
        return a / Checked(b);
    }

private:
    std::int64_t m_value = 0;
};

/// What `make` makes. A number that leaves its range there is said to be of `quantity`.
template <typename Make>
auto countedAs(const char* quantity, Make make)
{
    try {
        return make();
    } catch (const OutOfRange& error) {
        throw Error(std::string(quantity) + " cannot be counted: " + error.what());
    }
}

/// Longest time that is counted: 146 years, so that a time and a duration can be added without looking.
inline constexpr std::int64_t kLongestNs = std::int64_t{1} << 62;
inline constexpr const char* kLongestText = "2^62 ns (146 years)";

[[noreturn, gnu::cold, gnu::noinline]] inline void throwTooLong(const std::string& what, double seconds)
{
    throw OutOfRange(what + " takes " + roughly(seconds) + " s; times are counted up to " + kLongestText);
}

/// To the nearest nanosecond. `what` makes the name of what takes so long, for the message; OutOfRange also for what is no
/// number.
template <typename What>
std::int64_t durationNs(double seconds, What what)
{
    const double ns = seconds * 1e9;
    if (!(ns >= 0 && ns <= static_cast<double>(kLongestNs)))
        throwTooLong(what(), seconds);
    return std::llround(ns);
}

} // namespace sim
