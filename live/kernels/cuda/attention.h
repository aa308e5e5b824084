// What both attentions share: where a head lies, what a query sees, and the small kernels around them.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"
#include "live/kernels/device.h"

namespace live::cuda {

/// The causal rule, positions of this call's queries and keys counted from 0.
struct Visibility {
    std::int64_t queries = 0, keys = 0, diagonal = 0;
    bool causal = true;
    std::int64_t window = 0; ///< 0: no end. Only the plain kernels know of it
    __host__ __device__ bool sees(std::int64_t query, std::int64_t key) const
    {
        return key < keys && (!causal || key <= query + diagonal) && key >= firstSeenBy(query);
    }
    /// The first key that a query sees.
    __host__ __device__ std::int64_t firstSeenBy(std::int64_t query) const
    {
        const std::int64_t first = query + diagonal + 1 - window;
        return window == 0 || first < 0 ? 0 : first;
    }
    /// One past the last query that sees a key.
    __host__ __device__ std::int64_t lastSeeing(std::int64_t key) const
    {
        const std::int64_t end = key - diagonal + window;
        return window == 0 || end > queries ? queries : end;
    }
    /// One past the last key that a query sees.
    __host__ __device__ std::int64_t seenBy(std::int64_t query) const
    {
        if (!causal)
            return keys;
        const std::int64_t seen = query + diagonal + 1;
        return seen < 0 ? 0 : seen < keys ? seen : keys;
    }
    /// The first query that sees a key.
    __host__ __device__ std::int64_t firstSeeing(std::int64_t key) const
    {
        return !causal || key <= diagonal ? 0 : key - diagonal;
    }
};

/// A tensor whose rows are position * sequences + sequence and whose columns are heads.
template <class T>
struct Heads {
    T* data = nullptr;
    std::int64_t rowStride = 0;      ///< from one sequence to the next
    std::int64_t positionStride = 0; ///< from one position to the next
    int headDim = 1;
    Heads(const Tensor& tensor, const AttentionShape& shape, int dim)
        : data(tensor.as<T>()), rowStride(tensor.stride), positionStride(tensor.stride * shape.sequences), headDim(dim)
    {
    }
    /// Position 0's elements of a head.
    __device__ T* at(std::int64_t sequence, int head) const
    {
        return data + sequence * rowStride + static_cast<std::int64_t>(head) * headDim;
    }
};

/// Which rows of which head each block of a one-dimensional grid works on. Blocks begin in the order of their numbers, and where
/// queries see only earlier keys some have many times the work of others: the longest of all heads begin first, so that none is
/// left for the end. Heads side by side come one after another, as they may share keys.
struct HeadOrder {
    std::int64_t blocksPerHead = 1;
    int heads = 1;
    std::int64_t sequences = 1;

    struct Place {
        std::int64_t block = 0; ///< 0: the longest
        int head = 0;
        std::int64_t sequence = 0;
    };
    __device__ Place place() const
    {
        const std::int64_t ofAllHeads = heads * sequences, index = blockIdx.x, column = index % ofAllHeads;
        return {index / ofAllHeads, static_cast<int>(column % heads), column / heads};
    }
};

/// One number a row and head: the log-sum-exp, or rowsum(dO * O).
template <class T>
struct HeadValues {
    T* data = nullptr;
    std::int64_t stride = 0, sequences = 1;
    __device__ T* at(std::int64_t position, std::int64_t sequence, int head) const
    {
        return data + (position * sequences + sequence) * stride + head;
    }
};

/// delta [rows, heads] = rowsum(dO * O); a warp each.
template <class OutputT, class T>
__global__ void __launch_bounds__(128)
    attentionDeltaKernel(std::int64_t rows, int heads, int headDim, View<const OutputT> o, View<const T> dOutput, float* delta)
{
    const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * 4 + threadIdx.x / kWarp;
    if (item >= rows * heads) // a whole warp
        return;
    const std::int64_t row = item / heads, column = item % heads * headDim;
    float sum = 0;
    for (int d = static_cast<int>(threadIdx.x % kWarp); d < headDim; d += kWarp)
        sum += toFloat(*o.at(row, column + d)) * toFloat(*dOutput.at(row, column + d));
    sum = reduceWarp<Sum>(sum);
    if (threadIdx.x % kWarp == 0)
        delta[item] = sum;
}

/// A warp a row and head: o and its log-sum-exp take in another block of keys.
template <class BlockT>
__global__ void __launch_bounds__(128) mergeAttentionKernel(std::int64_t rows, int heads, int headDim, View<const BlockT> oBlock,
                                                            View<const float> blockLog, View<float> o, View<float> log)
{
    const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * 4 + threadIdx.x / kWarp;
    if (item >= rows * heads) // a whole warp
        return;
    const std::int64_t row = item / heads, head = item % heads, column = head * headDim;
    const float block = *blockLog.at(row, head), old = *log.at(row, head);
    if (block == -INFINITY)
        return;
    const float maximum = block > old ? block : old;
    const float joined = maximum + logf(expf(old - maximum) + expf(block - maximum));
    const float keep = expf(old - joined), take = expf(block - joined);
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    for (int d = lane; d < headDim; d += kWarp) {
        float* const to = o.at(row, column + d);
        *to = keep * *to + take * toFloat(*oBlock.at(row, column + d));
    }
    syncWarp(); // all lanes have read the old value
    if (lane == 0)
        *log.at(row, head) = joined;
}

/// A warp a row and head: o and its log-sum-exp take in the head's sink.
template <class T>
__global__ void __launch_bounds__(128)
    attentionSinksKernel(std::int64_t rows, int heads, int headDim, const float* sinks, View<T> o, View<float> log)
{
    const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * 4 + threadIdx.x / kWarp;
    if (item >= rows * heads) // a whole warp
        return;
    const std::int64_t row = item / heads, head = item % heads, column = head * headDim;
    const float old = *log.at(row, head), sink = sinks[head];
    const float maximum = sink > old ? sink : old;
    const float joined = maximum + logf(expf(old - maximum) + expf(sink - maximum)), keep = expf(old - joined);
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    for (int d = lane; d < headDim; d += kWarp) {
        T* const to = o.at(row, column + d);
        *to = fromFloat<T>(keep * toFloat(*to));
    }
    syncWarp(); // all lanes have read the old value
    if (lane == 0)
        *log.at(row, head) = joined;
}

/// What each row adds to the gradients of the sinks.
struct SinkColumns {
    static constexpr int kSums = 1;
    const float* sinks;
    View<const float> log;
    const float* delta; ///< [rows, heads]
    std::int64_t heads;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t head, float (&value)[1][kWidth]) const
    {
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            value[0][i] = -expf(sinks[head + i] - *log.at(row, head + i)) * delta[row * heads + head + i];
    }
};

} // namespace live::cuda
