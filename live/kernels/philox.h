// Philox-4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): random numbers as a function
// of a counter and a key. What is drawn for an element depends on its global index alone, so any layout draws the same.
// Plain functions that CUDA kernels share.
#pragma once

#include "live/kernels/device.h"

#include <cstdint>

#ifdef __CUDACC__
#define LIVE_ON_BOTH __host__ __device__
#else
#define LIVE_ON_BOTH
#endif

namespace live {

struct PhiloxCounter {
    std::uint32_t word[4];
};
struct PhiloxKey {
    std::uint32_t word[2];
};

LIVE_ON_BOTH inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key)
{
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter.word[0];
        const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter.word[2];
        counter = {
            {static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.word[0], static_cast<std::uint32_t>(product1),
             static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.word[1], static_cast<std::uint32_t>(product0)}};
        key.word[0] += 0x9E3779B9; // the golden ratio
        key.word[1] += 0xBB67AE85; // sqrt(3) - 1
    }
    return counter;
}

LIVE_ON_BOTH inline PhiloxKey philoxKey(std::uint64_t seed)
{
    return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

/// Four random words for the features 4 * fourFeatures … + 3 of a token. Fewer than 2^32 tokens a step and 256 sites a layer.
LIVE_ON_BOTH inline PhiloxCounter dropoutWords(const DropoutKey& key, std::int64_t token, std::int64_t fourFeatures)
{
    return philox(
        {{static_cast<std::uint32_t>(fourFeatures), static_cast<std::uint32_t>(token), key.layer << 8 | key.site, key.step}},
        philoxKey(key.seed));
}

/// An element is dropped if its word is below this.
LIVE_ON_BOTH inline std::uint32_t dropoutThreshold(double rate)
{
    const double threshold = rate * 4294967296.0;
    return threshold >= 4294967295.0 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(threshold);
}

} // namespace live
