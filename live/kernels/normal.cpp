#include "live/kernels/normal.h"

#include "live/kernels/philox.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

// The loader chooses among clones before a sanitizer has started, which it does not survive.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                         \
    !defined(__SANITIZE_THREAD__)
#define LIVE_FOR_EACH_MACHINE [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define LIVE_FOR_EACH_MACHINE
#endif

namespace live {
namespace {

constexpr int kPairs = 256; // at a time: the words lie in the first cache

struct Words {
    std::array<std::uint32_t, kPairs> word[4];
};
/// The pair's first deviates, then its second ones.
struct Deviates {
    std::array<double, kPairs> first, second;
};

/// In (0, 1), of 53 bits; integers of 32 bits become doubles in every instruction set.
inline double uniform(std::uint32_t low, std::uint32_t high)
{
    const auto upper = static_cast<std::int32_t>(high >> 6), lower = static_cast<std::int32_t>((high & 63U) << 21 | low >> 11);
    return upper * 0x1p-26 + (lower + 0.5) * 0x1p-53;
}

/// ln x for normal x > 0: x = 2^k m with m from sqrt(1/2) to sqrt(2), ln m = 2 artanh((m - 1) / (m + 1)).
inline double naturalLogarithm(double x)
{
    constexpr std::uint64_t kRootOfHalf = 0x3FE6A09E667F3BCDULL, kOne = 0x3FF0000000000000ULL;
    const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (kOne - kRootOfHalf);
    const auto exponent = static_cast<std::int32_t>(shifted >> 52) - 1023;
    const double m = std::bit_cast<double>((shifted & 0xFFFFFFFFFFFFFULL) + kRootOfHalf);
    const double s = (m - 1) / (m + 1), square = s * s; // square < 0.0295: the first term left out is below 1e-17
    double series = 1.0 / 21;
    for (int odd = 19; odd >= 3; odd -= 2)
        series = series * square + 1.0 / odd;
    return exponent * 0.6931471805599453 + (2 * s + 2 * s * square * series);
}

/// Deviates of the words, without branches.
LIVE_FOR_EACH_MACHINE void boxMuller(const Words& words, std::size_t pairs, Deviates& deviates)
{
    for (std::size_t i = 0; i < pairs; ++i) {
        const double radius = std::sqrt(-2 * naturalLogarithm(uniform(words.word[0][i], words.word[1][i])));
        // The angle is a whole number of right angles and a rest of at most half of one, both exact before the product with pi.
        const double turns = uniform(words.word[2][i], words.word[3][i]);
        const auto quarter = static_cast<std::int32_t>(4 * turns + 0.5);
        const double x = (turns - 0.25 * quarter) * 6.283185307179586, square = x * x;
        double sine = 1, cosine = 1; // Taylor's series, to x^15 and x^16
        for (int n = 15; n >= 3; n -= 2)
            sine = 1 - sine * square / ((n - 1) * n);
        sine *= x;
        for (int n = 16; n >= 2; n -= 2)
            cosine = 1 - cosine * square / ((n - 1) * n);
        const bool swapped = quarter & 1;
        const double c = swapped ? sine : cosine, s = swapped ? cosine : sine;
        deviates.first[i] = ((quarter + 1) & 2) != 0 ? -radius * c : radius * c; // cosine: negative in quarters 1 and 2
        deviates.second[i] = (quarter & 2) != 0 ? -radius * s : radius * s;      // sine: in 2 and 3
    }
}

LIVE_FOR_EACH_MACHINE void drawWords(std::uint64_t seed, std::uint64_t stream, std::uint64_t firstPair, std::size_t pairs,
                                     Words& words)
{
    const PhiloxKey key = philoxKey(seed);
    for (std::size_t i = 0; i < pairs; ++i) {
        const std::uint64_t pair = firstPair + i;
        const PhiloxCounter drawn = philox({{static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32),
                                             static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
                                           key);
        for (int w = 0; w < 4; ++w)
            words.word[w][i] = drawn.word[w];
    }
}

} // namespace

void normalDeviates(std::uint64_t seed, std::uint64_t stream, std::int64_t first, std::span<double> values)
{
    Words words;
    Deviates deviates;
    const auto end = first + static_cast<std::int64_t>(values.size());
    for (std::int64_t pair = first / 2; 2 * pair < end; pair += kPairs) {
        const auto pairs = static_cast<std::size_t>(std::min<std::int64_t>(kPairs, (end + 1) / 2 - pair));
        drawWords(seed, stream, static_cast<std::uint64_t>(pair), pairs, words);
        boxMuller(words, pairs, deviates);
        for (std::int64_t i = std::max(first, 2 * pair); i < std::min(end, 2 * (pair + kPairs)); ++i) {
            const auto within = static_cast<std::size_t>(i / 2 - pair);
            values[static_cast<std::size_t>(i - first)] = i % 2 == 0 ? deviates.first[within] : deviates.second[within];
        }
    }
}

} // namespace live
