#include "sim/engine/slowdown.h"

#include "sim/portable_math.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

/// Standard normal from a counter: same op, same value, whoever computes it (SplitMix64 and Box-Muller).
double normalOf(std::uint64_t seed, std::uint64_t counter)
{
    const auto mix = [](std::uint64_t x) {
        x += 0x9E3779B97F4A7C15ULL;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31U);
    };
    const std::uint64_t a = mix(seed ^ mix(counter));
    const std::uint64_t b = mix(a);
    const double u = (static_cast<double>(a >> 11U) + 0.5) * 0x1.0p-53;
    const double v = (static_cast<double>(b >> 11U) + 0.5) * 0x1.0p-53;
    return std::sqrt(-2 * portableLog(u)) * portableCosOfTurn(v);
}

} // namespace

std::int64_t scaledNs(std::int64_t duration, double factor)
{
    return factor == 1.0 ? duration : std::llround(static_cast<double>(duration) * factor);
}

std::int64_t slowedKernelNs(std::int64_t duration, std::int64_t fastest, const RankSlowdown& slowdown, std::int64_t ordinal,
                            double share)
{
    double factor = slowdown.compute * share;
    if (slowdown.jitter > 0)
        factor *= std::max(0.1, 1 + slowdown.jitter * normalOf(slowdown.jitterSeed, static_cast<std::uint64_t>(ordinal)));
    return std::max({std::int64_t{1}, scaledNs(fastest, share), scaledNs(duration, factor)});
}

} // namespace sim
