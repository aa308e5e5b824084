// Attention on tensor cores, bf16 with sums in fp32: FlashAttention 2 (Dao 2023) for the forward pass. The backward pass is two
// kernels, one that owns keys and one that owns queries, instead of one that adds to dQ from many blocks at once: two products of
// seven are made twice, and every sum has one fixed order.
//
// A block owns kWarps * 16 * kRowTiles rows (queries, or keys for dK and dV) of one head and goes over the others in tiles of
// kInner rows, which are copied to shared memory while the last tile is worked on. Each warp keeps its rows' sums in registers.
#pragma once

#include "live/kernels/cuda/attention.h"
#include "live/kernels/cuda/attention_tiling.h"

namespace live::cuda {

inline constexpr float kLog2E = 1.4426950408889634F;

/// kRows positions from `first` on, zeros where there are none and in columns from headDim on.
template <int kDim, int kRows, int kThreads>
__device__ __forceinline__ void copyTile(Bfloat16* tile, const Bfloat16* head, std::int64_t positionStride, std::int64_t first,
                                         std::int64_t positions, int headDim)
{
    constexpr int kGroups = kDim / kFullWidth;
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kGroups; i += kThreads) {
        const int row = i / kGroups, column = i % kGroups * kFullWidth;
        const bool inside = first + row < positions && column < headDim;
        const Bfloat16* from = inside ? head + (first + row) * positionStride + column : head;
        copyAsync16(tile + row * kTileStride<kDim> + column, from, inside);
    }
}

/// The A fragment of 16 rows from `row` on, 16 columns from 16 k on.
template <int kDim>
__device__ __forceinline__ void loadFragment(std::uint32_t (&a)[4], const Bfloat16* tile, int row, int k)
{
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    loadTiles(a, tile + (row + lane % 16) * kTileStride<kDim> + 16 * k + lane / 16 * 8);
}

/// sum[r] += own_r tile^T: scores. own(r, k, a) gives the fragment of row tile r.
template <int kDim, int kInner, int kRowTiles, class Own>
__device__ __forceinline__ void addScores(float (&sum)[kRowTiles][kInner / 8][4], const Own& own, const Bfloat16* tile)
{
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k) {
        std::uint32_t a[kRowTiles][4];
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r)
            own(r, k, a[r]);
#pragma unroll
        for (int pair = 0; pair < kInner / 16; ++pair) {
            std::uint32_t b[4];
            loadTiles(b, tile + (16 * pair + lane % 8 + lane / 16 * 8) * kTileStride<kDim> + 16 * k + lane / 8 % 2 * 8);
#pragma unroll
            for (int r = 0; r < kRowTiles; ++r) {
                multiplyTile(sum[r][2 * pair], a[r], b[0], b[1]);
                multiplyTile(sum[r][2 * pair + 1], a[r], b[2], b[3]);
            }
        }
    }
}

/// sum[r] += p_r tile, p being scores as the last function left them, rounded to bf16.
template <int kDim, int kInner, int kRowTiles>
__device__ __forceinline__ void addWeighted(float (&sum)[kRowTiles][kDim / 8][4], const float (&p)[kRowTiles][kInner / 8][4],
                                            const Bfloat16* tile)
{
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
#pragma unroll
    for (int k = 0; k < kInner / 16; ++k) {
        std::uint32_t a[kRowTiles][4];
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) { // two score tiles side by side are an A fragment
            const float(&left)[4] = p[r][2 * k];
            const float(&right)[4] = p[r][2 * k + 1];
            a[r][0] = packBfloat(left[0], left[1]);
            a[r][1] = packBfloat(left[2], left[3]);
            a[r][2] = packBfloat(right[0], right[1]);
            a[r][3] = packBfloat(right[2], right[3]);
        }
#pragma unroll
        for (int pair = 0; pair < kDim / 16; ++pair) {
            std::uint32_t b[4];
            loadTilesTransposed(b, tile + (16 * k + lane % 16) * kTileStride<kDim> + 16 * pair + lane / 16 * 8);
#pragma unroll
            for (int r = 0; r < kRowTiles; ++r) {
                multiplyTile(sum[r][2 * pair], a[r], b[0], b[1]);
                multiplyTile(sum[r][2 * pair + 1], a[r], b[2], b[3]);
            }
        }
    }
}

