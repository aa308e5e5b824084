#include "live/kernels/device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace live {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kDigitBits = 32;
constexpr int kNotFinite = kExactSumWords - 1; ///< counts terms that are not finite
constexpr int kLowestBit = -1074;              ///< the exponent of word 0's lowest bit: the smallest double

} // namespace

void addToExactSum(std::span<std::int64_t, kExactSumWords> words, double value)
{
    if (value == 0)
        return;
    if (!std::isfinite(value)) {
        ++words[kNotFinite];
        return;
    }
    constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto biased = static_cast<int>(bits >> 52 & 0x7FF);
    const std::uint64_t mantissa = (bits & kMantissa) | (biased == 0 ? 0 : kMantissa + 1);
    const int shift = biased == 0 ? 0 : biased - 1; // of the mantissa's lowest bit above kLowestBit
    const auto word = static_cast<std::size_t>(shift / kDigitBits);
    const auto wide = static_cast<Wide>(mantissa) << (shift % kDigitBits); // at most 84 bits: three digits
    const std::int64_t sign = value < 0 ? -1 : 1;
    for (std::size_t digit = 0; digit < 3; ++digit)
        words[word + digit] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> (kDigitBits * digit)));
}

void carryExactSum(std::span<std::int64_t, kExactSumWords> words)
{
    std::int64_t over = 0;
    for (std::size_t i = 0; i + 1 < kNotFinite; ++i) {
        // Apart: a digit that is nearly full and what comes from below do not fit into one word.
        const std::int64_t low = (words[i] & 0xFFFFFFFF) + (over & 0xFFFFFFFF);
        over = (words[i] >> kDigitBits) + (over >> kDigitBits) + (low >> kDigitBits);
        words[i] = low & 0xFFFFFFFF;
    }
    words[kNotFinite - 1] += over;
}

double exactSumValue(std::span<const std::int64_t, kExactSumWords> words)
{
    if (words[kNotFinite] != 0)
        return std::numeric_limits<double>::quiet_NaN();
    // Carries, so that each digit is in [0, 2^32) but for the sign of the whole.
    std::array<std::int64_t, kExactSumWords + 1> digits{};
    const auto carry = [&](std::int64_t sign) {
        std::int64_t over = 0;
        for (std::size_t i = 0; i < kNotFinite; ++i) {
            const std::int64_t sum = sign * words[i] + over;
            digits[i] = sum & 0xFFFFFFFF;
            over = sum >> kDigitBits;
        }
        digits[kNotFinite] = over;
        return over >= 0;
    };
    const bool positive = carry(1);
    if (!positive)
        carry(-1);
    int top = kNotFinite;
    while (top > 0 && digits[static_cast<std::size_t>(top)] == 0)
        --top;
    // The top digits as an integer whose lowest bit says whether anything is below: rounded once by its conversion.
    Wide head = 0;
    const int lowest = std::max(top - 2, 0);
    for (int i = top; i >= lowest; --i)
        head = head << kDigitBits | static_cast<Wide>(digits[static_cast<std::size_t>(i)]);
    int exponent = kLowestBit + kDigitBits * lowest;
    bool sticky = false;
    for (int i = 0; i < lowest; ++i)
        sticky = sticky || digits[static_cast<std::size_t>(i)] != 0;
    if (sticky) {
        head = head << 1 | 1;
        --exponent;
    }
    const double magnitude = std::ldexp(static_cast<double>(head), exponent);
    return positive ? magnitude : -magnitude;
}

} // namespace live
