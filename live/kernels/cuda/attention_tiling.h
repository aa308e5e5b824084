// How attention on tensor cores is cut into blocks, and what that takes of a GPU's shared memory.
#pragma once

#include "live/kernels/cuda/numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace live::cuda {

/// A tile's row in shared memory: 16 bytes longer than its elements, so that the eight rows a warp reads at once lie in different
/// banks.
template <int kDim>
inline constexpr int kTileStride = kDim + 8;

/// Shape of the forward kernel for one head size.
template <int kDim>
struct ForwardTiling {
    static constexpr int kWarps = kDim <= 64 ? 4 : 8, kRowTiles = kDim <= 64 ? 2 : 1, kInner = 64;
    static constexpr int kOwned = kWarps * 16 * kRowTiles, kThreads = kWarps * kWarp;
    static constexpr int kTile = kInner * kTileStride<kDim>; ///< elements
    static constexpr std::size_t kSharedBytes = 4 * kTile * sizeof(Bfloat16);
    static_assert(kOwned <= 2 * kInner, "queries pass through the second stage of keys and values");
};

/// Shape of a backward kernel. There are no registers for the owned rows' fragments: they are read again each time. Two row tiles
/// a warp halve what it reads of the others, and leave registers for fewer of them at a time. Sums are of the same terms in the
/// same order in all.
template <int kHeadDim, int kWarpRowTiles>
struct BackwardTiling {
    static constexpr int kDim = kHeadDim, kRowTiles = kWarpRowTiles;
    static constexpr int kWarps = kDim <= 64 && kRowTiles == 1 ? 8 : 4, kInner = kDim <= 64 && kRowTiles == 1 ? 64 : 32;
    static constexpr int kOwned = kWarps * 16 * kRowTiles, kThreads = kWarps * kWarp;
    static constexpr int kOwnedTile = kOwned * kTileStride<kDim>, kTile = kInner * kTileStride<kDim>; ///< elements
    /// Owned [2], stages [2][2], then of each stage the inner rows' log-sum-exp and delta.
    static constexpr std::size_t kSharedBytes = (2 * kOwnedTile + 4 * kTile) * sizeof(Bfloat16) + 4 * kInner * sizeof(float);
};

/// How the backward kernels cut their work: rows of a warp at a time. Results are the same to the bit.
enum class AttentionTiles : std::uint8_t { rows16, rows32 };

/// The two backward kernels of one head size.
template <int kDim, AttentionTiles kTiles>
struct BackwardTilings {
    static constexpr int kRowTiles = kTiles == AttentionTiles::rows32 ? 2 : 1;
    using OfKeys = BackwardTiling<kDim, kDim <= 64 ? kRowTiles : 1>; ///< two sums: those of long heads take all registers
    using OfQueries = BackwardTiling<kDim, kRowTiles>;
    static constexpr std::size_t kSharedBytes = std::max(OfKeys::kSharedBytes, OfQueries::kSharedBytes);
};

/// The most that a block takes, of any head size.
template <AttentionTiles kTiles>
inline constexpr std::size_t kMostSharedBytes = std::max({BackwardTilings<32, kTiles>::kSharedBytes,
                                                          BackwardTilings<64, kTiles>::kSharedBytes,
                                                          BackwardTilings<128, kTiles>::kSharedBytes});

/// What is wanted where a block may have so much shared memory, else what fits. GPUs of compute capability 8.6, 8.9 and 12 give a
/// block 99 KiB (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
constexpr AttentionTiles tilesThatFit(AttentionTiles wanted, std::size_t sharedBytesOfBlock)
{
    return kMostSharedBytes<AttentionTiles::rows32> <= sharedBytesOfBlock ? wanted : AttentionTiles::rows16;
}

} // namespace live::cuda