/// A warp's 16 rows, times factor[0] (rows g) and factor[1] (rows g + 8), to positions from `first` on.
template <int kDim, class T>
__device__ __forceinline__ void storeRows(const float (&sum)[kDim / 8][4], const float (&factor)[2], T* head,
                                          std::int64_t positionStride, std::int64_t first, std::int64_t positions, int headDim,
                                          bool accumulate)
{
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const std::int64_t position = first + lane / 4 + 8 * half;
        if (position >= positions)
            continue;
#pragma unroll
        for (int tile = 0; tile < kDim / 8; ++tile)
            if (8 * tile < headDim)
                storePair(head + position * positionStride + 8 * tile + 2 * (lane % 4), sum[tile][2 * half] * factor[half],
                          sum[tile][2 * half + 1] * factor[half], accumulate);
    }
}

template <int kDim, class OutputT>
__global__ void __launch_bounds__(ForwardTiling<kDim>::kThreads)
    attentionTensorKernel(Visibility visibility, HeadOrder order, int keyHeads, float scale, Heads<const Bfloat16> q,
                          Heads<const Bfloat16> k, Heads<const Bfloat16> v, Heads<OutputT> o, HeadValues<float> logSumExp)
{
    using Tiling = ForwardTiling<kDim>;
    constexpr int kRowTiles = Tiling::kRowTiles, kInner = Tiling::kInner, kThreads = Tiling::kThreads;
    const HeadOrder::Place place = order.place();
    const int head = place.head, keyHead = head * keyHeads / order.heads;
    const std::int64_t sequence = place.sequence;
    const std::int64_t firstQuery = (order.blocksPerHead - 1 - place.block) * Tiling::kOwned; // late queries see most keys
    const std::int64_t seen = visibility.seenBy(firstQuery + Tiling::kOwned - 1);
    const std::int64_t tiles = ceilDivide(seen, kInner);
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
    const int warpRow = warp * 16 * kRowTiles;

    auto* const shared = reinterpret_cast<Bfloat16*>(sharedMemory()); // [stage][keys, values][kTile]
    const Bfloat16* const keys = k.at(sequence, keyHead);
    const Bfloat16* const values = v.at(sequence, keyHead);
    const auto copyStage = [&](std::int64_t tile) {
        if (tile < tiles) {
            Bfloat16* const stage = shared + tile % 2 * 2 * Tiling::kTile;
            copyTile<kDim, kInner, kThreads>(stage, keys, k.positionStride, tile * kInner, visibility.keys, k.headDim);
            copyTile<kDim, kInner, kThreads>(stage + Tiling::kTile, values, v.positionStride, tile * kInner, visibility.keys,
                                             v.headDim);
        }
        commitCopies(); // also if empty: waitCopies counts groups
    };

    std::uint32_t queries[kRowTiles][kDim / 16][4];
    Bfloat16* const queryTile = shared + 2 * Tiling::kTile;
    copyTile<kDim, Tiling::kOwned, kThreads>(queryTile, q.at(sequence, head), q.positionStride, firstQuery, visibility.queries,
                                             q.headDim);
    commitCopies();
    copyStage(0);
    waitCopies<1>();
    syncBlock();
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
        for (int c = 0; c < kDim / 16; ++c)
            loadFragment<kDim>(queries[r][c], queryTile, warpRow + 16 * r, c);
    syncBlock();

    float sum[kRowTiles][kDim / 8][4] = {};
    float maximum[kRowTiles][2], total[kRowTiles][2] = {}; // of rows g and g + 8; total: this lane's columns only
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
        maximum[r][0] = maximum[r][1] = -INFINITY;

    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        copyStage(tile + 1);
        waitCopies<1>();
        syncBlock();
        const Bfloat16* const stage = shared + tile % 2 * 2 * Tiling::kTile;
        float score[kRowTiles][kInner / 8][4] = {};
        addScores<kDim, kInner, kRowTiles>(
            score,
            [&](int r, int c, std::uint32_t(&a)[4]) {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    a[i] = queries[r][c][i];
            },
            stage);
        const std::int64_t firstKey = tile * kInner;
        if (firstKey + kInner > visibility.seenBy(firstQuery)) // not all see all
#pragma unroll
            for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
                for (int c = 0; c < kInner / 8; ++c)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        if (!visibility.sees(firstQuery + warpRow + 16 * r + lane / 4 + i / 2 * 8,
                                             firstKey + 8 * c + 2 * (lane % 4) + i % 2))
                            score[r][c][i] = -INFINITY;
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float largest = maximum[r][half];
#pragma unroll
                for (int c = 0; c < kInner / 8; ++c)
                    largest = fmaxf(largest, fmaxf(score[r][c][2 * half], score[r][c][2 * half + 1]));
                largest = fmaxf(largest, shuffleXor(largest, 1));
                largest = fmaxf(largest, shuffleXor(largest, 2));
                const float base = largest == -INFINITY ? 0 : largest * scale; // a row that has seen nothing yet stays 0
                const float shrink = fastExp2(maximum[r][half] * scale - base);
                maximum[r][half] = largest;
                total[r][half] *= shrink;
#pragma unroll
                for (int c = 0; c < kInner / 8; ++c)
#pragma unroll
                    for (int i = 2 * half; i < 2 * half + 2; ++i) {
                        score[r][c][i] = fastExp2(score[r][c][i] * scale - base);
                        total[r][half] += score[r][c][i];
                    }
#pragma unroll
                for (int c = 0; c < kDim / 8; ++c) {
                    sum[r][c][2 * half] *= shrink;
                    sum[r][c][2 * half + 1] *= shrink;
                }
            }
        addWeighted<kDim, kInner, kRowTiles>(sum, score, stage + Tiling::kTile);
        syncBlock(); // the next copies overwrite this stage
    }

