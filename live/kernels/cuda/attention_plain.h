// Attention without tensor cores, sums in fp32: for fp32, and for heads that the other kernels cannot take. A warp owns a query
// (or a key) of one head; the block's warps share tiles of 32 keys (queries), a lane a score.
#pragma once

#include "live/kernels/cuda/attention.h"

namespace live::cuda {

inline constexpr int kPlainWarps = 8;
inline constexpr int kPlainMaxDim = 256;
inline constexpr int kPlainColumns = kPlainMaxDim / kWarp; ///< of a row that a lane keeps

/// Floats from one row of a tile to the next: odd, so that lanes reading one column hit different banks.
__host__ __device__ constexpr int plainStride(int headDim)
{
    return headDim | 1;
}

/// Owned rows [2][kPlainWarps], tiles [2][32]. headDim: the larger of a key's and a value's.
inline std::size_t plainSharedBytes(int headDim)
{
    return sizeof(float) * 2 * static_cast<std::size_t>(kPlainWarps + kWarp) * static_cast<std::size_t>(plainStride(headDim));
}

/// kRows positions from `first` on, zeros beyond the last.
template <class T>
__device__ __forceinline__ void loadPlainRows(float* tile, int rows, const T* head, std::int64_t positionStride,
                                              std::int64_t first, std::int64_t positions, int headDim)
{
    for (int i = static_cast<int>(threadIdx.x); i < rows * headDim; i += kPlainWarps * kWarp) {
        const int row = i / headDim, column = i % headDim;
        tile[row * plainStride(headDim) + column] =
            first + row < positions ? toFloat(head[(first + row) * positionStride + column]) : 0;
    }
}

__device__ __forceinline__ float plainDot(const float* a, const float* b, int headDim)
{
    float sum = 0;
    for (int d = 0; d < headDim; ++d)
        sum += a[d] * b[d];
    return sum;
}

/// sum[c] += the sum over the tile's rows of weight (a lane's is its row's) times column lane + 32 c.
__device__ __forceinline__ void addPlainRows(float (&sum)[kPlainColumns], float weight, const float* tile, int headDim)
{
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    for (int row = 0; row < kWarp; ++row) {
        const float rowWeight = shuffle(weight, row);
#pragma unroll
        for (int c = 0; c < kPlainColumns; ++c)
            if (lane + kWarp * c < headDim)
                sum[c] += rowWeight * tile[row * plainStride(headDim) + lane + kWarp * c];
    }
}

template <class T>
__device__ __forceinline__ void storePlainRow(const float (&sum)[kPlainColumns], float factor, T* row, int headDim,
                                              bool accumulate)
{
#pragma unroll
    for (int c = 0; c < kPlainColumns; ++c)
        if (const auto column = static_cast<int>(threadIdx.x % kWarp) + kWarp * c; column < headDim)
            row[column] = fromFloat<T>((accumulate ? toFloat(row[column]) : 0) + sum[c] * factor);
}

template <class T, class OutputT>
__global__ void __launch_bounds__(kPlainWarps* kWarp)
    attentionPlainKernel(Visibility visibility, HeadOrder order, int keyHeads, float scale, Heads<const T> q, Heads<const T> k,
                         Heads<const T> v, Heads<OutputT> o, HeadValues<float> logSumExp)
{
    const int headDim = q.headDim, valueDim = v.headDim, keyStride = plainStride(headDim), valueStride = plainStride(valueDim);
    const int stride = keyStride > valueStride ? keyStride : valueStride;
    const HeadOrder::Place place = order.place();
    const int head = place.head, keyHead = head * keyHeads / order.heads;
    const std::int64_t sequence = place.sequence, firstQuery = (order.blocksPerHead - 1 - place.block) * kPlainWarps;
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
    const std::int64_t query = firstQuery + warp;
    auto* const owned = reinterpret_cast<float*>(sharedMemory());
    float* const keyTile = owned + 2 * kPlainWarps * stride;
    float* const valueTile = keyTile + kWarp * stride;
    loadPlainRows(owned, kPlainWarps, q.at(sequence, head), q.positionStride, firstQuery, visibility.queries, headDim);

    float sum[kPlainColumns] = {};
    float maximum = -INFINITY, total = 0;
    const std::int64_t seen = visibility.seenBy(firstQuery + kPlainWarps - 1);
    for (std::int64_t first = visibility.firstSeenBy(firstQuery) / kWarp * kWarp; first < seen; first += kWarp) {
        syncBlock();
        loadPlainRows(keyTile, kWarp, k.at(sequence, keyHead), k.positionStride, first, visibility.keys, headDim);
        loadPlainRows(valueTile, kWarp, v.at(sequence, keyHead), v.positionStride, first, visibility.keys, valueDim);
        syncBlock();
        float score = plainDot(owned + warp * keyStride, keyTile + lane * keyStride, headDim) * scale;
        if (!visibility.sees(query, first + lane))
            score = -INFINITY;
        const float largest = reduceWarp<Maximum>(Maximum{}(score, maximum));
        const float base = largest == -INFINITY ? 0 : largest; // a row that has seen nothing yet stays 0
        const float shrink = expf(maximum - base), p = expf(score - base);
        maximum = largest;
        total = total * shrink + reduceWarp<Sum>(p);
#pragma unroll
        for (float& value : sum)
            value *= shrink;
        addPlainRows(sum, p, valueTile, valueDim);
    }
    if (query >= visibility.queries)
        return;
    storePlainRow(sum, total > 0 ? 1 / total : 0, o.at(sequence, head) + query * o.positionStride, valueDim, false);
    if (lane == 0)
        *logSumExp.at(query, sequence, head) = total > 0 ? maximum + logf(total) : -INFINITY;
}

template <class T, class GradientT>
__global__ void __launch_bounds__(kPlainWarps* kWarp)
    attentionPlainQueryGradientKernel(Visibility visibility, HeadOrder order, int keyHeads, float scale, Heads<const T> q,
                                      Heads<const T> k, Heads<const T> v, Heads<const T> dOutput,
                                      HeadValues<const float> logSumExp, HeadValues<const float> delta, Heads<GradientT> dq,
                                      bool accumulate)
{
    const int headDim = q.headDim, valueDim = v.headDim, keyStride = plainStride(headDim), valueStride = plainStride(valueDim);
    const int stride = keyStride > valueStride ? keyStride : valueStride;
    const HeadOrder::Place place = order.place();
    const int head = place.head, keyHead = head * keyHeads / order.heads;
    const std::int64_t sequence = place.sequence, firstQuery = (order.blocksPerHead - 1 - place.block) * kPlainWarps;
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
    const std::int64_t query = firstQuery + warp;
    auto* const ownedQueries = reinterpret_cast<float*>(sharedMemory());
    float* const ownedOutputs = ownedQueries + kPlainWarps * stride;
    float* const keyTile = ownedOutputs + kPlainWarps * stride;
    float* const valueTile = keyTile + kWarp * stride;
    loadPlainRows(ownedQueries, kPlainWarps, q.at(sequence, head), q.positionStride, firstQuery, visibility.queries, headDim);
    loadPlainRows(ownedOutputs, kPlainWarps, dOutput.at(sequence, head), dOutput.positionStride, firstQuery, visibility.queries,
                  valueDim);
    const bool inside = query < visibility.queries;
    const float log = inside ? *logSumExp.at(query, sequence, head) : 0;
    const float ownDelta = inside ? *delta.at(query, sequence, head) : 0;

    float sum[kPlainColumns] = {};
    const std::int64_t seen = visibility.seenBy(firstQuery + kPlainWarps - 1);
    for (std::int64_t first = visibility.firstSeenBy(firstQuery) / kWarp * kWarp; first < seen; first += kWarp) {
        syncBlock();
        loadPlainRows(keyTile, kWarp, k.at(sequence, keyHead), k.positionStride, first, visibility.keys, headDim);
        loadPlainRows(valueTile, kWarp, v.at(sequence, keyHead), v.positionStride, first, visibility.keys, valueDim);
        syncBlock();
        const float score = plainDot(ownedQueries + warp * keyStride, keyTile + lane * keyStride, headDim) * scale;
        const float slope = plainDot(ownedOutputs + warp * valueStride, valueTile + lane * valueStride, valueDim);
        const float p = inside && visibility.sees(query, first + lane) ? expf(score - log) : 0;
        addPlainRows(sum, p * (slope - ownDelta), keyTile, headDim);
    }
    if (inside)
        storePlainRow(sum, scale, dq.at(sequence, head) + query * dq.positionStride, headDim, accumulate);
}

template <class T, class GradientT>
__global__ void __launch_bounds__(kPlainWarps* kWarp)
    attentionPlainKeyGradientKernel(Visibility visibility, HeadOrder order, int heads, float scale, Heads<const T> q,
                                    Heads<const T> k, Heads<const T> v, Heads<const T> dOutput, HeadValues<const float> logSumExp,
                                    HeadValues<const float> delta, Heads<GradientT> dk, Heads<GradientT> dv, bool accumulate)
{
    const int headDim = q.headDim, valueDim = v.headDim, keyStride = plainStride(headDim), valueStride = plainStride(valueDim);
    const int stride = keyStride > valueStride ? keyStride : valueStride;
    const HeadOrder::Place place = order.place();
    const int keyHead = place.head, sharing = heads / order.heads;
    const std::int64_t sequence = place.sequence, firstKey = place.block * kPlainWarps;
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
    const std::int64_t key = firstKey + warp;
    auto* const ownedKeys = reinterpret_cast<float*>(sharedMemory());
    float* const ownedValues = ownedKeys + kPlainWarps * stride;
    float* const queryTile = ownedValues + kPlainWarps * stride;
    float* const outputTile = queryTile + kWarp * stride;
    loadPlainRows(ownedKeys, kPlainWarps, k.at(sequence, keyHead), k.positionStride, firstKey, visibility.keys, headDim);
    loadPlainRows(ownedValues, kPlainWarps, v.at(sequence, keyHead), v.positionStride, firstKey, visibility.keys, valueDim);

    float keySum[kPlainColumns] = {}, valueSum[kPlainColumns] = {};
    const std::int64_t seeing = visibility.lastSeeing(firstKey + kPlainWarps - 1);
    for (int head = keyHead * sharing; head < (keyHead + 1) * sharing; ++head)
        for (std::int64_t first = visibility.firstSeeing(firstKey) / kWarp * kWarp; first < seeing; first += kWarp) {
            syncBlock();
            loadPlainRows(queryTile, kWarp, q.at(sequence, head), q.positionStride, first, visibility.queries, headDim);
            loadPlainRows(outputTile, kWarp, dOutput.at(sequence, head), dOutput.positionStride, first, visibility.queries,
                          valueDim);
            syncBlock();
            const std::int64_t query = first + lane;
            const bool inside = query < visibility.queries && visibility.sees(query, key);
            const float score = plainDot(ownedKeys + warp * keyStride, queryTile + lane * keyStride, headDim) * scale;
            const float slope = plainDot(ownedValues + warp * valueStride, outputTile + lane * valueStride, valueDim);
            const float p = inside ? expf(score - *logSumExp.at(query, sequence, head)) : 0;
            addPlainRows(valueSum, p, outputTile, valueDim);
            addPlainRows(keySum, inside ? p * (slope - *delta.at(query, sequence, head)) : 0, queryTile, headDim);
        }
    if (key >= visibility.keys)
        return;
    storePlainRow(keySum, scale, dk.at(sequence, keyHead) + key * dk.positionStride, headDim, accumulate);
    storePlainRow(valueSum, 1, dv.at(sequence, keyHead) + key * dv.positionStride, valueDim, accumulate);
}

} // namespace live::cuda