#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
        float factor[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float all = total[r][half];
            all += shuffleXor(all, 1);
            all += shuffleXor(all, 2);
            factor[half] = all > 0 ? 1 / all : 0;
            const std::int64_t query = firstQuery + warpRow + 16 * r + lane / 4 + 8 * half;
            if (lane % 4 == 0 && query < visibility.queries)
                *logSumExp.at(query, sequence, head) = all > 0 ? maximum[r][half] * scale / kLog2E + logf(all) : -INFINITY;
        }
        storeRows<kDim>(sum[r], factor, o.at(sequence, head), o.positionStride, firstQuery + warpRow + 16 * r, visibility.queries,
                        o.headDim, false);
    }
}

/// dK and dV of a block of keys, over all queries of the heads that share them. `scale` is that of the scores times log2(e).
template <class Tiling, class GradientT>
__global__ void __launch_bounds__(Tiling::kThreads)
    attentionKeyGradientKernel(Visibility visibility, HeadOrder order, int heads, float scale, Heads<const Bfloat16> q,
                               Heads<const Bfloat16> k, Heads<const Bfloat16> v, Heads<const Bfloat16> dOutput,
                               HeadValues<const float> logSumExp, HeadValues<const float> delta, Heads<GradientT> dk,
                               Heads<GradientT> dv, bool accumulate)
{
    constexpr int kDim = Tiling::kDim, kRowTiles = Tiling::kRowTiles, kInner = Tiling::kInner, kThreads = Tiling::kThreads;
    const HeadOrder::Place place = order.place();
    const int keyHead = place.head, sharing = heads / order.heads;
    const std::int64_t sequence = place.sequence;
    const std::int64_t firstKey = place.block * Tiling::kOwned; // early keys are seen by most queries
    const std::int64_t firstTile = visibility.firstSeeing(firstKey) / kInner;
    const std::int64_t allTiles = ceilDivide(visibility.queries, kInner);
    const std::int64_t tilesPerHead = allTiles > firstTile ? allTiles - firstTile : 0, tiles = tilesPerHead * sharing;
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);

    auto* const ownedKeys = reinterpret_cast<Bfloat16*>(sharedMemory());
    Bfloat16* const ownedValues = ownedKeys + Tiling::kOwnedTile;
    Bfloat16* const stages = ownedValues + Tiling::kOwnedTile;                    // [stage][queries, dO][kTile]
    auto* const rowValues = reinterpret_cast<float*>(stages + 4 * Tiling::kTile); // [stage][log-sum-exp, delta][kInner]

    const auto copyStage = [&](std::int64_t tile) {
        if (tile < tiles) {
            const int head = keyHead * sharing + static_cast<int>(tile / tilesPerHead);
            const std::int64_t first = (firstTile + tile % tilesPerHead) * kInner;
            Bfloat16* const stage = stages + tile % 2 * 2 * Tiling::kTile;
            copyTile<kDim, kInner, kThreads>(stage, q.at(sequence, head), q.positionStride, first, visibility.queries, q.headDim);
            copyTile<kDim, kInner, kThreads>(stage + Tiling::kTile, dOutput.at(sequence, head), dOutput.positionStride, first,
                                             visibility.queries, dOutput.headDim);
            float* const values = rowValues + tile % 2 * 2 * kInner;
            for (int i = static_cast<int>(threadIdx.x); i < kInner; i += kThreads) {
                const bool inside = first + i < visibility.queries;
                const float log = inside ? *logSumExp.at(first + i, sequence, head) : -INFINITY;
                values[i] = log == -INFINITY ? INFINITY : log * kLog2E; // probability 0 for who sees nothing
                values[kInner + i] = inside ? *delta.at(first + i, sequence, head) : 0;
            }
        }
        commitCopies();
    };

    copyTile<kDim, Tiling::kOwned, kThreads>(ownedKeys, k.at(sequence, keyHead), k.positionStride, firstKey, visibility.keys,
                                             k.headDim);
    copyTile<kDim, Tiling::kOwned, kThreads>(ownedValues, v.at(sequence, keyHead), v.positionStride, firstKey, visibility.keys,
                                             v.headDim);
    copyStage(0); // in one group with the owned rows

    const int warpRow = 16 * kRowTiles * warp;
    float keySum[kRowTiles][kDim / 8][4] = {}, valueSum[kRowTiles][kDim / 8][4] = {};
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        copyStage(tile + 1);
        waitCopies<1>();
        syncBlock();
        const Bfloat16* const queryTile = stages + tile % 2 * 2 * Tiling::kTile;
        const Bfloat16* const outputTile = queryTile + Tiling::kTile;
        const float* const log = rowValues + tile % 2 * 2 * kInner;
        const std::int64_t firstQuery = (firstTile + tile % tilesPerHead) * kInner;

        float probability[kRowTiles][kInner / 8][4] = {}, slope[kRowTiles][kInner / 8][4] = {}; // rows: keys; columns: queries
        addScores<kDim, kInner, kRowTiles>(
            probability, [&](int r, int c, std::uint32_t(&a)[4]) { loadFragment<kDim>(a, ownedKeys, warpRow + 16 * r, c); },
            queryTile);
        addScores<kDim, kInner, kRowTiles>(
            slope, [&](int r, int c, std::uint32_t(&a)[4]) { loadFragment<kDim>(a, ownedValues, warpRow + 16 * r, c); },
            outputTile);
        const bool masked = visibility.causal && firstKey + Tiling::kOwned - 1 > firstQuery + visibility.diagonal;
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
            for (int c = 0; c < kInner / 8; ++c)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int column = 8 * c + 2 * (lane % 4) + i % 2;
                    float p = fastExp2(probability[r][c][i] * scale - log[column]);
                    if (masked && !visibility.sees(firstQuery + column, firstKey + warpRow + 16 * r + lane / 4 + i / 2 * 8))
                        p = 0;
                    probability[r][c][i] = p;
                    slope[r][c][i] = p * (slope[r][c][i] - log[kInner + column]);
                }
        addWeighted<kDim, kInner, kRowTiles>(valueSum, probability, outputTile);
        addWeighted<kDim, kInner, kRowTiles>(keySum, slope, queryTile);
        syncBlock(); // the next copies overwrite this stage
    }
    waitCopies<0>(); // where no query sees these keys
    const float keyFactor = scale / kLog2E;
    const float keyFactors[2] = {keyFactor, keyFactor}, ones[2] = {1, 1};
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
        storeRows<kDim>(keySum[r], keyFactors, dk.at(sequence, keyHead), dk.positionStride, firstKey + warpRow + 16 * r,
                        visibility.keys, dk.headDim, accumulate);
        storeRows<kDim>(valueSum[r], ones, dv.at(sequence, keyHead), dv.positionStride, firstKey + warpRow + 16 * r,
                        visibility.keys, dv.headDim, accumulate);
    }
}

/// dQ of a block of queries, over all keys it sees.
template <class Tiling, class GradientT>
__global__ void __launch_bounds__(Tiling::kThreads)
    attentionQueryGradientKernel(Visibility visibility, HeadOrder order, int keyHeads, float scale, Heads<const Bfloat16> q,
                                 Heads<const Bfloat16> k, Heads<const Bfloat16> v, Heads<const Bfloat16> dOutput,
                                 HeadValues<const float> logSumExp, HeadValues<const float> delta, Heads<GradientT> dq,
                                 bool accumulate)
{
    constexpr int kDim = Tiling::kDim, kRowTiles = Tiling::kRowTiles, kInner = Tiling::kInner, kThreads = Tiling::kThreads;
    const HeadOrder::Place place = order.place();
    const int head = place.head, keyHead = head * keyHeads / order.heads;
    const std::int64_t sequence = place.sequence;
    const std::int64_t firstQuery = (order.blocksPerHead - 1 - place.block) * Tiling::kOwned;
    const std::int64_t tiles = ceilDivide(visibility.seenBy(firstQuery + Tiling::kOwned - 1), kInner);
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);

    auto* const ownedQueries = reinterpret_cast<Bfloat16*>(sharedMemory());
    Bfloat16* const ownedOutputs = ownedQueries + Tiling::kOwnedTile;
    Bfloat16* const stages = ownedOutputs + Tiling::kOwnedTile; // [stage][keys, values][kTile]
    const Bfloat16* const keys = k.at(sequence, keyHead);
    const Bfloat16* const values = v.at(sequence, keyHead);
    const auto copyStage = [&](std::int64_t tile) {
        if (tile < tiles) {
            Bfloat16* const stage = stages + tile % 2 * 2 * Tiling::kTile;
            copyTile<kDim, kInner, kThreads>(stage, keys, k.positionStride, tile * kInner, visibility.keys, k.headDim);
            copyTile<kDim, kInner, kThreads>(stage + Tiling::kTile, values, v.positionStride, tile * kInner, visibility.keys,
                                             v.headDim);
        }
        commitCopies();
    };
    copyTile<kDim, Tiling::kOwned, kThreads>(ownedQueries, q.at(sequence, head), q.positionStride, firstQuery, visibility.queries,
                                             q.headDim);
    copyTile<kDim, Tiling::kOwned, kThreads>(ownedOutputs, dOutput.at(sequence, head), dOutput.positionStride, firstQuery,
                                             visibility.queries, dOutput.headDim);
    copyStage(0);

    const int warpRow = 16 * kRowTiles * warp;
    float log[kRowTiles][2], ownDelta[kRowTiles][2]; // of rows g and g + 8
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const std::int64_t query = firstQuery + warpRow + 16 * r + lane / 4 + 8 * half;
            const bool inside = query < visibility.queries;
            const float value = inside ? *logSumExp.at(query, sequence, head) : -INFINITY;
            log[r][half] = value == -INFINITY ? INFINITY : value * kLog2E;
            ownDelta[r][half] = inside ? *delta.at(query, sequence, head) : 0;
        }

    float sum[kRowTiles][kDim / 8][4] = {};
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        copyStage(tile + 1);
        waitCopies<1>();
        syncBlock();
        const Bfloat16* const keyTile = stages + tile % 2 * 2 * Tiling::kTile;
        float probability[kRowTiles][kInner / 8][4] = {}, slope[kRowTiles][kInner / 8][4] = {}; // rows: queries; columns: keys
        addScores<kDim, kInner, kRowTiles>(
            probability, [&](int r, int c, std::uint32_t(&a)[4]) { loadFragment<kDim>(a, ownedQueries, warpRow + 16 * r, c); },
            keyTile);
        addScores<kDim, kInner, kRowTiles>(
            slope, [&](int r, int c, std::uint32_t(&a)[4]) { loadFragment<kDim>(a, ownedOutputs, warpRow + 16 * r, c); },
            keyTile + Tiling::kTile);
        const bool masked = (tile + 1) * kInner > visibility.seenBy(firstQuery);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
            for (int c = 0; c < kInner / 8; ++c)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    float p = fastExp2(probability[r][c][i] * scale - log[r][i / 2]);
                    if (masked && !visibility.sees(firstQuery + warpRow + 16 * r + lane / 4 + i / 2 * 8,
                                                   tile * kInner + 8 * c + 2 * (lane % 4) + i % 2))
                        p = 0;
                    slope[r][c][i] = p * (slope[r][c][i] - ownDelta[r][i / 2]);
                }
        addWeighted<kDim, kInner, kRowTiles>(sum, slope, keyTile);
        syncBlock(); // the next copies overwrite this stage
    }
    waitCopies<0>(); // where no key is seen
    const float factors[2] = {scale / kLog2E, scale / kLog2E};
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
        storeRows<kDim>(sum[r], factors, dq.at(sequence, head), dq.positionStride, firstQuery + warpRow + 16 * r,
                        visibility.queries, dq.headDim, accumulate);
}

} // namespace live::cuda
